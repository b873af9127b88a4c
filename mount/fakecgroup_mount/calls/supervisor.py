"""Which system calls are trapped, and what answers each."""

from __future__ import annotations

import threading
from errno import ENOSYS, ENOTTY

from fakecgroup_mount.calls import cgroup_namespaces, contexts, killing, limits, mounting, opening, signals
from fakecgroup_mount.calls.cgroup_namespaces import CgroupNamespaces
from fakecgroup_mount.calls.child_marks import ChildMarks
from fakecgroup_mount.calls.cloning import Cloning
from fakecgroup_mount.calls.detached_mounts import copied_namespace
from fakecgroup_mount.calls.device_programs import Bpf
from fakecgroup_mount.calls.ending import Ending
from fakecgroup_mount.calls.forking import Forking
from fakecgroup_mount.calls.handles import Handles
from fakecgroup_mount.calls.mount_files import MountFiles
from fakecgroup_mount.calls.mounted_tree import MountedTree
from fakecgroup_mount.calls.opening import Opening
from fakecgroup_mount.calls.proc_files import ProcFiles
from fakecgroup_mount.calls.statfs import Statfs
from fakecgroup_mount.host.processes import HostProcesses
from fakecgroup_mount.seccomp.filter import Refusal, When
from fakecgroup_mount.seccomp.listener import Handler, later
from fakecgroup_mount.seccomp.syscalls import HERE

TRAPPED: dict[str, When | None] = {
    **opening.TRAPPED,
    "statfs": None,
    "fstatfs": None,
    "name_to_handle_at": None,
    "clone3": None,
    "clone": None,
    "fork": None,
    "vfork": None,
    "exit": None,
    "exit_group": None,
    "bpf": None,
    **mounting.TRAPPED,
    **contexts.TRAPPED,
    **cgroup_namespaces.TRAPPED,
    **limits.TRAPPED,
    **signals.TRAPPED,
    **killing.TRAPPED,
}
"""The calls that are asked about, and when, None being always."""

_PIDFD_GET_INFO, _COMMAND = 0xFF0B, 0xFFFF  # Linux 6.13; without the size of its struct

REFUSED = {
    "io_uring_setup": Refusal(ENOSYS),  # what it does is not asked about
    "statmount": Refusal(ENOSYS),  # tells of mounts as they are
    "listmount": Refusal(ENOSYS),
    "ioctl": Refusal(ENOTTY, When(1, _PIDFD_GET_INFO, _COMMAND)),  # tells of the machine's own cgroups
}
"""What programs do without, as older kernels do not have it."""


def handlers(
    tree: MountedTree,
    processes: HostProcesses,
    first: int,
    home: int,
    files: tuple[int, int, str],
) -> dict[int, Handler]:
    """What answers each trapped call, by its number; `first` is the process that becomes the command, `home` its mount
    namespace, `files` what `MountFiles` takes.
    """
    namespaces = CgroupNamespaces(tree, first)
    tree.use_namespaces(namespaces.root_to_delegate)
    locks = limits.Limits(tree, processes, first)
    proc = ProcFiles(tree, namespaces, locks)
    mounts = MountFiles(*files, {b"mountinfo": proc.mountinfo, b"mounts": proc.mounts})
    threading.Thread(target=mounts.serve, daemon=True).start()
    opener = Opening(proc, mounts)
    statfs = Statfs(tree, tree.kernel.vfs, mounts)
    child_marks = ChildMarks(tree, processes)
    forking = Forking(tree, namespaces, processes, child_marks)
    ending = Ending(tree, processes)
    mounter = mounting.Mounting(tree, namespaces, copied_namespace(home))
    making = contexts.Contexts(mounter)
    at_once: dict[str, Handler] = {
        "openat": opener.openat,
        "open": opener.open,
        "openat2": opener.openat2,
        "rt_sigaction": signals.rt_sigaction,
        "clone3": Cloning(tree, namespaces, processes, forking, child_marks).clone3,
        "clone": forking.clone,
        "fork": forking.fork,
        "vfork": forking.fork,
        "exit": ending.exit,
        "exit_group": ending.exit_group,
    }
    waiting = {
        "statfs": statfs.statfs,
        "fstatfs": statfs.fstatfs,
        "mount": mounter.mount,
        "umount2": mounter.umount2,
        "fsopen": making.fsopen,
        "fsconfig": making.fsconfig,
        "fsmount": making.fsmount,
        "move_mount": making.move_mount,
        "name_to_handle_at": Handles(tree).name_to_handle_at,
        "unshare": namespaces.unshare,
        "bpf": Bpf(tree, first).bpf,
        "prlimit64": locks.prlimit64,
        "setrlimit": locks.setrlimit,
        "getrlimit": locks.getrlimit,
        "kill": killing.kill_of_everybody(first),
    }
    return HERE.by_number({**at_once, **{name: later(work) for name, work in waiting.items()}})
