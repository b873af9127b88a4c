"""One row per interface file, in the words of the kernel's `struct cftype` (include/linux/cgroup-defs.h).

The table of a controller *is* its list of files. A row gives the file's name, where it appears, and its reader and
writer. The form of the writer decides how the bytes are parsed:

=============  ============================================================================
`write_u64`    kstrtou64, then the function gets a number
`write_s64`    kstrtos64, then the function gets a number
`write`        the function gets the text up to its first NUL
`write_of`     the function gets the text, the `FileContext` (it has the opener) and the writer
=============  ============================================================================

`show` gives the text of the file, `read_u64` and `read_s64` give a number, which is printed with a newline.
`show_records` gives a sequence of records; a partial read may stop between two of them. `seq_start` gives those from
where the last read of the file ended, as the row knows it: its records come and go between two reads.
A row's functions get the css of its controller in that cgroup, or the `Cgroup` for the core's own files.
A read without a reader and a write without a writer are EINVAL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Flag, auto
from typing import TYPE_CHECKING, Any

from ..machine.personality import Personality, Version
from ..named_tuple import NamedTuple

if TYPE_CHECKING:
    from ..credentials.caller import Caller
    from ..machine.machine import Machine
    from .file_context import FileContext

PAGE_SIZE = 4096


def each_line(text: str) -> list[str]:
    """One write per line, with its newline."""
    return text.splitlines(keepends=True)


def shown_number(text: str) -> int:
    """The number that a file of one number shows. Raises ValueError for any other text."""
    if not text.endswith("\n") or not text[:-1].isdecimal() or len(text) > 21:
        raise ValueError(f"{text[:32]!r} is no number")
    return int(text)


class Where(Flag):
    """The cgroups that have a file: the hierarchy's root, all others, or both."""

    ROOT = auto()
    CHILD = auto()
    BOTH = ROOT | CHILD


class CFType(NamedTuple):
    """One interface file. `mode` is set only if it does not follow from the readers and writers.

    `since` is the first kernel that has the file, `until` the first that no longer has it, `config` the build option
    that it needs. A write of more than `max_write` bytes is E2BIG (kernfs, atomic_write_len). `mark` groups files that
    the core shows and hides together. `poll` gives a file's own events beside POLLIN and POLLOUT; any other file has an
    event after each change (kernfs_notify). `huge_page` in bytes: the file exists only on machines with huge pages of
    this size. `by_opener`: a write is judged by the privileges that the opener had at open(2). `delegatable`: the file
    may be written in the root of the writer's cgroup namespace (CFTYPE_NS_DELEGATABLE).

    The last three say how a snapshot's text comes back. `again` gives the writes that set the file to a text that it
    has shown; None if a write sets nothing that is shown (it moves a task, resets a counter, sets a trigger). `recall`
    sets the state so that the file shows a text, where no write does; it raises ValueError for a text that the file
    cannot show. `counts`: what is shown are counts, which go on from a `Baseline`.
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
    seq_start: Callable[[Any, FileContext], Iterable[str]] | None = None
    read_u64: Callable[[Any], int] | None = None
    read_s64: Callable[[Any], int] | None = None
    write: Callable[[Any, str], None] | None = None
    write_u64: Callable[[Any, int], None] | None = None
    write_s64: Callable[[Any, int], None] | None = None
    write_of: Callable[[Any, str, FileContext, Caller], None] | None = None
    poll: Callable[[FileContext], int] | None = None
    again: Callable[[str], Iterable[str]] | None = each_line
    recall: Callable[[Any, str], None] | None = None
    counts: bool = False

    @property
    def readable(self) -> bool:
        return bool(self.show or self.show_records or self.seq_start or self.read_u64 or self.read_s64)

    @property
    def writable(self) -> bool:
        return bool(self.write or self.write_u64 or self.write_s64 or self.write_of)

    @property
    def is_setting(self) -> bool:
        """True if a write sets what it shows."""
        return self.readable and self.writable and self.again is not None

    @property
    def permissions(self) -> int:
        """Mode bits of a new file (kernel/cgroup/cgroup.c, cgroup_file_mode)."""
        if self.mode is not None:
            return self.mode
        return (0o444 if self.readable else 0) | (0o200 if self.writable else 0)

    def fits(self, machine: Machine) -> bool:
        """True unless the file is of huge pages that `machine` does not have."""
        return self.huge_page is None or self.huge_page in machine.huge_pages

    def exists_in(self, kernel: Personality, machine: Machine) -> bool:
        """True if `kernel` has this file on `machine`."""
        return (
            self.fits(machine)
            and (self.since is None or kernel.version >= self.since)
            and (self.until is None or kernel.version < self.until)
            and kernel.has(self.config)
        )
