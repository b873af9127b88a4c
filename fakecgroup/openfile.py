"""An open interface file: reading through seq_file, writing whole values, polling."""

from __future__ import annotations

from collections.abc import Iterator
from errno import E2BIG, EBADF, EINVAL, ENODEV, EPERM
from itertools import islice
from os import O_ACCMODE, O_RDONLY, O_WRONLY
from select import POLLERR, POLLIN, POLLOUT, POLLPRI, POLLRDNORM, POLLWRNORM
from typing import TYPE_CHECKING

from .file_context import FileContext
from .parse.kstrto import kstrtos64, kstrtou64
from .refuse import refuse

if TYPE_CHECKING:
    from .caller import Caller
    from .cgroup_file import CgroupFile


class OpenFile(FileContext):
    """One open(2) of an interface file (the kernel's kernfs_open_file and its seq_file).

    The text is made when a read starts at 0 and kept for the reads that follow on, whatever their size;
    a read anywhere else makes it anew. Of a file with records (`cgroup.procs`), as many are made as a
    read asks for. Once the file is gone, what was already made can still be read, then it is ENODEV.
    """

    __slots__ = ("_buffer", "_event", "_index", "_read_pos", "flags", "inode")

    def __init__(self, inode: CgroupFile, flags: int, opener: Caller) -> None:
        self.inode = inode
        self.flags = flags
        self.opener = self.reader = opener
        delegates = flags & O_ACCMODE != O_RDONLY and inode.cgroup.hierarchy.nsdelegate
        self.namespace = opener.cgroup_root() if delegates else None
        self._buffer = b""
        self._index = 0
        self._read_pos = 0
        self._event = 0
        self.peak = None
        self.trigger = self.pidlist = False

    def read(self, offset: int, size: int, reader: Caller | None = None) -> bytes:
        """Up to `size` bytes from `offset` (fs/seq_file.c, seq_read_iter); by the opener where no other is named.

        Raises EBADF on a write-only file, EINVAL where the file has no reader or the offset is
        negative, ENODEV where it is gone.
        """
        if self.flags & O_ACCMODE == O_WRONLY:
            raise refuse(EBADF)
        if offset < 0:
            raise refuse(EINVAL)
        self.reader = reader or self.opener
        if offset == 0:
            self._index, self._buffer = 0, b""
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

    def _traverse(self, offset: int) -> None:
        """Makes the text anew up to `offset`."""
        self._index, self._buffer = 0, b""
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
                self._index, self._read_pos = 0, 0
                raise
        self._read_pos = offset

    def _records(self) -> Iterator[bytes]:
        """The records from where reading stands, each counted as it is made."""
        inode = self.inode
        if not inode.alive:
            raise refuse(ENODEV)
        row = inode.row
        if row.show_records is not None:
            for text in islice(row.show_records(inode.subject, self), self._index, None):
                self._index += 1
                self._event = inode.events
                yield text.encode("latin-1")
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
            yield text.encode("latin-1")

    def write(self, data: bytes, caller: Caller) -> int:
        """Gives the file one whole value; returns the bytes taken, all of them.

        The offset of a write does not matter to a cgroup file. Order of checks: E2BIG for more than the
        file takes, ENODEV for one that is gone, nothing at all for no bytes, EPERM in the root of one's own
        namespace if these delegate, EINVAL without a writer, then the parser and the file's own
        (fs/kernfs/file.c, kernfs_fop_write_iter; cgroup_file_write).
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
        return len(data)

    def set_trigger(self) -> None:
        self.trigger = self.inode.has_trigger = True

    @property
    def hears(self) -> bool:
        """Whether who polls it is woken by an event on the file: of one that is gone, only by a pressure trigger."""
        return self.inode.alive or self.trigger

    def poll(self) -> int:
        """The poll mask: an event since the last read is POLLERR and POLLPRI (kernfs_generic_poll)."""
        mask = POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM
        if not self.inode.alive:
            return mask | POLLERR | POLLPRI
        if self.inode.row.poll is not None:
            return mask | self.inode.row.poll(self)
        if self._event != self.inode.events:
            mask |= POLLERR | POLLPRI
        return mask
