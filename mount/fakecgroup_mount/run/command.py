"""The command line of `fakecgroup run`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from fakecgroup import Kernel
from fakecgroup.kernfs.inode import Symlink, TopDirectory
from fakecgroup.machine.machine import HUGE_PAGES, KNOWN_HUGE_PAGES
from fakecgroup_mount.calls.table import REFUSED, WORKLOAD, trapped
from fakecgroup_mount.enforce.options import add_enforce_option
from fakecgroup_mount.fault_options import add_fault_options, read_faults
from fakecgroup_mount.fuse.additions import Additions
from fakecgroup_mount.host.affinities import real_cpus
from fakecgroup_mount.host.shortage import require_descriptors
from fakecgroup_mount.record.options import add_trace_options, open_trace
from fakecgroup_mount.run import front
from fakecgroup_mount.run.sandbox import Hierarchies, Sandbox
from fakecgroup_mount.run.shown_machine import SeenMachine, directories, shown_machine
from fakecgroup_mount.seccomp import syscalls
from fakecgroup_mount.seccomp.filter import program
from fakecgroup_mount.tree_options import add_tree_options, make_kernel, tell_differences, vet_snapshot
from fakecgroup_mount.workload_options import add_workload_options, read_workload

VARIABLE = "FAKECGROUP"
"""The command's environment variable with the layout. A test that would change a real machine's cgroups checks it."""

HUGE_PAGES_OF_MACHINE = Path("/sys/kernel/mm/hugepages")


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
        kernel = make_kernel(options)
        faults = read_faults(options, kernel if options.faults is None else make_kernel(options))
        shown = shown_machine(options, kernel.machine)
    except ValueError as error:
        print(f"fakecgroup run: {error}", file=sys.stderr)
        return 2
    tell_differences(options, kernel)
    syscalls.check_machine()
    require_descriptors()
    os.environ[VARIABLE] = options.layout
    parts = shown.parts | {WORKLOAD} if workload.scenario is not None or kernel.lives else shown.parts
    hierarchies, code = _hierarchies(kernel), program(trapped(parts), REFUSED)
    cpus = frozenset(real_cpus(kernel.machine.cpus, pinned=shown.cpus))
    sysfs = directories(shown, kernel.machine, kernel.personality)
    return front.run(
        lambda mask: Sandbox(hierarchies, code, command, mask, sysfs.fixed, tuple(sysfs.live), cpus),
        lambda processes: make_kernel(options, processes),
        Additions(workload, options.enforce, faults, open_trace(options)),
        SeenMachine(parts, sysfs.live),
    )


def _own_huge_pages() -> set[int]:
    """The sizes in bytes of this machine's huge pages, of those that we know. runc and others expect files for each."""
    found = {f"hugepages-{size // 1024}kB": size for size in KNOWN_HUGE_PAGES}
    return {size for name, size in found.items() if (HUGE_PAGES_OF_MACHINE / name).exists()}


def _hierarchies(kernel: Kernel) -> Hierarchies:
    """The mounts and links below /sys/fs/cgroup for the kernel's layout."""
    if not isinstance(kernel.root, TopDirectory):
        return Hierarchies()
    content = kernel.root.content.items()
    return Hierarchies(
        tuple(sorted((name for name, inode in content if inode.is_dir), key=lambda name: name != "unified")),
        tuple((name, inode.target) for name, inode in content if isinstance(inode, Symlink)),
    )
