"""The command line of `fakecgroup run`."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from fakecgroup.machine.machine import HUGE_PAGES, KNOWN_HUGE_PAGES
from fakecgroup_mount.enforce.options import add_enforce_option
from fakecgroup_mount.fault_options import add_fault_options, read_faults
from fakecgroup_mount.fuse.asked import Additions
from fakecgroup_mount.host.shortage import require_descriptors
from fakecgroup_mount.record.options import add_trace_options, open_trace
from fakecgroup_mount.run import front
from fakecgroup_mount.run.shown_machine import SeenMachine, directories, shown_machine
from fakecgroup_mount.seccomp import syscalls
from fakecgroup_mount.tree_options import add_tree_options, make_kernel, tell_differences, vet, vet_snapshot
from fakecgroup_mount.workload_options import add_workload_options, read_workload

if TYPE_CHECKING:
    from fakecgroup_mount.run.sandbox import Hierarchies, Sandbox

VARIABLE = "FAKECGROUP"
"""The command's environment variable with the layout. A test that would change a real machine's cgroups checks it."""

HUGE_PAGES_OF_MACHINE = "/sys/kernel/mm/hugepages"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `run`."""
    add_tree_options(parser)
    add_workload_options(parser)
    add_enforce_option(parser)
    add_fault_options(parser)
    add_trace_options(parser)
    parser.set_defaults(hugepages=frozenset(HUGE_PAGES) | _own_huge_pages())
    parser.add_argument("argv", nargs=argparse.REMAINDER, metavar="CMD [ARG...]", help="the command")


def run(options: argparse.Namespace) -> int:
    """Runs the command with a tree; returns its exit status. Raises MountError."""
    command = options.argv[1:] if options.argv[:1] == ["--"] else options.argv
    if not command:
        print("fakecgroup run: what command? (see fakecgroup run --help)", file=sys.stderr)
        return 2
    try:
        vet_snapshot(options)
        workload = read_workload(options)
        chosen = vet(options)
        faults = read_faults(options)
        shown = shown_machine(options, chosen.machine)
    except ValueError as error:
        print(f"fakecgroup run: {error}", file=sys.stderr)
        return 2
    tell_differences(options, chosen)
    syscalls.check_machine()
    require_descriptors()
    os.environ[VARIABLE] = options.layout
    parts = shown.parts
    if workload.scenario is not None or chosen.lives:
        from fakecgroup_mount.calls.table import WORKLOAD  # takes a while to load

        parts |= {WORKLOAD}
    sysfs = directories(shown, chosen.machine, chosen.personality)

    def make_sandbox(mask: frozenset[int]) -> Sandbox:
        from fakecgroup_mount.calls.table import REFUSED, trapped  # these are loaded beside the server
        from fakecgroup_mount.host.real_cpus import real_cpus
        from fakecgroup_mount.run.sandbox import Sandbox
        from fakecgroup_mount.seccomp.filter import program

        code = program(trapped(parts), REFUSED)
        cpus = frozenset(real_cpus(chosen.machine.cpus, pinned=shown.cpus))
        return Sandbox(_hierarchies(options), code, command, mask, sysfs.fixed, tuple(sysfs.live), cpus)

    return front.run(
        make_sandbox,
        lambda processes: make_kernel(options, processes),
        Additions(workload, options.enforce, faults, open_trace(options)),
        SeenMachine(parts, sysfs.live),
    )


def _own_huge_pages() -> set[int]:
    """The sizes in bytes of this machine's huge pages, of those that we know. runc and others expect files for each."""
    found = {f"hugepages-{size // 1024}kB": size for size in KNOWN_HUGE_PAGES}
    return {size for name, size in found.items() if os.path.exists(os.path.join(HUGE_PAGES_OF_MACHINE, name))}


def _hierarchies(options: argparse.Namespace) -> Hierarchies:
    """The mounts and links below /sys/fs/cgroup for the layout."""
    from fakecgroup_mount.run.sandbox import Hierarchies

    if options.layout == "v2":
        return Hierarchies()
    from fakecgroup.kernfs.inode import Symlink, TopDirectory  # takes a while to load, as does a kernel

    root = make_kernel(options).root
    assert isinstance(root, TopDirectory)
    content = root.content.items()
    return Hierarchies(
        tuple(sorted((name for name, inode in content if inode.is_dir), key=lambda name: name != "unified")),
        tuple((name, inode.target) for name, inode in content if isinstance(inode, Symlink)),
    )
