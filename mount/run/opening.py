"""open(2), openat(2), openat2(2): files of /proc that tell of cgroups are made anew; all else goes on."""

from __future__ import annotations

import os
import re
from errno import ENOENT
from struct import unpack

from ..pid_numbers import numbers_of
from . import syscalls
from .filter import When
from .listener import GOES, Answer, Call, Descriptor, Later
from .mount_files import NAMES as MOUNT_FILES
from .mount_files import MountFiles
from .proc_files import AbsentError, ProcFiles
from .process import descriptor, locate, own_proc, signed, thread_group
from .statfs import PROC_SUPER_MAGIC, statfs_type

_NAMES = frozenset((b"cgroup", b"cgroups", b"cpuset", b"mountinfo", b"mounts", b"filesystems", b"mtab", b"limits"))
_OF_PROCESS = re.compile(rb"/(self|thread-self|[0-9]+)(?:/task/([0-9]+))?/(cgroup|cpuset|mountinfo|mounts|limits)")
_OF_MACHINE = re.compile(rb"/(cgroups|filesystems|mounts)")
_NEVER = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_DIRECTORY  # with one of these it is none of them

TRAPPED = {
    "openat": When(2, 0, _NEVER),
    "open": When(1, 0, _NEVER),
    "openat2": None,
}


class Opening:
    """What is opened of `files` is a copy of the text as it is then, in memory; fstatfs(2) says it is of /proc. Only
    `mounts` can be polled, as in the kernel.
    """

    def __init__(self, files: ProcFiles, mounts: MountFiles) -> None:
        self._files = files
        self._mounts = mounts

    def open(self, call: Call) -> Answer | Later:
        return self._open(call, call.arguments[0], call.arguments[1], None)

    def openat(self, call: Call) -> Answer | Later:
        return self._open(call, call.arguments[1], call.arguments[2], call.arguments[0])

    def openat2(self, call: Call) -> Answer | Later:
        path = call.memory.read_text(call.tid, call.arguments[1])
        if path.rpartition(b"/")[2] not in _NAMES:
            return GOES
        (flags,) = unpack("=Q", call.memory.read(call.tid, call.arguments[2], 8))
        return self._open(call, call.arguments[1], flags, call.arguments[0])

    def _open(self, call: Call, address: int, flags: int, directory: int | None) -> Answer | Later:
        try:
            path = call.memory.read_text(call.tid, address)
        except OSError:
            return GOES
        if path.rpartition(b"/")[2] not in _NAMES or flags & _NEVER:
            return GOES
        fd = syscalls.AT_FDCWD if directory is None else signed(directory)
        return Later(lambda call: self._answer(call, fd, path, flags))

    def _answer(self, call: Call, fd: int, path: bytes, flags: int) -> Answer:
        try:
            found = self._find(call.tid, fd, path)
            if found is None or not call.waits():
                return GOES
            name, pid = found
            if pid and name in MOUNT_FILES:
                made = self._mounts.open(name, pid, flags)
            else:
                made = _in_memory(self._files.text(name, pid, call.tid))
        except AbsentError:
            return -ENOENT
        except (OSError, KeyError):
            return GOES
        return Descriptor(made, flags & os.O_CLOEXEC)

    def _find(self, tid: int, fd: int, path: bytes) -> tuple[bytes, int] | None:
        """The file's name and whose it is, 0 being the machine's; None for one that is not of /proc. Raises OSError."""
        if path == b"/etc/mtab":
            if not os.readlink(f"/proc/{tid}/root/etc/mtab").endswith("proc/self/mounts"):
                return None
            path = b"/proc/self/mounts"
        directory, _, name = path.rpartition(b"/")
        if not path.startswith(b"/"):
            directory = b"."
            path = os.fsencode(os.readlink(descriptor(tid, fd))) + b"/" + path
        path = os.path.normpath(path)
        if own_proc(tid, path) is None:  # /proc may be mounted elsewhere too
            held = locate(tid, fd, directory)
            try:
                if statfs_type(held) != PROC_SUPER_MAGIC:
                    return None
            finally:
                os.close(held)
        found = _OF_PROCESS.search(path)
        if found is not None and found.end() == len(path):
            return found[3], self._pid(tid, found[1], found[2])
        found = _OF_MACHINE.search(path)
        if found is None or found.end() != len(path):
            return None
        return name, thread_group(tid) if name == b"mounts" else 0

    def _pid(self, tid: int, process: bytes, thread: bytes | None) -> int:
        if process == b"thread-self":
            return tid
        if process == b"self" and thread is None:
            return thread_group(tid)
        number = numbers_of(tid).tid(int(thread or process))
        if not number:
            raise FileNotFoundError
        return number


def _in_memory(text: bytes) -> int:
    """A file with this text, open to read; an O_PATH descriptor cannot be given to another process this way."""
    fd = os.memfd_create("proc", os.MFD_CLOEXEC)
    os.write(fd, text)
    os.fchmod(fd, 0o444)
    try:
        return os.open(f"/proc/self/fd/{fd}", os.O_CLOEXEC | os.O_RDONLY)
    finally:
        os.close(fd)
