"""One row per interface file, in the words of the kernel's `struct cftype` (include/linux/cgroup-defs.h).

The table of a controller *is* its list of files. A row says how the file is called, where it appears,
how it reads and how it takes a write; which of the write forms it uses decides how the bytes are parsed:

=============  ============================================================================
`write_u64`    kstrtou64, then the function gets a number
`write_s64`    kstrtos64, then the function gets a number
`write`        the function gets the text up to its first NUL
`write_of`     the function gets the text, the open file (it knows the opener) and the writer
=============  ============================================================================

`show` gives the text of the file, `read_u64` and `read_s64` a number that is printed with a newline,
`show_records` a sequence of records between which a partial read may stop.
A row's functions get the css of its controller in that cgroup, or the `Cgroup` for the core's own files.
A row without a reader answers a read with EINVAL, one without a writer a write with EINVAL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Flag, auto
from typing import TYPE_CHECKING, Any

from .personality import Personality, Version

if TYPE_CHECKING:
    from .caller import Caller
    from .file_context import FileContext
    from .machine import Machine

PAGE_SIZE = 4096


class Where(Flag):
    """The cgroups in which a file appears: the hierarchy's root, all others, or both."""

    ROOT = auto()
    CHILD = auto()
    BOTH = ROOT | CHILD


@dataclass(frozen=True, slots=True, eq=False)
class CFType:
    """A row. `mode` is given only where it does not follow from the readers and writers.

    `since` is the first kernel that has the file, `until` the first that has it no more, `config` the
    build option it needs. `max_write` in bytes: a longer write is E2BIG (kernfs, atomic_write_len).
    `mark` groups files that the core shows and hides together. `poll` gives the events beside POLLIN and POLLOUT of a
    file that has its own; the others have one after each change (kernfs_notify).
    `huge_page` in bytes: only machines that have huge pages of this size have the file.
    `by_opener`: what may be written hangs on what whoever opened it was privileged to at that time.
    `delegatable`: it can be written in the root of one's own cgroup namespace (CFTYPE_NS_DELEGATABLE).
    """

    name: str
    where: Where = Where.BOTH
    mode: int | None = None
    since: Version | None = None
    until: Version | None = None
    config: str | None = None
    max_write: int = PAGE_SIZE
    mark: str | None = None
    huge_page: int | None = None
    by_opener: bool = False
    delegatable: bool = False
    show: Callable[[Any], str] | None = None
    show_records: Callable[[Any, FileContext], Iterable[str]] | None = None
    read_u64: Callable[[Any], int] | None = None
    read_s64: Callable[[Any], int] | None = None
    write: Callable[[Any, str], None] | None = None
    write_u64: Callable[[Any, int], None] | None = None
    write_s64: Callable[[Any, int], None] | None = None
    write_of: Callable[[Any, str, FileContext, Caller], None] | None = None
    poll: Callable[[FileContext], int] | None = None

    @property
    def permissions(self) -> int:
        """The file's mode bits when it is made (kernel/cgroup/cgroup.c, cgroup_file_mode)."""
        if self.mode is not None:
            return self.mode
        readable = self.show or self.show_records or self.read_u64 or self.read_s64
        writable = self.write or self.write_u64 or self.write_s64 or self.write_of
        return (0o444 if readable else 0) | (0o200 if writable else 0)

    def exists_in(self, kernel: Personality, machine: Machine) -> bool:
        """True where `kernel` has this file on `machine`."""
        return (
            (self.huge_page is None or self.huge_page in machine.huge_pages)
            and (self.since is None or kernel.version >= self.since)
            and (self.until is None or kernel.version < self.until)
            and kernel.has(self.config)
        )
