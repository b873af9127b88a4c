"""An open interface file: reading through seq_file, writing whole values, polling."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from errno import E2BIG, EBADF, EINVAL, ENODEV, EPERM
from itertools import islice
from os import O_ACCMODE, O_RDONLY, O_WRONLY
from select import POLLERR, POLLIN, POLLOUT, POLLPRI, POLLRDNORM, POLLWRNORM
from typing import TYPE_CHECKING

from ..core.file_context import FileContext
from ..parse.kstrto import kstrtos64, kstrtou64
from ..refuse import refuse

if TYPE_CHECKING:
    from ..core.cgroup_file import CgroupFile
    from ..credentials.caller import Caller
    from ..effects.pressure_trigger import PressureTrigger


class OpenFile(FileContext):
    """One open(2) of an interface file (the kernel's kernfs_open_file and its seq_file).

    A read at offset 0 makes the text, and reads that follow on use it, whatever their size. A read at any other offset
    makes it anew. A file with records (`cgroup.procs`) makes only as many records as a read asks for. After the file is
    removed, text that is already made can still be read; then a read is ENODEV.
    """

    __slots__ = ("_buffer", "_event", "_index", "_read_pos", "flags", "inode")

    _buffer: bytes
    _index: int

    def __init__(self, inode: CgroupFile, flags: int, opener: Caller) -> None:
        self.inode = inode
        self.flags = flags
        self.opener = self.reader = opener
        delegates = flags & O_ACCMODE != O_RDONLY and inode.cgroup.hierarchy.nsdelegate
        self.namespace = opener.cgroup_root() if delegates else None
        self._rewind()
        self._read_pos = 0
        self._event = 0
        self.peak = None
        self.trigger = None
        self.pidlist = False

    def read(self, offset: int, size: int, reader: Caller | None = None) -> bytes:
        """Up to `size` bytes from `offset` (fs/seq_file.c, seq_read_iter). The default `reader` is the opener.

        Raises EBADF on a write-only file, EINVAL without a reader and for a negative offset, ENODEV once the file is
        removed.
        """
        if self.flags & O_ACCMODE == O_WRONLY:
            raise refuse(EBADF)
        if offset < 0:
            raise refuse(EINVAL)
        self.reader = reader or self.opener
        if offset == 0:
            self._rewind()
        if offset != self._read_pos:
            self._traverse(offset)
        taken = self._buffer[:size]
        self._buffer = self._buffer[len(taken) :]
        if not self._buffer and len(taken) < size:
            try:
                made, length = [], len(taken)
                for record in self._records():
                    made.append(record)
                    length += len(record)
                    if length >= size:
                        break
                self._buffer = b"".join(made)
            except OSError:
                self._buffer = b""
                if not taken:
                    raise
            more = self._buffer[: size - len(taken)]
            self._buffer = self._buffer[len(more) :]
            taken += more
        self._read_pos = offset + len(taken)
        return taken

    def _rewind(self) -> None:
        """Go on at the first record."""
        self._index, self._buffer = 0, b""
        self.position, self.tasks = 0, None

    def _traverse(self, offset: int) -> None:
        """Make the text anew up to `offset`."""
        self._rewind()
        if offset:
            position = 0
            try:
                for record in self._records():
                    if position + len(record) > offset:
                        self._buffer = record[offset - position :]
                        break
                    position += len(record)
                    if position == offset:
                        break
            except OSError:
                self._rewind()
                self._read_pos = 0
                raise
        self._read_pos = offset

    def _records(self) -> Iterator[bytes]:
        """The records from the current position on. Each one advances the position."""
        inode = self.inode
        if not inode.alive:
            raise refuse(ENODEV)
        row = inode.row
        records: Iterable[str] | None = None
        if row.seq_start is not None:
            records = row.seq_start(inode.subject, self)
        elif row.show_records is not None:
            records = islice(row.show_records(inode.subject, self), self._index, None)
        if records is not None:
            for text in records:
                self._index += 1
                self._event = inode.events
                yield self._counted(text).encode("latin-1")
        elif self._index == 0:
            self._event = inode.events
            if row.show is not None:
                text = row.show(inode.subject)
            elif row.read_u64 is not None:
                text = f"{row.read_u64(inode.subject)}\n"
            elif row.read_s64 is not None:
                text = f"{row.read_s64(inode.subject)}\n"
            else:
                raise refuse(EINVAL)
            self._index = 1
            yield self._counted(text).encode("latin-1")

    def _counted(self, text: str) -> str:
        """A text of the model with what its counts began with."""
        baseline = self.inode.baseline
        return text if baseline is None else baseline.shown(text)

    def write(self, data: bytes, caller: Caller) -> int:
        """Write one whole value, and return the number of bytes, all of which are taken.

        A cgroup file ignores the offset of a write. Raises EBADF on a read-only file, E2BIG for more than the file
        takes, ENODEV once it is removed. A write of no bytes ends here. Then EPERM in the root of the opener's cgroup
        namespace under nsdelegate, EINVAL without a writer, and what the parser and the row raise (fs/kernfs/file.c,
        kernfs_fop_write_iter; cgroup_file_write).
        """
        if self.flags & O_ACCMODE == O_RDONLY:
            raise refuse(EBADF)
        inode = self.inode
        row = inode.row
        if len(data) > row.max_write:
            raise refuse(E2BIG)
        if not inode.alive:
            raise refuse(ENODEV)
        if not data:
            return 0
        if self.namespace is inode.cgroup and not row.delegatable:
            raise refuse(EPERM)
        text = data.partition(b"\0")[0].decode("latin-1")
        try:
            self._handle(text, caller)
        finally:
            inode.cgroup.hierarchy.membership.writes += 1
        return len(data)

    def _handle(self, text: str, caller: Caller) -> None:
        """Give a value to the file's writer. Raises EINVAL if it has none."""
        inode, row = self.inode, self.inode.row
        if row.write is not None:
            row.write(inode.subject, text)
        elif row.write_u64 is not None:
            row.write_u64(inode.subject, kstrtou64(text))
        elif row.write_s64 is not None:
            row.write_s64(inode.subject, kstrtos64(text))
        elif row.write_of is not None:
            row.write_of(inode.subject, text, self, caller)
        else:
            raise refuse(EINVAL)

    @property
    def file(self) -> CgroupFile:
        return self.inode

    def set_trigger(self, trigger: PressureTrigger) -> None:
        self.trigger = trigger
        self.inode.has_trigger = True

    @property
    def hears(self) -> bool:
        """True if an event wakes pollers of this open file. On a removed file, only a pressure trigger does."""
        return self.inode.alive or self.trigger is not None

    def poll(self) -> int:
        """The poll mask. An event since the last read is POLLERR and POLLPRI (kernfs_generic_poll)."""
        mask = POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM
        if not self.inode.alive:
            return mask | POLLERR | POLLPRI
        if self.inode.row.poll is not None:
            return mask | self.inode.row.poll(self)
        if self._event != self.inode.events:
            mask |= POLLERR | POLLPRI
        return mask
