"""open(2), openat(2), openat2(2): a file of /proc that tells of cgroups, mounts or limits is made anew."""

from __future__ import annotations

import os
import stat
from errno import EACCES, ENOENT
from struct import Struct

from fakecgroup.late_pattern import pattern
from fakecgroup_mount.calls.caller_credentials import open_for, with_credentials_of
from fakecgroup_mount.calls.machine_files import MachineFiles
from fakecgroup_mount.calls.mountinfo_files import NAMES as MOUNT_FILES
from fakecgroup_mount.calls.mountinfo_files import MountinfoFiles
from fakecgroup_mount.calls.path_lookup import lookup, lookup_within
from fakecgroup_mount.calls.pressure_files import RESOURCES
from fakecgroup_mount.calls.proc_files import AbsentError, ProcFiles
from fakecgroup_mount.calls.simulated_files import SimulatedFiles
from fakecgroup_mount.calls.table import WRITES_OR_DIRECTORY
from fakecgroup_mount.host.pid_namespaces import pid_namespace_of_proc
from fakecgroup_mount.seccomp import syscalls
from fakecgroup_mount.seccomp.listener import CONTINUE, Answer, Call, Descriptor, Later
from fakecgroup_mount.seccomp.process import PROC_SUPER_MAGIC, signed, statfs_type, thread_group

_NAMES = frozenset(
    (b"cgroup", b"cgroups", b"cpuset", b"mountinfo", b"mounts", b"mountstats", b"filesystems", b"mtab", b"limits")
)
_OF_PROCESS = pattern(rb"/([0-9]+)(?:/task/([0-9]+))?/(cgroup|cpuset|mountinfo|mounts|mountstats|limits|status)$")
_OWNERS = frozenset((b"mountstats",))  # files that not everybody may read: mode 0400
_OF_MACHINE = pattern(
    rb"/(cgroups|filesystems|pressure/(?:cpu|memory|io)|meminfo|vmstat|swaps|cpuinfo|uptime|(?<=/proc/)stat)$"
)
_PROCESS_STAT = pattern(rb"/proc/(?:[0-9]+|self|thread-self)/(?:task/[0-9]+/)?stat$")
_REFUSED = os.O_DIRECT  # /proc refuses it
_FLAGS = (1 << 23) - 1  # all flags of open(2)
_WITH_PATH = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_RESOLVE = 0x1F  # the flags of openat2(2) for path lookup; RESOLVE_CACHED changes nothing here
_RESOLVE_CACHED = 0x20
_HOW = Struct("=QQQ")  # struct open_how: flags, mode, resolve
_PAGE = 4096
_MOST_TEXT = 64 << 10  # bytes
_MOST_LINKS = 40  # MAXSYMLINKS


class OpenCalls:
    """Opens a copy of a file's text at that moment, in memory. fstatfs(2) says that it is on procfs.

    Only mountinfo and mounts can be polled, as in the kernel; they are `mounts`. They and the files of the stated
    `machine` are made anew when they are read from the start again.
    """

    def __init__(
        self, files: ProcFiles, mounts: MountinfoFiles, simulated: SimulatedFiles, machine: MachineFiles
    ) -> None:
        self._machine = machine
        self._names = frozenset((*_NAMES, *RESOURCES, *machine.names, b"meminfo"))
        self._simulated = simulated
        self._files = files
        self._mounts = mounts

    def open(self, call: Call) -> Answer | Later:
        """open(2)."""
        return self._open(call, call.arguments[0], call.arguments[1], None)

    def openat(self, call: Call) -> Answer | Later:
        """openat(2)."""
        return self._open(call, call.arguments[1], call.arguments[2], call.arguments[0])

    def openat2(self, call: Call) -> Answer | Later:
        """openat2(2). The kernel itself refuses wrong arguments (build_open_flags)."""
        path = call.memory.read_text(call.tid, call.arguments[1])
        if not self._may_be_ours(path):
            return CONTINUE
        size = call.arguments[3]
        if not _HOW.size <= size <= _PAGE:
            return CONTINUE
        how = call.memory.read(call.tid, call.arguments[2], size)
        flags, mode, resolve = _HOW.unpack_from(how)
        if any(how[_HOW.size :]) or mode or flags & ~_FLAGS or resolve & ~(_RESOLVE | _RESOLVE_CACHED):
            return CONTINUE
        if flags & os.O_PATH and flags & ~_WITH_PATH:
            return CONTINUE
        return self._open(call, call.arguments[1], flags, call.arguments[0], resolve & _RESOLVE)

    def _open(self, call: Call, address: int, flags: int, directory: int | None, resolve: int = 0) -> Answer | Later:
        try:
            path = call.memory.read_text(call.tid, address)
        except OSError:
            return CONTINUE
        if path.rpartition(b"/")[2] not in self._names and not self._simulated.begun:  # nearly all
            return CONTINUE
        if self._simulated.may_be_opened(path):
            fd = syscalls.AT_FDCWD if directory is None else signed(directory)
            return Later(lambda call: self._answer_simulated(call, fd, path, flags, resolve))
        if not self._may_be_ours(path) or flags & (WRITES_OR_DIRECTORY | _REFUSED):
            return CONTINUE
        fd = syscalls.AT_FDCWD if directory is None else signed(directory)
        return Later(lambda call: self._answer(call, fd, path, flags, resolve))

    def _may_be_ours(self, path: bytes) -> bool:
        name = path.rpartition(b"/")[2]
        if name in self._machine.names:
            return name != b"stat" or _PROCESS_STAT().search(path) is None
        return name in _NAMES or (name == b"meminfo" and self._simulated.begun)

    def _answer_simulated(self, call: Call, fd: int, path: bytes, flags: int, resolve: int) -> Answer:
        """For the directory or a file of a simulated process, or a file of its machine's pressure."""
        machines = None
        try:
            found = self._simulated.find_any(call.tid, fd, path)
            if found is None:
                machines = _find(call.tid, fd, path, resolve, follow=not flags & os.O_NOFOLLOW)
            elif flags & os.O_ACCMODE and found[0] and not self._simulated.allows(call.tid, found[0], os.W_OK):
                return -EACCES
        except OSError:
            return CONTINUE
        if found is not None:
            name = found[0] + (b"/" if path.endswith(b"/") else b"")
            return Descriptor(self._mounts.open_of_task(name, found[1], flags), flags & os.O_CLOEXEC)
        if machines is None or machines[1] or not machines[0].startswith(b"pressure/"):
            return CONTINUE
        resource = machines[0].rpartition(b"/")[2]
        return Descriptor(self._mounts.open_pressure(resource, call.tid, flags), flags & os.O_CLOEXEC)

    def _answer(self, call: Call, fd: int, path: bytes, flags: int, resolve: int) -> Answer:
        try:
            found = _find(call.tid, fd, path, resolve, follow=not flags & os.O_NOFOLLOW)
            if found is None or not call.waits():
                return CONTINUE
            name, pid = found
            if not pid and name in self._machine.names:
                return Descriptor(self._of_machine(name, flags), flags & os.O_CLOEXEC)
            if not pid and name == b"meminfo":
                if not self._simulated.begun:
                    return CONTINUE
                return Descriptor(_in_memory(self._simulated.meminfo(), flags), flags & os.O_CLOEXEC)
            if name == b"status":
                if name not in self._machine.names:
                    return CONTINUE
                status = self._machine.status(pid, _read_for(call.tid, fd, path))
                return Descriptor(_in_memory(status, flags), flags & os.O_CLOEXEC)
            if name in _OWNERS:
                os.close(with_credentials_of(call.tid, lambda _: os.open(b"/proc/%d/%s" % (pid, name), os.O_RDONLY)))
            if pid and name in MOUNT_FILES:
                made = self._mounts.open(name, pid, flags)
            else:
                made = _in_memory(self._files.text(name, pid, call.tid), flags)
        except AbsentError:
            return -ENOENT
        except (OSError, KeyError):
            return CONTINUE
        return Descriptor(made, flags & os.O_CLOEXEC)

    def _of_machine(self, name: bytes, flags: int) -> int:
        """A descriptor of a file of the stated machine. Raises OSError."""
        if name in self._machine.once:
            return _in_memory(self._machine.once[name](), flags)
        return self._mounts.open_of_machine(name, flags)


def _find(tid: int, fd: int, path: bytes, resolve: int, *, follow: bool) -> tuple[bytes, int] | None:
    """The name of a file of /proc and its pid, 0 for the machine; None for any other file. Raises OSError."""
    if resolve:
        return _known(tid, fd, lookup_within(tid, fd, path, resolve), path)
    for _ in range(_MOST_LINKS):
        held = lookup(tid, fd, path, follow=False)
        if not stat.S_ISLNK(os.fstat(held).st_mode):
            return _known(tid, fd, held, path)
        try:  # a link such as /proc/mounts or /etc/mtab; the kernel would lead it to the daemon's own part of /proc
            target = os.readlink(b"", dir_fd=held)
        finally:
            os.close(held)
        if not follow:
            return None
        path = os.path.join(os.path.dirname(path), target)
    return None


def _known(tid: int, fd: int, held: int, path: bytes) -> tuple[bytes, int] | None:
    """Does what `_find` does, for the O_PATH descriptor `held` that `path` has led to. Closes it."""
    try:
        if statfs_type(held) != PROC_SUPER_MAGIC:
            return None
        real = os.readlink(b"/proc/self/fd/%d" % held)
        ours = os.fstat(held).st_dev == os.stat("/proc").st_dev
    finally:
        os.close(held)
    found = _OF_PROCESS().search(real)
    if found is None:
        found = _OF_MACHINE().search(real)
        return found and (found[1], 0)
    number = int(found[2] or found[1])
    if not ours:
        proc = lookup(tid, fd, os.path.join(os.path.dirname(path), b"../../.." if found[2] else b".."))
        try:
            number = pid_namespace_of_proc(f"/proc/self/fd/{proc}", tid).tid(number)
        finally:
            os.close(proc)
        if not number:
            raise FileNotFoundError
    elif int(found[1]) == os.getpid() and found[1] not in path:  # by a link to /proc/self
        number = tid if found[2] else thread_group(tid)
    return found[3], number


def _read_for(tid: int, fd: int, path: bytes) -> bytes:
    """The text of a short file of /proc as a thread would read it. Raises OSError."""
    held = lookup(tid, fd, path)
    try:
        opened = open_for(tid, held)
    finally:
        os.close(held)
    try:
        return os.read(opened, _MOST_TEXT)
    finally:
        os.close(opened)


def _in_memory(text: bytes, flags: int) -> int:
    """A descriptor to read this text. An O_PATH descriptor could not be handed to another process."""
    fd = os.memfd_create("proc", os.MFD_CLOEXEC)
    os.write(fd, text)
    os.fchmod(fd, 0o444)
    try:
        return os.open(f"/proc/self/fd/{fd}", os.O_CLOEXEC | os.O_RDONLY | flags & os.O_NONBLOCK)
    finally:
        os.close(fd)
