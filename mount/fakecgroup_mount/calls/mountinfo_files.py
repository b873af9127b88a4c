"""/proc/PID/mountinfo and /proc/PID/mounts as files that can be polled for changes (fs/proc_namespace.c, mounts_poll).

A FUSE file system of their own has them as PID/mountinfo and PID/mounts, and in its root files of /proc whose text is
made anew when they are read from the start again. The directory of a simulated process has what /proc/PID has of it.
The file system is mounted nowhere, so nobody finds it.
"""

from __future__ import annotations

import os
import select
from collections.abc import Callable, Mapping
from errno import EACCES, EINVAL, ENOENT, ENOSYS, ESRCH
from functools import partial
from select import POLLERR, POLLIN, POLLPRI, POLLRDNORM

from fakecgroup.core.cgroup_file import CgroupFile
from fakecgroup.refuse import refuse
from fakecgroup.tasks.joined_processes import is_simulated
from fakecgroup_mount.calls import small_fuse
from fakecgroup_mount.calls.fuse_opener import FuseOpener
from fakecgroup_mount.calls.pressure_files import RESOURCES, PressureFile
from fakecgroup_mount.calls.simulated_files import NAMES_OF_TASK, WRITABLE, SimulatedFiles
from fakecgroup_mount.fuse import wire
from fakecgroup_mount.fuse.splicing import READABLE_SIZE, inval_attributes, notify
from fakecgroup_mount.seccomp.process import identity

Show = Callable[[bytes, int], bytes]
"""Makes a file's text from the machine's mountinfo, for the thread that reads it."""

NAMES = (b"mountinfo", b"mounts")
_BUFFER = 64 << 10
_PAGE, _NAME_MAX = 4096, 255  # as procfs has them in statfs(2)
_DIRECTORY, _FILE = 0o040555, 0o100444
_FOR_A_DAY = 86400  # seconds; a directory is there for every pid, so it may be cached
_OPEN_FLAGS = wire.FOPEN_DIRECT_IO | wire.FOPEN_NOFLUSH
_CHANGED = POLLERR | POLLPRI


class _Open:
    """An open file. `real` is the machine's mountinfo, which reports changes. `waiting` is FUSE's handle of a poll."""

    def __init__(self, pid: int, show: Show) -> None:
        self.real = os.open(f"/proc/{pid}/mountinfo", os.O_RDONLY | os.O_CLOEXEC)
        self._show = show
        self._text = b""
        self.changed = False
        self.waiting: int | None = None

    def read(self, offset: int, size: int, reader: int) -> bytes:
        if offset == 0:
            os.lseek(self.real, 0, os.SEEK_SET)
            info = b""
            while more := os.read(self.real, _BUFFER):
                info += more
            self._text = self._show(info, reader)
        return self._text[offset : offset + size]

    def poll(self) -> int:
        """The poll mask. A change is reported once."""
        mask = POLLIN | POLLRDNORM | (_CHANGED if self.changed else 0)
        self.changed = False
        return mask


class _OpenText:
    """An open file in the root, or of a simulated process, whose name and pid `of` has."""

    of: tuple[bytes, int] = b"", 0

    def __init__(self, make: Callable[[], bytes]) -> None:
        self._make = make
        self._text = b""

    def read(self, offset: int, size: int, reader: int) -> bytes:
        if offset == 0:
            self._text = self._make()
        return self._text[offset : offset + size]

    def poll(self) -> int:
        return POLLIN | POLLRDNORM


class MountinfoFiles:
    """Serves the file system of the descriptor `fuse` of /dev/fuse.

    `root` is a descriptor of its root, `device` its device number ("0:42"). `shows` makes each file's text, by name,
    `texts` that of each file in the root. `text_of_task` makes that of a simulated process's file, by name and pid, for
    the thread that reads it; `simulated` knows of these processes.
    """

    def __init__(
        self,
        fuse: int,
        root: int,
        device: str,
        shows: Mapping[bytes, Show],
        texts: Mapping[bytes, Callable[[], bytes]],
        simulated: SimulatedFiles,
        text_of_task: Callable[[bytes, int, int], bytes],
    ) -> None:
        self._simulated = simulated
        self._text_of_task = text_of_task
        self._texts = dict(texts)
        self._number = os.makedev(*map(int, device.split(":")))
        self._fuse = fuse
        self._opener = FuseOpener(root)
        self._shows = [shows[name] for name in NAMES]
        self._open: dict[int, _Open | _OpenText | PressureFile] = {}
        self._watched: dict[int, _Open] = {}  # by the descriptor of the machine's file
        self._next = 1
        self._poller = select.poll()

    def has(self, path: str) -> bool:
        """Whether what is at a path of the daemon's is one of the files. Raises OSError."""
        return identity(path)[0] == self._number

    def open(self, name: bytes, pid: int, flags: int) -> int:
        """A new descriptor of a process's file. Raises OSError. The thread that serves must not call this."""
        return self._opener.open(b"%d/%s" % (pid, name), os.O_CLOEXEC | flags & os.O_NONBLOCK)

    def open_of_machine(self, name: bytes, flags: int) -> int:
        """A new descriptor of a file in the root. Raises OSError. The thread that serves must not call this."""
        return self._opener.open(name, os.O_CLOEXEC | flags & os.O_NONBLOCK)

    def open_of_task(self, name: bytes, pid: int, flags: int) -> int:
        """A new descriptor of a simulated process's directory, without a name, or of a file in it. Raises OSError. The
        thread that serves must not call this.
        """
        return self._opener.open(b"%d/%s" % (pid, name), os.O_CLOEXEC | flags & _KEPT)

    def open_pressure(self, resource: bytes, tid: int, flags: int) -> int:
        """A new descriptor of /proc/pressure/RESOURCE for a thread. Raises OSError. The thread that serves must not
        call this.
        """
        return self._opener.open(b"%d/%s" % (tid, resource), os.O_CLOEXEC | flags & _KEPT)

    def tell(self, file: CgroupFile) -> None:
        """Wakes the threads that poll a file of /proc/pressure which stands for this one."""
        for opened in list(self._open.values()):
            if isinstance(opened, PressureFile) and opened.is_of(file):
                self._wake(opened)

    def serve(self) -> None:
        """Answers requests until the file system ends."""
        buffer = bytearray(_BUFFER + 4096)
        self._poller.register(self._fuse, POLLIN)
        while True:
            ready = {fd for fd, _ in self._poller.poll()}
            for fd in ready - {self._fuse}:
                self._change(self._watched[fd])
            if self._fuse not in ready:
                continue
            size = small_fuse.received(self._fuse, buffer)
            if size is None:
                return
            if not size:
                continue
            _, opcode, unique, node, _, _, tid, _, _ = wire.IN_HEADER.unpack_from(buffer)
            answer = partial(self._answer, opcode, unique, node, tid, buffer, size)
            small_fuse.send(self._fuse, small_fuse.reply_of(answer, opcode, unique, node))

    def _change(self, file: _Open) -> None:
        """Wakes the threads that poll the file. They poll again."""
        file.changed = True
        self._wake(file)

    def _wake(self, file: _Open | PressureFile) -> None:
        waiting, file.waiting = file.waiting, None
        if waiting is not None:
            small_fuse.send(
                self._fuse, wire.NOTIFY_POLL_OUT.pack(wire.NOTIFY_POLL_OUT.size, wire.NOTIFY_POLL, 0, waiting)
            )

    def _answer(self, opcode: int, unique: int, node: int, tid: int, buffer: bytearray, size: int) -> bytes:
        """The reply to a request, empty for none. `_STRIDE` says what a node is."""
        if opcode == wire.LOOKUP:
            return self._lookup(unique, node, bytes(buffer[wire.IN_SIZE : size - 1]))
        if opcode == wire.GETATTR:
            by_handle = wire.GETATTR_IN.unpack_from(buffer, wire.IN_SIZE)[0] & wire.GETATTR_FH  # lseek(2) with SEEK_END
            if node % _STRIDE > 1 and not by_handle:
                notify(self._fuse, inval_attributes(node))
            return wire.ATTR_OUT.pack(wire.ATTR_OUT.size, 0, unique, 0, 0, 0, *_attributes(node, 0))
        if opcode == wire.OPEN:
            handle, self._next = self._next, self._next + 1
            pid, number = divmod(node, _STRIDE)
            if pid >= _IN_ROOT:
                self._open[handle] = _OpenText(list(self._texts.values())[pid - _IN_ROOT])
            elif number >= _PRESSURE:
                self._open[handle] = self._simulated.open_pressure(RESOURCES[number - _PRESSURE], pid)
            elif number >= _FIRST_OF_TASK:
                self._open[handle] = self._open_of_task(_OF_TASK[number - _FIRST_OF_TASK], pid, tid, buffer)
            else:
                file = self._open[handle] = _Open(pid, self._shows[number - 2])
                self._watched[file.real] = file
                self._poller.register(file.real, POLLPRI)
            return wire.OPEN_OUT.pack(
                wire.OPEN_OUT.size, 0, unique, handle, wire.FOPEN_DIRECT_IO | wire.FOPEN_NOFLUSH, 0
            )
        if opcode == wire.READ:
            handle, offset, length, *_ = wire.READ_IN.unpack_from(buffer, wire.IN_SIZE)
            data = self._open[handle].read(offset, length, tid)
            return wire.OUT_HEADER.pack(wire.OUT_SIZE + len(data), 0, unique) + data
        if opcode == wire.WRITE:
            handle, _, length, *_ = wire.WRITE_IN.unpack_from(buffer, wire.IN_SIZE)
            written = self._open[handle]
            begin = wire.IN_SIZE + wire.WRITE_IN.size
            data = bytes(buffer[begin : begin + length])
            if isinstance(written, PressureFile):
                written.write(data)
            elif isinstance(written, _OpenText) and written.of[0] == WRITABLE:
                length = self._simulated.write(tid, written.of[1], data)
            else:
                raise refuse(EINVAL)  # there is no writer (vfs_write)
            return wire.WRITE_OUT.pack(wire.WRITE_OUT.size, 0, unique, length, 0)
        if opcode == wire.RELEASEDIR:
            return wire.OUT_HEADER.pack(wire.OUT_SIZE, 0, unique)
        if opcode == wire.OPENDIR:
            return wire.OPEN_OUT.pack(wire.OPEN_OUT.size, 0, unique, 0, 0, 0)
        if opcode == wire.READDIR:
            return self._list(unique, node, *wire.READ_IN.unpack_from(buffer, wire.IN_SIZE)[1:3])
        if opcode == wire.SETATTR:  # O_TRUNC
            return wire.ATTR_OUT.pack(wire.ATTR_OUT.size, 0, unique, 0, 0, 0, *_attributes(node, 0))
        if opcode == wire.POLL:
            handle, waiting, flags, _ = wire.POLL_IN.unpack_from(buffer, wire.IN_SIZE)
            polled = self._open[handle]
            if flags & wire.POLL_SCHEDULE_NOTIFY and not isinstance(polled, _OpenText):
                polled.waiting = waiting
            return wire.POLL_OUT.pack(wire.POLL_OUT.size, 0, unique, polled.poll(), 0)
        if opcode == wire.RELEASE:
            closed = self._open.pop(wire.RELEASE_IN.unpack_from(buffer, wire.IN_SIZE)[0])
            if isinstance(closed, _Open):
                self._poller.unregister(closed.real)
                del self._watched[closed.real]
                os.close(closed.real)
            return wire.OUT_HEADER.pack(wire.OUT_SIZE, 0, unique)
        if opcode == wire.STATFS:
            return wire.STATFS_OUT.pack(wire.STATFS_OUT.size, 0, unique, 0, 0, 0, 0, 0, _PAGE, _NAME_MAX, 0, 0)
        if opcode == wire.INIT:
            _, _, readahead, _ = wire.INIT_IN.unpack_from(buffer, wire.IN_SIZE)
            return wire.INIT_OUT.pack(
                *(wire.INIT_OUT.size, 0, unique, wire.VERSION, wire.MINOR, readahead, 0, 0, 0, _BUFFER, 1, 0, 0, 0)
            )
        if opcode in (wire.FORGET, wire.BATCH_FORGET, wire.INTERRUPT):
            return b""
        return wire.OUT_HEADER.pack(wire.OUT_SIZE, -ENOSYS, unique)

    def _open_of_task(self, name: bytes, pid: int, tid: int, buffer: bytearray) -> _OpenText:
        flags = wire.OPEN_IN.unpack_from(buffer, wire.IN_SIZE)[0]
        if flags & os.O_ACCMODE and not self._simulated.allows(tid, name, os.W_OK):
            raise refuse(EACCES)
        opened = _OpenText(lambda: self._text_while_it_lives(name, pid, tid))
        opened.of = name, pid
        return opened

    def _text_while_it_lives(self, name: bytes, pid: int, tid: int) -> bytes:
        try:
            return self._text_of_task(name, pid, tid)
        except FileNotFoundError:
            raise refuse(ESRCH) from None

    def _list(self, unique: int, node: int, offset: int, size: int) -> bytes:
        """The entries of a simulated process's directory from an offset on, as many as there is room for."""
        pid, number = divmod(node, _STRIDE)
        entries: list[tuple[bytes, int]] = []
        if pid not in self._simulated.pids:
            pass  # it has ended
        elif number == _TASKS:
            entries = [(b"%d" % pid, pid * _STRIDE + _THREAD)]
        else:
            entries = [(name, pid * _STRIDE + _FIRST_OF_TASK + at) for at, name in enumerate(_OF_TASK)]
            entries += [(b"task", pid * _STRIDE + _TASKS)] if number == 0 else []
        data = b""
        for at, (name, found) in enumerate(entries[offset:], offset + 1):
            kind = _attributes(found, 0)[_MODE] >> 12
            entry = wire.DIRENT.pack(found, at, len(name), kind) + name
            entry = entry.ljust(-(-len(entry) // 8) * 8, b"\0")
            if len(data) + len(entry) > size:
                break
            data += entry
        return wire.OUT_HEADER.pack(wire.OUT_SIZE + len(data), 0, unique) + data

    def _lookup(self, unique: int, node: int, name: bytes) -> bytes:
        if node == wire.ROOT_ID and name.isdigit():
            found, valid = int(name) * _STRIDE, _FOR_A_DAY
        elif node == wire.ROOT_ID and name in self._texts:
            found, valid = (_IN_ROOT + list(self._texts).index(name)) * _STRIDE + 2, 0
        elif is_simulated(node // _STRIDE):
            found, valid = self._of_task(node, name), 0
        elif name in NAMES:
            found, valid = node + 2 + NAMES.index(name), 0
        elif name in RESOURCES:
            found, valid = node + _PRESSURE + RESOURCES.index(name), 0
        else:
            found, valid = 0, 0
        if not found:
            return wire.OUT_HEADER.pack(wire.OUT_SIZE, -ENOENT, unique)
        attributes = _attributes(found, READABLE_SIZE)
        return wire.ENTRY_OUT.pack(wire.ENTRY_OUT.size, 0, unique, found, 0, valid, 0, 0, 0, *attributes)

    def _of_task(self, node: int, name: bytes) -> int:
        """The node of a name in a simulated process's directory; 0 without one. Raises ESRCH: the process has ended."""
        pid, number = divmod(node, _STRIDE)
        if pid not in self._simulated.pids:
            raise refuse(ESRCH)
        if number == _TASKS:
            return pid * _STRIDE + _THREAD if name == b"%d" % pid else 0
        if name in _OF_TASK:
            return pid * _STRIDE + _FIRST_OF_TASK + _OF_TASK.index(name)
        return pid * _STRIDE + _TASKS if name == b"task" and number == 0 else 0


_STRIDE = 32  # node = pid * 32 + a number: 0 for its directory, 2 and 3 for its mount files; node 1 is the root
_TASKS, _THREAD, _FIRST_OF_TASK = 4, 5, 6  # of a simulated process: the directories task and task/PID, its files
_PRESSURE = 20  # and up: for a thread, files of /proc/pressure
_OF_TASK = tuple(sorted(NAMES_OF_TASK))
_KEPT = os.O_ACCMODE | os.O_NONBLOCK | os.O_DIRECTORY | os.O_TRUNC | os.O_APPEND
_MODE = 9  # where it is in `_attributes`
_IN_ROOT = 1 << 32  # what files in the root have as their pid


def _attributes(node: int, size: int) -> tuple[int, ...]:
    """The fields of a struct fuse_attr."""
    number = node % _STRIDE
    directory = node == wire.ROOT_ID or number in (0, _TASKS, _THREAD)
    mode, links = (_DIRECTORY, 2) if directory else (_FILE, 1)
    if number >= _PRESSURE:
        mode |= 0o222
    elif number >= _FIRST_OF_TASK and _OF_TASK[number - _FIRST_OF_TASK] == WRITABLE:
        mode |= 0o200
    return (node, 0 if directory else size, 0, 0, 0, 0, 0, 0, 0, mode, links, 0, 0, 0, 1024, 0)
