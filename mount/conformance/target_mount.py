"""A mounted fake as a target.

A FUSE mount is a directory whose kernel answers some calls itself, before the fake is asked, and the fake limits no
real process.  Such operations are done but not compared, or end the comparison of their case.
"""

from __future__ import annotations

from .case import Answer, Op, arguments
from .target import UnsupportedError
from .target_directory import DirectoryTarget


class MountTarget(DirectoryTarget):
    """A directory on which ``fakecgroup mount`` has put a tree."""

    def do(self, op: Op) -> Answer:
        reason, ends = _not_the_fakes(op)
        if ends:
            raise UnsupportedError(reason)
        answer = super().do(op)
        if reason:
            raise UnsupportedError(reason, ends=False)
        return answer


def _not_the_fakes(op: Op) -> tuple[str, bool]:
    """Why an operation says nothing about the fake ("" if it does), and whether the case ends with it."""
    while op[0] == "in":
        op = op[2:]
    if op[0] == "alloc":
        return ("memory of real processes is not limited", True)
    if op[0] in ("lseek", "fpwrite"):
        return ("file positions are kept by the mount's own kernel", False)
    if op[0] == "fwrite" and dict(arguments(op))["data"] == b"":
        return ("a write of nothing does not leave the kernel", False)
    return ("", False)
