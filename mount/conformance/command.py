"""`fakecgroup conformance`: the recorded cases, or random ones, on a target; a table of what differs."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fakecgroup import personalities

from ..errors import MountError
from ..mountinfo import mount_at
from . import known_gaps, needs_root, recording
from .case import Case
from .recording import MACHINES, PLAIN, RecordedCase, Recording, RecordingError
from .replay import Difference, Result, replay
from .target import Target
from .target_directory import roots_of
from .target_host import HostTarget
from .target_model import ModelTarget
from .target_mount import MountTarget

_ORACLE = Path(__file__).resolve().parents[2] / "scripts" / "oracle"


@dataclass
class Tally:
    """What became of one family's cases of one machine; operations that the target cannot do are not `compared`."""

    family: str
    machine: str = PLAIN
    cases: int = 0
    compared: int = 0
    skipped: int = 0
    differences: list[Difference] = field(default_factory=list)

    @property
    def title(self) -> str:
        """The family, and what the machine has more."""
        return self.family if self.machine == PLAIN else f"{self.family} with {self.machine}"

    def add(self, result: Result) -> None:
        """Counts one more case."""
        self.cases += 1
        self.compared += result.compared
        self.skipped += result.skipped
        self.differences += result.differences


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of `fakecgroup conformance`."""
    parser.add_argument(
        "--target",
        default="model",
        metavar="DIR|model|host|vm",
        help="model (default): the model in this process; DIR: an empty fakecgroup mount; host: own cgroups in this "
        "machine's v1 hierarchies, as root; vm: a booted kernel",
    )
    layouts = dict.fromkeys(layout for layout, _ in personalities())
    parser.add_argument("--layout", choices=list(layouts), help="default: v2, for host v1")
    parser.add_argument(
        "--kernel",
        metavar="VERSION",
        help="whose answers to compare with (default: the layout's first, for host its own)",
    )
    parser.add_argument(
        "--machine",
        choices=MACHINES,
        help="of the recordings: swap is one with 64 MiB of swap, asked about memory (default: for the model both, "
        "else plain)",
    )
    parser.add_argument(
        "--family", action="append", metavar="NAME", help="only cases of this family; may be given more than once"
    )
    parser.add_argument(
        "--fuzz", type=_positive, metavar="N", help="about N random operations on the model and a booted kernel instead"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="of the random operations (default: 1)")
    parser.add_argument("-o", dest="output", choices=("table", "json"), default="table", help="default: table")
    parser.add_argument("--show", type=int, default=10, metavar="N", help="print the first N differences (default: 10)")


def run(options: argparse.Namespace) -> int:
    """Returns 0 where all answers are the same but for known gaps, 1 where others differ. Raises MountError."""
    host = options.target == "host"
    options.layout = options.layout or ("v1" if host else "v2")
    if host and options.layout != "v1":
        raise MountError("--target host asks v1 hierarchies: leave --layout out, or take v1")
    kernel = options.kernel or (".".join(os.uname().release.split(".")[:2]) if host else None)
    kernel = kernel or next(version for layout, version in personalities() if layout == options.layout)
    if (options.layout, kernel) not in personalities():
        known = ", ".join(version for layout, version in personalities() if layout == options.layout)
        raise MountError(f"no kernel {kernel!r} for layout {options.layout}: there is {known}")
    words = (f"-o{options.output}", f"--machine={options.machine or PLAIN}")
    if options.fuzz is not None:
        return _oracle("fuzz", kernel, options.layout, f"--operations={options.fuzz}", f"--seed={options.seed}", *words)
    if options.target == "vm":
        families = (f"--family={name}" for name in options.family or ())
        return _oracle("verify", kernel, options.layout, *families, f"--show={options.show}", *words)
    recordings = _recordings(options, kernel)
    host_target = HostTarget() if host else None
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # a case under way takes its cgroups away
    try:
        tallies = []
        for recorded in recordings:
            target = host_target or _target(options.target, recorded, options.family)
            tallies += compare(target, recorded, options.family, _progress())
    finally:
        signal.signal(signal.SIGTERM, before)
        if host_target is not None:
            host_target.close()
    print_tallies(tallies, options.layout, kernel, options.target, options.output, options.show)
    gaps = known_gaps.of(options.target, options.layout)
    return 1 if any(d.case.name not in gaps for tally in tallies for d in tally.differences) else 0


def _recordings(options: argparse.Namespace, kernel: str) -> list[Recording]:
    """Those that are asked for. Raises MountError where there is none, or none with a family that is asked for."""
    machines = [options.machine or PLAIN]
    if options.machine is None and options.target == "model":
        machines = [one for one in MACHINES if (options.layout, kernel) in recording.available(one)] or [PLAIN]
    try:
        found = [recording.load(options.layout, kernel, machine) for machine in machines]
    except RecordingError as error:
        raise MountError(str(error)) from None
    known = list(dict.fromkeys(family for recorded in found for family in recorded.families))
    unknown = set(options.family or ()) - set(known)
    if unknown:
        raise MountError(f"no family {', '.join(sorted(unknown))}; there is {', '.join(known)}")
    return found


def compare(
    target: Target, recorded: Recording, families: Sequence[str] | None, progress: Callable[[int, int], None]
) -> list[Tally]:
    """Every recorded case of some families, or of all, on a target, by family."""
    cases = _of_families(recorded, families)
    tallies: dict[str, Tally] = {}
    for number, case in enumerate(cases, start=1):
        progress(number, len(cases))
        tally = tallies.setdefault(case.family, Tally(case.family, recorded.machine))
        tally.add(replay(case, target))
    return list(tallies.values())


def _of_families(recorded: Recording, families: Sequence[str] | None) -> list[RecordedCase]:
    return [case for case in recorded.cases if not families or case.family in families]


def _target(name: str, recorded: Recording, families: Sequence[str] | None) -> Target:
    layout, kernel = recorded.layout, recorded.kernel
    if name == "model":
        return ModelTarget(layout, kernel, recorded.machine)
    path = os.path.realpath(name)
    found = mount_at(path)
    if found is None or not found.ours:
        machine = recorded.header["machine"]
        swap = f" --swap {machine['swap']}" if "swap" in machine else ""
        raise MountError(
            f"{name} is no fakecgroup mount: mount one, of the machine that was asked: fakecgroup mount {name} "
            f"--layout {layout} --kernel {kernel} --cpus {machine['cpus']} --numa-nodes {machine['nodes']} "
            f"--memory {machine['memory']}{swap} --block-devices {','.join(machine['block_devices'])}"
        )
    for root in roots_of(path):
        with os.scandir(root) as entries:
            cgroup = next((entry.path for entry in entries if entry.is_dir(follow_symlinks=False)), None)
        if cgroup is not None:
            raise MountError(f"{cgroup} is there, and the cases would remove it: mount a tree of its own for them")
    cases = [one.case for one in _of_families(recorded, families)]
    as_root = os.stat(path).st_uid == 0 and needs_root.acts_as_others(cases)
    if not as_root:
        _say_what_needs_root(cases)
    return MountTarget(path, as_root=as_root)


def _say_what_needs_root(cases: Sequence[Case]) -> None:
    """Before it begins: how many operations are left out, and what they do."""
    reasons = needs_root.counted(cases)
    if reasons:
        which = "; ".join(f"{number:,} {reason}" for reason, number in reasons.most_common())
        print(
            f"fakecgroup conformance: {reasons.total():,} of {sum(len(case.ops) for case in cases):,} operations need "
            f"root and are not compared: {which}",
            file=sys.stderr,
        )


def _oracle(command: str, kernel: str, layout: str, *words: str) -> int:
    """Leaves it to scripts/oracle, which boots kernels."""
    if not _ORACLE.exists():
        raise MountError(
            "booting a kernel takes scripts/oracle, which is in the project's checkout, not in the package"
        )
    return subprocess.run([_ORACLE, command, "--kernel", kernel, "--layout", layout, *words], check=False).returncode


def _progress() -> Callable[[int, int], None]:
    """A counter on a terminal; silence elsewhere."""
    if not sys.stderr.isatty():
        return lambda done, of: None

    def show(done: int, of: int) -> None:
        print(f"\r{done}/{of} cases", end="" if done < of else "\r\033[K", file=sys.stderr, flush=True)

    return show


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of operations: 1 or more")
    return int(text)


def print_tallies(
    tallies: Sequence[Tally],
    layout: str,
    kernel: str,
    target: str,
    output: str,
    show: int,
    more: Mapping[str, object] | None = None,
) -> None:
    """A table after the first ``show`` differences, or as ``output`` "json" all of them, with ``more`` keys.

    Differences that are no known gaps come first.
    """
    known = known_gaps.of(target, layout)
    if output == "json":
        families = [
            {
                "family": tally.family,
                "machine": tally.machine,
                "cases": tally.cases,
                "operations": tally.compared,
                "not_compared": tally.skipped,
                "differences": [
                    {
                        "case": d.case.name,
                        "index": d.index,
                        "operation": list(d.op),
                        "kernel": list(d.expected),
                        "target": list(d.got),
                        "known_gap": known.get(d.case.name),
                    }
                    for d in tally.differences
                ],
            }
            for tally in tallies
        ]
        head = {"layout": layout, "kernel": kernel, "target": target, "families": families}
        print(json.dumps({**head, **(more or {})}))
        return
    differences = [difference for tally in tallies for difference in tally.differences]
    differences.sort(key=lambda difference: difference.case.name in known)
    for difference in differences[:show]:
        print(difference)
    rows = [("family", "cases", "operations", "not compared", "differences")]
    rows += [(t.title, str(t.cases), str(t.compared), str(t.skipped), str(len(t.differences))) for t in tallies]
    rows.append(
        (
            f"{layout} {kernel}",
            str(sum(t.cases for t in tallies)),
            str(sum(t.compared for t in tallies)),
            str(sum(t.skipped for t in tallies)),
            str(sum(len(t.differences) for t in tallies)),
        )
    )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print(
            row[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)),
            sep="  ",
        )
    if differences:
        gaps = sum(difference.case.name in known for difference in differences)
        print(f"{len(differences)} differ, of them {gaps} known gaps")
