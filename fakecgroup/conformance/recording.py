"""Recordings: what one kernel answered on one layout.  Written by ``scripts/oracle``, never by hand.

``recordings/<layout>-<kernel>.jsonl.gz`` is of the plain machine, ``<layout>-<kernel>-<machine>.jsonl.gz`` of another
one: the cases of the families that could depend on the difference (``cases.families``).

A header line (kernel, Debian package or configuration, date, machine, digest of the cases), then one line per case
with its family, name, operations and answers.  The answer ``["?", null]`` means that two runs of the kernel did not
agree, ``["-", null]`` that it was not asked.  A case with a ``verdict`` stopped the machine (``hang``) or lost the
process that asked (``lost``); its answers end there.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fakecgroup.conformance.case import LAYOUTS, Answer, Case

DIRECTORY = Path(__file__).with_name("recordings")
KERNELS = ("5.10", "6.1", "6.12", "6.18", "7.2")
#: The machines that are asked: without swap, and with 64 MiB of it.
MACHINES = PLAIN, SWAP = ("plain", "swap")

#: The answer that the kernel itself does not give twice.
VARIES: Answer = ("?", None)
#: What was not asked, and is not to be done when the case is replayed.
NOT_ASKED: Answer = ("-", None)


class RecordingError(Exception):
    """A recording is missing or damaged; the text names the file."""


@dataclass(frozen=True)
class RecordedCase:
    """A case and the kernel's answers, as many as there are operations unless ``verdict`` is not ``ok``."""

    family: str
    case: Case
    answers: tuple[Answer, ...]
    verdict: str = "ok"


@dataclass(frozen=True)
class Recording:
    """All that one kernel answered on one layout, on one of ``MACHINES``."""

    layout: str
    kernel: str
    header: Mapping[str, Any]
    cases: tuple[RecordedCase, ...] = field(repr=False)
    machine: str = PLAIN

    def family(self, name: str) -> list[RecordedCase]:
        return [case for case in self.cases if case.family == name]

    @property
    def families(self) -> list[str]:
        return list(dict.fromkeys(case.family for case in self.cases))


def path_of(layout: str, kernel: str, machine: str = PLAIN) -> Path:
    suffix = "" if machine == PLAIN else f"-{machine}"
    return DIRECTORY / f"{layout}-{kernel}{suffix}.jsonl.gz"


def description(layout: str, kernel: str, machine: str = PLAIN) -> Mapping[str, Any]:
    """What the machine of a recording has: cpus, nodes, block_devices; memory, and swap if there is any, in bytes.

    Raises RecordingError.
    """
    path = path_of(layout, kernel, machine)
    try:
        with gzip.open(path, "rt", encoding="ascii") as file:
            found: Mapping[str, Any] = json.loads(file.readline())["machine"]
    except FileNotFoundError:
        raise _missing(path, layout, kernel, machine) from None
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise RecordingError(f"{path.name} is damaged: {error}") from None
    return found


def available(machine: str = PLAIN) -> list[tuple[str, str]]:
    """(layout, kernel) of every recording of a machine that is there."""
    return [(layout, kernel) for layout in LAYOUTS for kernel in KERNELS if path_of(layout, kernel, machine).exists()]


def _missing(path: Path, layout: str, kernel: str, machine: str) -> RecordingError:
    where = layout if machine == PLAIN else f"{layout} on a machine with {machine}"
    return RecordingError(f"no recording of kernel {kernel} on {where}: {path.name}")


def load(layout: str, kernel: str, machine: str = PLAIN) -> Recording:
    """Read a recording.  Raises RecordingError."""
    path = path_of(layout, kernel, machine)
    try:
        with gzip.open(path, "rt", encoding="ascii") as file:
            header = json.loads(file.readline())
            cases = tuple(_case(json.loads(line), layout) for line in file)
    except FileNotFoundError:
        raise _missing(path, layout, kernel, machine) from None
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise RecordingError(f"{path.name} is damaged: {error}") from None
    return Recording(layout, kernel, header, cases, machine)


def find(layout: str, kernel: str, name: str, machine: str = PLAIN) -> RecordedCase | None:
    """One case of a recording, without a look at the others; None if it is not there.  Raises RecordingError."""
    path = path_of(layout, kernel, machine)
    sought = json.dumps(name)
    try:
        with gzip.open(path, "rt", encoding="ascii") as file:
            file.readline()
            for line in file:
                if sought in line and (found := json.loads(line))["name"] == name:
                    return _case(found, layout)
    except FileNotFoundError:
        raise _missing(path, layout, kernel, machine) from None
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise RecordingError(f"{path.name} is damaged: {error}") from None
    return None


def save(recording: Recording) -> Path:
    """Write a recording; the same content always gives the same bytes."""
    lines = [json.dumps(dict(recording.header))]
    for one in recording.cases:
        line: dict[str, Any] = {"family": one.family, "name": one.case.name}
        line |= {"ops": one.case.ops, "answers": one.answers}
        if one.verdict != "ok":
            line["verdict"] = one.verdict
        lines.append(json.dumps(line, separators=(",", ":")))
    path = path_of(recording.layout, recording.kernel, recording.machine)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress("".join(line + "\n" for line in lines).encode("ascii"), 9, mtime=0))
    return path


def digest(cases: Iterable[Case]) -> str:
    """A digest of a whole set of cases: whether a recording was made of the cases as they are now."""
    return hashlib.sha256("".join(case.digest for case in cases).encode()).hexdigest()[:16]


def _case(line: Mapping[str, Any], layout: str) -> RecordedCase:
    case = Case(line["name"], layout, tuple(tuple(op) for op in line["ops"]))
    answers = tuple((answer[0], answer[1]) for answer in line["answers"])
    return RecordedCase(line["family"], case, answers, line.get("verdict", "ok"))
