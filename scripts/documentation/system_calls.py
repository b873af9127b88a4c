"""The system calls that `fakecgroup run` answers in the kernel's place, as its seccomp filter has them."""

from __future__ import annotations

from errno import errorcode

from fakecgroup_mount.calls.supervisor import REFUSED, TRAPPED
from fakecgroup_mount.seccomp.filter import When

from .tables import table

_PROC = "Files of `/proc` that tell of cgroups, mounts and limits are opened as a copy of the text of that moment."
_FORK = "`EAGAIN` where `pids.max` is reached; the child is known before it runs."
_CONTEXT = "Of `cgroup`, `cgroup2` and `cpuset`: the tree, from the root of the caller's cgroup namespace on."
_LOCKS = "The program has a `RLIMIT_LOCKS` of its own beside the mark by which its children are known."
_END = "What the thread has used is read before it is gone."
_FS_TYPE = "The type of a cgroup file system, and of `/proc` for a copy of one of its files."

ANSWERS = {
    "openat": _PROC,
    "open": _PROC,
    "openat2": _PROC,
    "statfs": _FS_TYPE,
    "fstatfs": _FS_TYPE,
    "name_to_handle_at": "A handle with the cgroup's id, as kernfs gives it.",
    "clone3": f"{_FORK} `CLONE_INTO_CGROUP` starts the child in a cgroup of the tree.",
    "clone": _FORK,
    "fork": _FORK,
    "vfork": _FORK,
    "exit": _END,
    "exit_group": _END,
    "bpf": "Device programs of cgroups are loaded, attached, queried and detached; none is verified or run.",
    "mount": "Of `cgroup`, `cgroup2` and `cpuset`: the tree, from the root of the caller's cgroup namespace on.",
    "umount2": "`MNT_FORCE` is left out, as it would end a FUSE file system for everybody.",
    "fsopen": _CONTEXT,
    "fsconfig": _CONTEXT,
    "fsmount": _CONTEXT,
    "move_mount": _CONTEXT,
    "unshare": "A cgroup namespace of the tree is made.",
    "prlimit64": _LOCKS,
    "setrlimit": _LOCKS,
    "getrlimit": _LOCKS,
    "rt_sigaction": "The handler of SIGCHLD gets `SA_RESTART`, as trapped calls would else fail with EINTR.",
    "kill": "`kill(-1)` ends in the sandbox, as there is no pid namespace.",
}
"""What a program gets, by system call."""

_WHY_REFUSED = {
    "io_uring_setup": "Calls made by a ring are not trapped.",
    "statmount": "It tells of mounts as the machine has them.",
    "listmount": "It tells of mounts as the machine has them.",
    "ioctl": "`PIDFD_GET_INFO` tells of the machine's own cgroups.",
}


def page() -> str:
    """The trapped calls and the refused ones. Raises ValueError for a call that has no text here."""
    missing = (TRAPPED.keys() ^ ANSWERS.keys()) | (REFUSED.keys() ^ _WHY_REFUSED.keys())
    if missing:
        raise ValueError(f"texts and filter do not have the same system calls: {', '.join(sorted(missing))}")
    trapped = ((f"`{name}`", _condition(when), ANSWERS[name]) for name, when in TRAPPED.items())
    refused = (
        (f"`{name}`", _condition(refusal.when), f"`{errorcode[refusal.errno]}`", _WHY_REFUSED[name])
        for name, refusal in REFUSED.items()
    )
    return "\n".join(
        [
            "## Answered\n",
            table(("system call", "trapped", "what a program gets"), trapped),
            "## Refused\n",
            table(("system call", "when", "errno", "why"), refused),
        ]
    )


def _condition(when: When | None) -> str:
    if when is None:
        return "always"
    masked = "" if when.bits == 0xFFFFFFFF else f" & {when.bits:#x}"
    return f"argument {when.argument + 1}{masked} is {when.value:#x}"
