"""Resource limits: who may set them, to which values, and how /proc shows them (prlimit(2), kernel/sys.c)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from errno import EINVAL, EPERM

from ..late_pattern import pattern
from ..refuse import refuse

Limit = tuple[int, int]
"""A soft and a hard limit (struct rlimit64)."""

INFINITY = 2**64 - 1
"""RLIM64_INFINITY: no limit."""

_MAX_FILE_LOCKS = pattern(rb"^Max file locks .*$", re.MULTILINE)


def may_access(uid: int, gid: int, target_uids: Sequence[int], target_gids: Sequence[int], *, capable: bool) -> bool:
    """Whether a caller may see and set another process's limits (check_prlimit_permission).

    `uid` and `gid` are the caller's real ids; the target's are real, effective and saved ones. `capable` says whether
    the caller has CAP_SYS_RESOURCE in the target's user namespace.
    """
    return capable or ({uid} == set(target_uids) and {gid} == set(target_gids))


def check(before: Limit, wanted: Limit) -> None:
    """Raises what do_prlimit does: EINVAL for a soft limit above the hard one, EPERM for a higher hard limit.

    The caller has no CAP_SYS_RESOURCE in the initial user namespace.
    """
    if wanted[0] > wanted[1]:
        raise refuse(EINVAL)
    if wanted[1] > before[1]:
        raise refuse(EPERM)


def with_file_locks(text: bytes, limit: Limit) -> bytes:
    """The text of /proc/PID/limits with this RLIMIT_LOCKS (proc_pid_limits)."""
    soft, hard = ("unlimited" if value == INFINITY else str(value) for value in limit)
    return _MAX_FILE_LOCKS().sub(f"{'Max file locks':25} {soft:20} {hard:20} locks     ".encode(), text)
