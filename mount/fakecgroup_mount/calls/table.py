"""The trapped system calls: when each is trapped, which file of this room answers it, and what a program gets.

The seccomp filter of `fakecgroup run` is made from this table, and so is docs/reference/system-calls.md.
"""

from __future__ import annotations

import os
import signal
from errno import ENOSYS, ENOTTY

from fakecgroup.named_tuple import NamedTuple
from fakecgroup.tasks.tid import FIRST_SIMULATED
from fakecgroup_mount.calls.ptrace_requests import ATTACH, SEIZE, TRACEME
from fakecgroup_mount.host.fork_marks import LOCKS
from fakecgroup_mount.seccomp.filter import Condition, Refusal, When
from fakecgroup_mount.seccomp.syscalls import CLONE_NEWCGROUP, MNT_FORCE

WRITES_OR_DIRECTORY = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_DIRECTORY
"""Flags of open(2) by which a file is none of those of /proc that are answered, but for those of /proc/pressure."""


def _opens(argument: int) -> tuple[When, ...]:
    """Flags of files that are read, or may be those of /proc/pressure, which take triggers."""
    return When(argument, 0, WRITES_OR_DIRECTORY), When(argument, os.O_RDWR, WRITES_OR_DIRECTORY)


_FROM_EMPTY_PATH = 0x04  # MOVE_MOUNT_F_EMPTY_PATH: the mount is given by its descriptor
_EVERY_PROCESS = -1 & 0xFFFFFFFF  # the pid of kill(2)
_SIMULATED = When(0, FIRST_SIMULATED, 0xFFFFFFFF & ~(FIRST_SIMULATED - 1))  # a pid up to twice the first

_FS_TYPE = "The type of a cgroup file system. A copy of a file of `/proc` is of `/proc`."
_PROC = "A file of `/proc` that tells of cgroups, mounts or limits is opened as a copy of its text at that moment."
_FORK = "`EAGAIN` where `pids.max` is reached. The child is known before it runs."
_EXIT = "What the thread has used is read before it is gone."
_STAT = "The directory of a simulated process in `/proc`, and its files, are there."
_ACCESS = "Whether the caller may read, write or search what `/proc` has of a simulated process."
_SIGNAL = "A simulated process ends, stops or goes on."
_MOUNT = "A mount of `cgroup`, `cgroup2` or `cpuset` shows the tree, from the root of the caller's cgroup namespace on."
_LOCKS = "A program has an `RLIMIT_LOCKS` of its own. The kernel's marks the cgroup that children start in."
_AFFINITY = "The CPUs of the stated machine, within the cpuset. The thread runs on those of the real one."

WORKLOAD = "workload"
"""The `part` of a call that is trapped under --workload alone."""


class TrappedCall(NamedTuple):
    """A row of the table.

    `module` is the file of this room that answers the call. `gets` says in a sentence what a program gets. `when` says
    which calls are trapped by an argument; None traps every call. With a `part`, "cpus" or "memory", the call is
    trapped only if this part of the stated machine differs from the real one; with "workload" only under --workload.
    `always_with` is a part with which every call is trapped, whatever `when` says.
    """

    module: str
    gets: str
    when: Condition = None
    part: str = ""
    always_with: str = ""


class RefusedCall(NamedTuple):
    """A system call that fails with `errno`, as on a kernel that does not have it. `when` is as in `TrappedCall`."""

    errno: int
    why: str
    when: When | None = None


TRAPPED_CALLS = {
    # files of cgroups and of /proc
    "open": TrappedCall("open", _PROC, _opens(1), always_with=WORKLOAD),  # not on arm64
    "openat": TrappedCall("open", _PROC, _opens(2), always_with=WORKLOAD),
    "openat2": TrappedCall("open", _PROC),
    "getdents64": TrappedCall(
        "getdents64",
        "A list of `/proc` has simulated processes, and of real ones the sandbox's alone.",
        part=WORKLOAD,
    ),
    "stat": TrappedCall("stat", _STAT, part=WORKLOAD),  # not on arm64
    "lstat": TrappedCall("stat", _STAT, part=WORKLOAD),  # not on arm64
    "newfstatat": TrappedCall("stat", _STAT, part=WORKLOAD),
    "statx": TrappedCall("stat", _STAT, part=WORKLOAD),
    "access": TrappedCall("access", _ACCESS, part=WORKLOAD),  # not on arm64
    "faccessat": TrappedCall("access", _ACCESS, part=WORKLOAD),
    "faccessat2": TrappedCall("access", _ACCESS, part=WORKLOAD),
    "statfs": TrappedCall("statfs", _FS_TYPE),
    "fstatfs": TrappedCall("statfs", _FS_TYPE),
    "name_to_handle_at": TrappedCall("name_to_handle_at", "The handle of a cgroup holds its id, as kernfs gives it."),
    # processes
    "fork": TrappedCall("fork", _FORK),  # not on arm64
    "vfork": TrappedCall("fork", _FORK),  # not on arm64
    "clone": TrappedCall("fork", _FORK),
    "clone3": TrappedCall("clone3", f"{_FORK} `CLONE_INTO_CGROUP` starts the child in a cgroup of the tree."),
    "exit": TrappedCall("exit", _EXIT),
    "exit_group": TrappedCall("exit", _EXIT),
    "kill": TrappedCall(
        "kill",
        f"`kill(-1)` signals the processes of the sandbox alone, as there is no pid namespace. {_SIGNAL}",
        (When(0, _EVERY_PROCESS), _SIMULATED),
    ),
    "tkill": TrappedCall("kill", _SIGNAL, _SIMULATED),
    "tgkill": TrappedCall("kill", _SIGNAL, _SIMULATED),
    "pidfd_open": TrappedCall(
        "pidfd", "A descriptor that can be polled for the end of a simulated process.", _SIMULATED
    ),
    "pidfd_send_signal": TrappedCall("pidfd", _SIGNAL, part=WORKLOAD),
    "ptrace": TrappedCall(
        "ptrace",
        "A process that is held for a limit goes on before another process traces it.",
        (When(0, TRACEME), When(0, ATTACH), When(0, SEIZE)),
    ),
    "rt_sigaction": TrappedCall(
        "rt_sigaction",
        "A handler of SIGCHLD gets `SA_RESTART`: without it trapped calls would fail with EINTR.",
        When(0, int(signal.SIGCHLD)),
    ),
    "prlimit64": TrappedCall("prlimit", _LOCKS, When(1, LOCKS)),
    "setrlimit": TrappedCall("prlimit", _LOCKS, When(0, LOCKS)),
    "getrlimit": TrappedCall("prlimit", _LOCKS, When(0, LOCKS)),
    # namespaces and mounts
    "unshare": TrappedCall(
        "unshare", "A cgroup namespace of the tree is made.", When(0, CLONE_NEWCGROUP, CLONE_NEWCGROUP)
    ),
    "mount": TrappedCall("mount", _MOUNT),
    "umount2": TrappedCall(
        "mount",
        "`MNT_FORCE` is left out, as it would end a FUSE file system for everybody.",
        When(1, MNT_FORCE, MNT_FORCE),
    ),
    "fsopen": TrappedCall("fsmount", _MOUNT),
    "fsconfig": TrappedCall("fsmount", _MOUNT),
    "fsmount": TrappedCall("fsmount", _MOUNT),
    "move_mount": TrappedCall("fsmount", _MOUNT, When(4, _FROM_EMPTY_PATH, _FROM_EMPTY_PATH)),
    # the stated machine
    "sched_setaffinity": TrappedCall("sched_affinity", _AFFINITY, part="cpus"),
    "sched_getaffinity": TrappedCall("sched_affinity", _AFFINITY, part="cpus"),
    "sysinfo": TrappedCall("sysinfo", "The memory and swap of the stated machine.", part="memory"),
    # programs
    "bpf": TrappedCall(
        "bpf", "Device programs of cgroups are loaded, attached, queried and detached. None is verified or run."
    ),
}
"""The system calls that the daemon answers. The file says in its first lines which calls it answers."""

_PIDFD_GET_INFO, _IOCTL_NUMBER = 0xFF0B, 0xFFFF  # Linux 6.13; its struct has another size in each version

REFUSED_CALLS = {
    "io_uring_setup": RefusedCall(ENOSYS, "Calls made by a ring are not trapped."),
    "statmount": RefusedCall(ENOSYS, "It tells of mounts as the machine has them."),
    "listmount": RefusedCall(ENOSYS, "It tells of mounts as the machine has them."),
    "ioctl": RefusedCall(
        ENOTTY, "`PIDFD_GET_INFO` tells of the machine's own cgroups.", When(1, _PIDFD_GET_INFO, _IOCTL_NUMBER)
    ),
}
"""The system calls that programs do without, as older kernels do not have them."""

TRAPPED = {name: call.when for name, call in TRAPPED_CALLS.items()}


def trapped(parts: frozenset[str] = frozenset()) -> dict[str, Condition]:
    """What traps each call, if these parts of the stated machine differ from the real one."""
    return {
        name: None if call.always_with in parts else call.when
        for name, call in TRAPPED_CALLS.items()
        if not call.part or call.part in parts
    }


REFUSED = {name: Refusal(call.errno, call.when) for name, call in REFUSED_CALLS.items()}
