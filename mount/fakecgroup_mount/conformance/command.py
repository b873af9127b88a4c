"""`fakecgroup conformance`: runs recorded or random cases on a target and prints what differs."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from fakecgroup import personalities
from fakecgroup.conformance import known_gaps, recording
from fakecgroup.conformance.case import Case
from fakecgroup.conformance.recording import MACHINES, PLAIN, Recording, RecordingError
from fakecgroup.conformance.report import print_tallies
from fakecgroup.conformance.tally import compare, of_families
from fakecgroup.conformance.target import Target
from fakecgroup.conformance.target_model import ModelTarget
from fakecgroup_mount.conformance import needs_root
from fakecgroup_mount.conformance.target_directory import roots_of
from fakecgroup_mount.conformance.target_host import HostTarget
from fakecgroup_mount.conformance.target_mount import MountTarget
from fakecgroup_mount.errors import MountError
from fakecgroup_mount.host.mountinfo import mount_at

_ORACLE = Path(__file__).resolve().parents[3] / "scripts" / "oracle"


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
    """Returns 0 if all answers are the same except known gaps, else 1. Raises MountError."""
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
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # the case under way then removes its cgroups
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
    """The recordings for the options. Raises MountError if there is none, or an unknown family is named."""
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
    cases = [one.case for one in of_families(recorded, families)]
    as_root = os.stat(path).st_uid == 0 and needs_root.acts_as_others(cases)
    if not as_root:
        _say_what_needs_root(cases)
    return MountTarget(path, as_root=as_root)


def _say_what_needs_root(cases: Sequence[Case]) -> None:
    """Prints how many operations are left out, and why."""
    reasons = needs_root.counted(cases)
    if reasons:
        which = "; ".join(f"{number:,} {reason}" for reason, number in reasons.most_common())
        print(
            f"fakecgroup conformance: {reasons.total():,} of {sum(len(case.ops) for case in cases):,} operations need "
            f"root and are not compared: {which}",
            file=sys.stderr,
        )


def _oracle(command: str, kernel: str, layout: str, *words: str) -> int:
    """Runs scripts/oracle, which boots kernels; returns its exit status."""
    if not _ORACLE.exists():
        raise MountError(
            "booting a kernel takes scripts/oracle, which is in the project's checkout, not in the package"
        )
    return subprocess.run([_ORACLE, command, "--kernel", kernel, "--layout", layout, *words], check=False).returncode


def _progress() -> Callable[[int, int], None]:
    """A counter on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        return lambda done, of: None

    def show(done: int, of: int) -> None:
        print(f"\r{done}/{of} cases", end="" if done < of else "\r\033[K", file=sys.stderr, flush=True)

    return show


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of operations: 1 or more")
    return int(text)
