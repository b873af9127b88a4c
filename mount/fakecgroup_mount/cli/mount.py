"""`fakecgroup mount`: a tree at a directory, and the daemon that answers for it."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Callable
from errno import ENOTCONN

from fakecgroup_mount.enforce.options import add_enforce_option
from fakecgroup_mount.errors import MountError
from fakecgroup_mount.fault_options import add_fault_options, read_faults
from fakecgroup_mount.fuse.asked import Additions
from fakecgroup_mount.fuse.daemons import daemon_of
from fakecgroup_mount.fuse.fuse_mount import umount_fuse
from fakecgroup_mount.hints import quoted, shown
from fakecgroup_mount.host import daemon, shortage
from fakecgroup_mount.host.child_call import call_in_child
from fakecgroup_mount.host.log import log_to_stderr
from fakecgroup_mount.host.mountinfo import mount_at, real_path
from fakecgroup_mount.record.options import add_trace_options, open_trace
from fakecgroup_mount.tree_options import add_tree_options, make_kernel, tell_differences, vet, vet_snapshot
from fakecgroup_mount.workload_options import add_workload_options, read_workload

_TRANSPORTS = ("native", "fusepy")
_PATIENCE = 30.0  # seconds for the answer of a file system


def add_options(parser: argparse.ArgumentParser) -> None:
    """The directory, the tree and the mount."""
    parser.add_argument("dir", metavar="DIR")
    add_tree_options(parser)
    add_workload_options(parser)
    add_enforce_option(parser)
    add_fault_options(parser)
    add_trace_options(parser)
    group = parser.add_argument_group("the mount")
    group.add_argument("--foreground", action="store_true", help="stay and answer; leave no daemon")
    group.add_argument(
        "--transport",
        choices=_TRANSPORTS,
        default="native",
        help="native (default), or the fusepy library on libfuse 2",
    )
    group.add_argument(
        "--allow-other",
        action="store_true",
        help="let other users in too; takes user_allow_other in /etc/fuse.conf, for root it is always so",
    )


def run(options: argparse.Namespace) -> int:
    """Returns the exit status."""
    try:
        _vet_transport(options)
        vet_snapshot(options)
        workload = read_workload(options)
        chosen = vet(options)
        faults = read_faults(options)
    except ValueError as error:
        print(f"fakecgroup mount: {error}", file=sys.stderr)
        return 2
    tell_differences(options, chosen)
    path = real_path(options.dir)
    shortage.require_descriptors()
    _make_way(path)
    additions = Additions(workload, options.enforce, faults, open_trace(options))
    tree = f"{options.layout} tree of kernel {chosen.personality.name} at {shown(options.dir)}"
    message = f"{tree}; unmount it with: fakecgroup umount {quoted(options.dir)}"

    def serve_tree(ready: Callable[[], None]) -> None:
        gc.disable()  # what is loaded stays
        from fakecgroup_mount.fuse.serve import serve  # takes a while to load

        serve(
            path,
            options.transport,
            lambda processes: make_kernel(options, processes),
            allow_other=options.allow_other,
            ready=ready,
            additions=additions,
        )

    if options.foreground:
        log_to_stderr()
        serve_tree(lambda: print(message, flush=True))
        return 0
    daemon.start(serve_tree, keep=additions.descriptors)
    try:
        answered = call_in_child(lambda: bytes(os.path.isdir(path)), _PATIENCE)
    except OSError as error:
        answered, why = None, error.strerror
    else:
        why = "nothing came in time"
    if answered is None:
        raise MountError(f"{shown(path)}: the daemon does not answer: {why}; see {shown(daemon.log_path())}")
    print(message)
    return 0


def _vet_transport(options: argparse.Namespace) -> None:
    """Raises ValueError for what fusepy has not."""
    if options.transport != "fusepy":
        return
    for name, given, what in (
        ("workload", options.workload is not None, "simulated processes take"),
        ("enforce", bool(options.enforce), "limits on real processes take"),
        ("from", options.snapshot is not None, "simulated processes take"),
        ("faults", options.faults is not None, "rules take"),
        ("trace", options.trace is not None, "calls are recorded with"),
    ):
        if given:
            raise ValueError(f"--{name}: {what} --transport native")


def _make_way(path: str) -> None:
    """Checks that a tree can be mounted at `path`, and takes away a dead mount of ours. Raises MountError."""
    while (found := mount_at(path)) is not None and found.ours:
        if daemon_of(found) is not None or not _is_dead(path):
            raise MountError(
                f"{shown(path)} is a fakecgroup tree already: unmount it with: fakecgroup umount {quoted(path)}"
            )
        umount_fuse(path, lazy=True)
    try:
        said = call_in_child(lambda: b"/".join(os.listdir(os.fsencode(path))), _PATIENCE)
    except OSError as error:
        hint = "; make it first (mkdir -p)" if isinstance(error, FileNotFoundError) else ""
        raise MountError(f"{shown(path)}: {error.strerror}{hint}") from None
    if said is None:
        raise MountError(f"{shown(path)}: the file system there does not answer")
    if found is not None:
        raise MountError(
            f"{shown(path)} is a mount point already ({found.fstype}): unmount that first, or take another directory"
        )
    if said:
        raise MountError(f"{shown(path)} is not empty, and a tree there would hide its files: take an empty directory")


def _is_dead(path: str) -> bool:
    """Whether the mount there has no daemon any more."""
    try:
        os.stat(path)
    except OSError as error:
        return error.errno == ENOTCONN
    return False
