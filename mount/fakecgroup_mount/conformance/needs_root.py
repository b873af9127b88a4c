"""Operations of the cases that need root, and so have no answer on a plain user's mount."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from fakecgroup.conformance.case import Case, Op

_ATTRIBUTES = ("setxattr", "getxattr", "removexattr")
_CREDENTIALS = {
    "as": "act as another user",
    "capabilities": "have other capabilities",
    "user_namespace": "make a user namespace",
}


def why(op: Op) -> str:
    """Why an operation needs root; "" if it does not."""
    op = innermost(op)
    if op[0] in _CREDENTIALS:
        return _CREDENTIALS[op[0]]
    if op[0] in ("stat", "fstat"):
        return "tell the owner, which is root"
    if (op[0] in _ATTRIBUTES and str(op[2]).startswith("trusted.")) or op[0] == "listxattr":
        return "see trusted attributes"
    return ""


def counted(cases: Iterable[Case]) -> Counter[str]:
    """The number of operations that need root, by reason. All operations after a change of user count for it."""
    found: Counter[str] = Counter()
    for case in cases:
        other = ""
        for op in case.ops:
            reason = why(op)
            other = other or (reason if ends(op) else "")
            found[other or reason] += 1
    del found[""]
    return found


def tell(cases: Sequence[Case]) -> None:
    """Prints how many operations are left out, and why."""
    reasons = counted(cases)
    if reasons:
        which = "; ".join(f"{number:,} {reason}" for reason, number in reasons.most_common())
        print(
            f"fakecgroup conformance: {reasons.total():,} of {sum(len(case.ops) for case in cases):,} operations need "
            f"root and are not compared: {which}",
            file=sys.stderr,
        )


def ends(op: Op) -> bool:
    """Whether the rest of the case needs root too."""
    return innermost(op)[0] in _CREDENTIALS


def innermost(op: Op) -> Op:
    """What another process does, for an operation `in` it."""
    while op[0] == "in":
        op = op[2:]
    return op


def acts_as_others(cases: Iterable[Case]) -> bool:
    """Whether this process may become each user in the cases. A child tries it."""
    operations = (innermost(op) for case in cases for op in case.ops)
    users = {(int(op[1]), int(op[2])) for op in operations if op[0] == "as"}
    child = os.fork()
    if child == 0:
        status = 1
        try:
            for uid, gid in users:
                os.setresuid(0, 0, 0)
                os.setgroups([])
                os.setresgid(gid, gid, gid)
                os.setresuid(uid, uid, 0)
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def has_all_capabilities() -> bool:
    """Whether this process may become any user and has every capability that the kernel has."""
    there = (2 << int(Path("/proc/sys/kernel/cap_last_cap").read_text())) - 1
    status = Path("/proc/self/status").read_text().splitlines()
    effective = next(line.split()[1] for line in status if line.startswith("CapEff:"))
    return int(effective, 16) == there
