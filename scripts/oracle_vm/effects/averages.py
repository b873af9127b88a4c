"""The averages of pressure and the totals that they came from, as a booted kernel shows them.

A cgroup's cpu.pressure is read every 5 ms for a minute. A line of the file is a change of the averages: the times of
the reads before and after it (`from`, `to`, ns), the totals at both (`total`, µs) and the averages after it (`shown`,
percent), these two for some and full.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from fakecgroup_mount.vm.errors import MachineError
from fakecgroup_mount.vm.kernels import Kernel

from . import machine
from .catalogue import Entry
from .plan import lines_of, set_up

DIRECTORY = Path(__file__).resolve().parents[3] / "tests" / "fakecgroup" / "effects"
_FILE = "app/cpu.pressure"
_EVERY = 5_000_000  # ns
ENTRY = Entry(
    "averages",
    """\
# Two tasks under a quota, of which two, one or none want the CPU, for different times.
machine: {cpus: 1}
cgroups:
  app: {cpu.max: "40000 100000"}
workloads:
  - cgroup: app
    loop: forever
    phases: [{for: 1700ms, cpu: 1}, {sleep: 2300ms}, {for: 400ms, cpu: 1}, {sleep: 9s}]
  - cgroup: app
    loop: forever
    phases: [{sleep: 5s}, {run: 60ms}, {sleep: 700ms}, {for: 6500ms, cpu: 1}]
at:
  - {time: 60s, write: {app/cpu.max: max}}
""",
    runs=1,
)


def record(kernel: Kernel, report: Callable[[str], None]) -> Path:
    """Read the averages of a kernel's cgroup, and put them into its file. Raises MachineError."""
    *plan, play = lines_of(ENTRY.name, ENTRY, ENTRY.runs)
    report(f"{kernel.series}: averages of pressure, {ENTRY.shape}")
    said = machine.play(kernel, ENTRY.shape, [*set_up(ENTRY.shape), *plan, f"sample {_FILE} {_EVERY}", play], report)
    path = DIRECTORY / f"pressure-{kernel.series}.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows_of(said)), encoding="utf-8")
    return path


def rows_of(said: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The rows of the file, out of the lines that the guest said (guest/sample.c). Raises MachineError."""
    row: dict[str, Any] | None = None
    befores: list[int] = []
    for line in said:
        word, _, rest = line.partition(" ")
        if word == "refused":
            raise MachineError(f"the guest: {line}")
        if word == "changed":
            since, until = map(int, rest.split())
            row, befores = {"from": since, "to": until, "total": [], "shown": []}, []
        elif word == "before":
            befores.append(_values(rest)[-1])
        elif word == "after" and row is not None:
            *shown, total = _values(rest)
            row["total"].append([int(befores[len(row["total"])]), int(total)])
            row["shown"].append(shown)
            if len(row["total"]) == len(befores):
                yield row


def _values(line: str) -> list[Any]:
    return [float(pair.partition("=")[2]) for pair in line.split()[1:]]
