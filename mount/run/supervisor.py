"""Which system calls are trapped, and what answers each."""

from __future__ import annotations

import threading
from errno import ENOSYS

from fakecgroup import Kernel

from ..native import Session
from ..processes import HostProcesses
from . import limits, opening, signals, syscalls
from .cgroup_namespaces import CgroupNamespaces
from .cloning import Cloning
from .device_programs import DevicePrograms
from .filter import When
from .forking import Forking
from .handles import Handles
from .lending import Lending
from .listener import Handler, later
from .mount_files import MountFiles
from .mounting import Mounting
from .opening import Opening
from .proc_files import ProcFiles
from .statfs import Statfs
from .tree import Tree

TRAPPED: dict[int, When | None] = {
    **opening.TRAPPED,
    syscalls.STATFS: None,
    syscalls.FSTATFS: None,
    syscalls.MOUNT: None,
    syscalls.FSOPEN: None,
    syscalls.NAME_TO_HANDLE_AT: None,
    syscalls.CLONE3: None,
    syscalls.CLONE: None,
    syscalls.FORK: None,
    syscalls.VFORK: None,
    syscalls.BPF: None,
    **limits.TRAPPED,
    **signals.TRAPPED,
}
"""The calls that are asked about, and when, None being always."""

REFUSED = {syscalls.IO_URING_SETUP: ENOSYS}  # what it does is not asked about; programs do without


def handlers(
    session: Session,
    kernel: Kernel,
    processes: HostProcesses,
    device: str,
    first: int,
    home: int,
    files: tuple[int, int, str],
) -> dict[int, Handler]:
    """What answers each trapped call; `first` is the process that becomes the command, `home` its mount namespace,
    `files` what `MountFiles` takes.
    """
    tree = Tree(session, kernel, device)
    namespaces = CgroupNamespaces(tree, first)
    locks = limits.Limits(tree, processes)
    proc = ProcFiles(tree, namespaces, locks)
    mounts = MountFiles(*files, {b"mountinfo": proc.mountinfo, b"mounts": proc.mounts})
    threading.Thread(target=mounts.serve, daemon=True).start()
    opener = Opening(proc, mounts)
    statfs = Statfs(tree, kernel.vfs, mounts)
    lending = Lending()
    forking = Forking(tree, processes, lending)
    mounting = Mounting(tree, namespaces, home)
    at_once: dict[int, Handler] = {
        syscalls.OPENAT: opener.openat,
        syscalls.OPEN: opener.open,
        syscalls.OPENAT2: opener.openat2,
        syscalls.RT_SIGACTION: signals.rt_sigaction,
        syscalls.CLONE3: Cloning(tree, processes, forking, lending).clone3,
        syscalls.CLONE: forking.clone,
        syscalls.FORK: forking.fork,
        syscalls.VFORK: forking.fork,
    }
    waiting = {
        syscalls.STATFS: statfs.statfs,
        syscalls.FSTATFS: statfs.fstatfs,
        syscalls.MOUNT: mounting.mount,
        syscalls.FSOPEN: mounting.fsopen,
        syscalls.NAME_TO_HANDLE_AT: Handles(tree).name_to_handle_at,
        syscalls.BPF: DevicePrograms(tree, first).bpf,
        syscalls.PRLIMIT64: locks.prlimit64,
        syscalls.SETRLIMIT: locks.setrlimit,
        syscalls.GETRLIMIT: locks.getrlimit,
    }
    return {**at_once, **{number: later(work) for number, work in waiting.items()}}
