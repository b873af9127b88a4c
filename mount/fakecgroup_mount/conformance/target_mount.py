"""A mounted tree as a target.

The kernel under a FUSE mount answers some calls itself, and a plain mount does not limit real processes.  Such
operations are done but not compared, or end the comparison of their case.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from fakecgroup.conformance.case import Answer, Case, Op, arguments
from fakecgroup.conformance.recording import Recording
from fakecgroup.conformance.target import UnsupportedError
from fakecgroup_mount.conformance import needs_root
from fakecgroup_mount.conformance.target_directory import DirectoryTarget, roots_of
from fakecgroup_mount.control.client import ask
from fakecgroup_mount.control.errors import CommandError
from fakecgroup_mount.errors import MountError
from fakecgroup_mount.host.mountinfo import mount_at

_LAST_CAPABILITY = Path("/proc/sys/kernel/cap_last_cap")

#: Attributes that the VFS and its security modules check before the file system.
_JUDGED = (b"security.", b"system.")
_IO_COST = ("io.cost.qos", "io.cost.model")


class MountTarget(DirectoryTarget):
    """A mount of ``fakecgroup mount``.  Without ``as_root``, operations that need root are left out, and what processes
    allocate unless it ``enforces_memory``.
    """

    def __init__(self, root: str, *, as_root: bool = True, enforces_memory: bool = False) -> None:
        super().__init__(root)
        self._as_root = as_root
        self._enforces_memory = enforces_memory

    def start(self, case: Case) -> None:
        super().start(case)
        self._attributes_judged = False
        self._less_counts = False
        self._user = 0
        self._io_cost_set = any(path.exists() and path.read_text() for path in map(Path(self._root).joinpath, _IO_COST))

    def do(self, op: Op) -> Answer:
        reason, ends = self._not_the_fakes(op)
        if ends:
            raise UnsupportedError(reason)
        answer = super().do(op)
        if reason:
            raise UnsupportedError(reason, ends=False)
        return answer

    def _not_the_fakes(self, op: Op) -> tuple[str, bool]:
        """Why an operation's answer is not the fake's ("" if it is), and whether the case ends with it."""
        if not self._as_root and (reason := needs_root.why(op)):
            return (reason, needs_root.ends(op))
        op = needs_root.innermost(op)
        if op[0] == "alloc" and not self._enforces_memory:
            return ("no limits act on the memory of real processes (--enforce memory)", True)
        if self._io_cost_set and op[0] in ("read", "write", "open"):
            path = next(os.fsdecode(value) for kind, value in arguments(op) if kind == "path")
            if path.endswith((*_IO_COST, "io.stat")):
                return ("an earlier case has set up io.cost for a device, which only a new mount takes away", True)
        if op[0] in ("capabilities", "as"):
            self._less_counts = op[0] == "capabilities"
            self._user = op[1] if op[0] == "as" else self._user
            if self._less_counts and _is_not_to_be_had(arguments(op)[0][1], root=not self._user):
                return ("this machine gives root fewer capabilities than there are", True)
        if op[0] == "access" and self._less_counts:
            return ("access(2) asks for what is permitted, which the mount's own kernel tells nobody", False)
        if op[0] in ("lseek", "fpwrite"):
            return ("file positions are kept by the mount's own kernel", False)
        if op[0] == "fwrite" and dict(arguments(op))["data"] == b"":
            return ("a write of nothing does not leave the kernel", False)
        if op[0] in ("setxattr", "getxattr", "removexattr") and dict(arguments(op))["text"].startswith(_JUDGED):
            self._attributes_judged |= op[0] != "getxattr"
            return ("the mount's own kernel judges security and system attributes", False)
        if op[0] == "listxattr" and self._attributes_judged:
            return ("security attributes may be among them", False)
        return ("", False)


def mounted_target(name: str, recorded: Recording, cases: Sequence[Case]) -> MountTarget:
    """The mount at a directory, for some cases of a recording. What needs root and is left out is told on stderr.

    So are the cases in which processes use memory, where no limits act on that. Raises MountError if no tree of ours is
    mounted there, or there are cgroups in it.
    """
    path = os.path.realpath(name)
    found = mount_at(path)
    if found is None or not found.ours:
        machine = recorded.header["machine"]
        swap = f" --swap {machine['swap']}" if "swap" in machine else ""
        raise MountError(
            f"{name} is no fakecgroup mount: mount one, of the machine that was asked: fakecgroup mount {name} "
            f"--layout {recorded.layout} --kernel {recorded.kernel} --cpus {machine['cpus']} "
            f"--numa-nodes {machine['nodes']} --memory {machine['memory']}{swap} "
            f"--block-devices {','.join(machine['block_devices'])}"
        )
    for root in roots_of(path):
        with os.scandir(root) as entries:
            cgroup = next((entry.path for entry in entries if entry.is_dir(follow_symlinks=False)), None)
        if cgroup is not None:
            raise MountError(f"{cgroup} is there, and the cases would remove it: mount a tree of its own for them")
    as_root = os.stat(path).st_uid == 0 and needs_root.acts_as_others(cases)
    if not as_root:
        needs_root.tell(cases)
    enforces_memory = _enforces_memory(path)
    if not enforces_memory:
        _tell_of_memory(cases, path)
    return MountTarget(path, as_root=as_root, enforces_memory=enforces_memory)


def _enforces_memory(path: str) -> bool:
    """Whether limits on memory act on real processes in a tree. They do not if its daemon does not say."""
    try:
        names = ask(path, "enforce", {})["enforced"]
    except (MountError, CommandError):
        return False
    return isinstance(names, list) and "memory" in names


def _tell_of_memory(cases: Sequence[Case], path: str) -> None:
    number = sum(any(needs_root.innermost(op)[0] == "alloc" for op in case.ops) for case in cases)
    if number:
        print(
            f"fakecgroup conformance: {number} of {len(cases):,} cases are compared up to where processes use memory, "
            f"as no limits act on that; they do after: fakecgroup ctl {path} enforce memory",
            file=sys.stderr,
        )


def _is_not_to_be_had(wanted: int, *, root: bool) -> bool:
    """Whether a set of capabilities is not available here, or is all that root has here and not all there are."""
    there = (2 << int(_LAST_CAPABILITY.read_text())) - 1
    lines = Path("/proc/self/status").read_text().splitlines()
    own = int(next(line.split()[1] for line in lines if line.startswith("CapPrm:")), 16)
    if own == there or (root and wanted & there == there):
        return False
    return bool(wanted & there & ~own) or wanted & own == own
