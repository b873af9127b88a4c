"""Device programs attached to cgroups (kernel/bpf/cgroup.c). None is ever run."""

from __future__ import annotations

import weakref
from errno import E2BIG, EINVAL, ENOENT, EPERM

from ..core.cgroup import Cgroup
from ..refuse import refuse

ALLOW_OVERRIDE, ALLOW_MULTI, REPLACE = 1, 2, 4
"""BPF_F_ALLOW_OVERRIDE, BPF_F_ALLOW_MULTI, BPF_F_REPLACE."""

_MOST = 64  # BPF_CGROUP_MAX_PROGS
_MOST_INSTRUCTIONS = 1_000_000  # BPF_COMPLEXITY_LIMIT_INSNS


class _Attached:
    """The programs of one cgroup, by their ids, and the flags that they were attached with."""

    def __init__(self) -> None:
        self.flags = 0
        self.programs: list[int] = []


def check_size(instructions: int) -> None:
    """Raises E2BIG for a program of no instruction or too many (bpf_prog_load)."""
    if not 0 < instructions <= _MOST_INSTRUCTIONS:
        raise refuse(E2BIG)


def check_flags(flags: int) -> None:
    """Raises EINVAL for a flag that attaching does not have (bpf_prog_attach)."""
    if flags & ~(ALLOW_OVERRIDE | ALLOW_MULTI | REPLACE):
        raise refuse(EINVAL)


class DevicePrograms:
    """The programs of each cgroup. A cgroup that is gone has none."""

    def __init__(self) -> None:
        self._last = 0
        self._attached: weakref.WeakKeyDictionary[Cgroup, _Attached] = weakref.WeakKeyDictionary()

    def load(self) -> int:
        """The id of a new program."""
        self._last += 1
        return self._last

    def require(self, program: int) -> None:
        """Raises ENOENT for an id that no program has (bpf_prog_get_fd_by_id)."""
        if not 0 < program <= self._last:
            raise refuse(ENOENT)

    def attach(self, cgroup: Cgroup, program: int, flags: int, replaced: int | None) -> None:
        """Attaches a program (__cgroup_bpf_attach).

        `replaced` is the program whose place it takes. Raises EINVAL for flags that exclude each other and for a
        program that is attached already, EPERM where a cgroup above forbids it or the others here have other flags,
        E2BIG where there are 64 already, ENOENT where `replaced` is not attached.
        """
        multi = bool(flags & ALLOW_MULTI)
        if (multi and flags & ALLOW_OVERRIDE) or (flags & REPLACE and not multi):
            raise refuse(EINVAL)
        attached = self._attached.setdefault(cgroup, _Attached())
        if not self._allowed_above(cgroup) or (attached.programs and attached.flags != flags & ~REPLACE):
            raise refuse(EPERM)
        if len(attached.programs) >= _MOST:
            raise refuse(E2BIG)
        if not multi:
            attached.programs[:] = [program]
        elif program in attached.programs and program != replaced:
            raise refuse(EINVAL)
        elif replaced is None:
            attached.programs.append(program)
        elif replaced in attached.programs:
            attached.programs[attached.programs.index(replaced)] = program
        else:
            raise refuse(ENOENT)
        attached.flags = flags & ~REPLACE

    def _allowed_above(self, cgroup: Cgroup) -> bool:
        """Whether the nearest ancestor with programs allows others below it (hierarchy_allows_attach)."""
        for ancestor in list(cgroup.lineage())[1:]:
            attached = self._attached.get(ancestor)
            if attached is not None and attached.programs:
                return attached.flags != 0
        return True

    def detach(self, cgroup: Cgroup, program: int | None) -> None:
        """Detaches a program (__cgroup_bpf_detach). Where only one can be attached, `program` is not looked at.

        Raises EINVAL for no program where several can be attached, ENOENT for one that is not attached.
        """
        attached = self._attached.setdefault(cgroup, _Attached())
        if not attached.flags & ALLOW_MULTI:
            program = attached.programs[0] if attached.programs else None
        elif program is None:
            raise refuse(EINVAL)
        if program not in attached.programs:
            raise refuse(ENOENT)
        attached.programs.remove(program)
        if not attached.programs:
            attached.flags = 0

    def attached(self, cgroup: Cgroup) -> tuple[list[int], int]:
        """The programs of a cgroup, in the order in which they were attached, and their flags."""
        found = self._attached.get(cgroup, _Attached())
        return list(found.programs), found.flags

    def effective(self, cgroup: Cgroup) -> list[int]:
        """The programs that would run: the cgroup's own, then those above that allow several.

        An ancestor's program also runs where the cgroup has none (compute_effective_progs).
        """
        found: list[int] = []
        for ancestor in cgroup.lineage():
            attached = self._attached.get(ancestor)
            if attached is not None and (not found or attached.flags & ALLOW_MULTI):
                found += attached.programs
        return found
