"""The flags of clone(2) and clone3(2) that exclude each other."""

from __future__ import annotations

# include/uapi/linux/sched.h
VM, FS, SIGHAND, PIDFD, THREAD = 0x100, 0x200, 0x800, 0x1000, 0x10000
NEWNS, SYSVSEM, DETACHED = 0x20000, 0x40000, 0x400000
NEWIPC, NEWUSER, NEWPID = 0x8000000, 0x10000000, 0x20000000


def exclude_each_other(flags: int) -> bool:
    """Whether a fork with these flags fails with EINVAL before the kernel counts its task (copy_process).

    Such a fork is not refused by pids.max and not counted in pids.events.
    """
    return bool(
        (flags & FS and flags & (NEWNS | NEWUSER))
        or (flags & THREAD and (not flags & SIGHAND or flags & (NEWUSER | NEWPID)))
        or (flags & SIGHAND and not flags & VM)
        or (flags & PIDFD and flags & DETACHED)
        or (flags & NEWIPC and flags & SYSVSEM)  # copy_namespaces
    )
