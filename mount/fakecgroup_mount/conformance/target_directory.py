"""A directory as a target: a FUSE mount or a real cgroup root, through system calls.

The operations are done by real forked processes, so that credentials and "the writer itself" are real.  Changing
credentials (``as``) and moving other users' processes needs root.  At the end of a case everything below the directory
is removed.  So it must be a fake, or an empty cgroup that was made for this.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import mmap
import multiprocessing
import os
import re
import select
import signal
import stat
import struct
import threading
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from fakecgroup.conformance.case import (
    ALL_CAPABILITIES,
    Answer,
    Case,
    Op,
    arguments,
    bytes_data,
    poll_names,
    ready_text,
    stat_value,
)
from fakecgroup.conformance.stand_in import paths
from fakecgroup.conformance.target import UnsupportedError
from fakecgroup_mount.conformance.agent import Agent

_PATIENCE = 3.0  # seconds for one operation
_SETTLING = 0.2  # seconds for a process to stop running
_ENFORCING = 0.3  # seconds until a limit has acted
_CLOSED = 1 << 30  # no descriptor has this number
_NAMED = re.compile(rb"\$([A-Za-z0-9_]{1,31})")  # a process, a thread, a handle
_CAPABILITIES = struct.Struct("=IIIIII")  # two struct __user_cap_data_struct: effective, permitted, inheritable
_CAPABILITY_VERSION = 0x20080522
_LOW = 0xFFFFFFFF
_PR_SET_DUMPABLE = 4
_CLONE_NEWUSER = 0x10000000
_INOTIFY_EVENT = struct.Struct("=iIII")  # struct inotify_event: wd mask cookie len


_MOST = 1 << 20  # bytes that are copied at once


class DirectoryTarget:
    """``root`` is the layout's root; ``before`` and ``after`` run around each case (for instance to mount afresh)."""

    def __init__(
        self, root: str, before: Callable[[], None] | None = None, after: Callable[[], None] | None = None
    ) -> None:
        self._root = os.path.abspath(root)
        self._before = before
        self._after = after
        self._fork = multiprocessing.get_context("fork")
        self.pids: dict[int, str] = {}
        self._roots: list[_Root] = []
        self._changed: list[_Root] = []
        self._agent = Agent()

    def start(self, case: Case) -> None:
        if self._before is not None:
            self._before()
        if not self._roots:
            self._roots = [_Root(path) for path in self._kept()]
        self.pids = {}
        if any("$agent" in str(op) for op in case.ops):
            self._agent.make()
        self._changed = self._reached(case)
        self._connection, theirs = self._fork.Pipe()
        self._runner = os.fork()
        if self._runner == 0:
            self._connection.close()
            _Worker(self._root, theirs, self._agent).run()
        theirs.close()
        self.pids[self._runner] = "self"

    def _kept(self) -> list[str]:
        """The roots that are emptied and restored after each case that reaches them."""
        return roots_of(self._root)

    def _reached(self, case: Case) -> list[_Root]:
        """The hierarchies that a case names a path in. All of them if one may lead anywhere, or an agent is set."""
        named = {path for op in case.ops for path in paths(op)}
        if self._agent.made or any(path.startswith("/") or ".." in path for path in named):
            return self._roots
        places = {os.path.realpath(os.path.join(self._root, path.partition("/")[0])) for path in named}
        return [root for root in self._roots if root.path == self._root or os.path.realpath(root.path) in places]

    def do(self, op: Op) -> Answer:
        self._connection.send(op)
        if not self._connection.poll(2 * _PATIENCE):
            return ("BLOCKED", None)
        try:
            kind, value, pids = self._connection.recv()
        except EOFError:
            return ("KILLED", None)
        self.pids.update(pids)
        if kind == "unsupported":
            raise UnsupportedError(value)
        if kind == "failed":
            raise RuntimeError(value)
        return value  # type: ignore[no-any-return]

    def finish(self) -> None:
        self._connection.close()
        if self._agent.made:
            for root in self._roots:
                _put(os.path.join(root.path, "release_agent"), "\n")  # no agent for the cgroups that are emptied now
            self._agent.remove()
        for pid in reversed(self.pids):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._runner, 0)
        for root in self._changed:
            _remove_below(root.path)
            root.restore()
        if self._after is not None:
            self._after()


#: Words in the names of a root's files without a setting.
_NO_SETTING = tuple("procs threads tasks pressure reclaim usage failcnt io.cost oom_control devices.".split())


class _Root:
    """The state of a hierarchy's root before the first case, restored after each case."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._attributes: dict[str, tuple[int, int, int]] = {}
        self._contents: dict[str, str] = {}
        for name in [".", *os.listdir(path)]:
            full = os.path.join(path, name)
            found = os.lstat(full)
            self._attributes[full] = (stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid)
            setting = stat.S_IMODE(found.st_mode) & 0o600 == 0o600 and not any(word in name for word in _NO_SETTING)
            if stat.S_ISREG(found.st_mode) and (setting or name == "cgroup.pressure"):
                with contextlib.suppress(OSError):
                    self._contents[full] = _content(full)

    def restore(self) -> None:
        """Restores attributes and settings.  A value that cannot be restored stays, and shows in the next case."""
        enabled = os.path.join(self.path, "cgroup.subtree_control")
        if os.path.exists(enabled):
            for controller in _content(enabled).split():
                _put(enabled, f"-{controller}")
        for full, was in self._contents.items():
            if _content(full) != was:
                _put(full, was or "\n")
        for full, (mode, uid, gid) in self._attributes.items():
            found = os.lstat(full)
            if (found.st_uid, found.st_gid) != (uid, gid):
                os.chown(full, uid, gid)
            if stat.S_IMODE(found.st_mode) != mode:
                os.chmod(full, mode)
            for name in os.listxattr(full):
                if name.startswith("user."):
                    os.removexattr(full, name)


def _content(path: str) -> str:
    with open(path, encoding="latin-1") as file:
        return file.read()


def _put(path: str, text: str) -> None:
    with contextlib.suppress(OSError), open(path, "w", encoding="latin-1") as file:
        file.write(text)


def roots_of(root: str) -> list[str]:
    """The roots of the hierarchies below a layout's root: itself on v2, a directory for each on v1."""
    if os.path.exists(os.path.join(root, "cgroup.procs")):
        return [root]
    with os.scandir(root) as entries:
        return sorted(entry.path for entry in entries if entry.is_dir(follow_symlinks=False))


def _remove_below(root: str) -> None:
    """Removes every cgroup below a directory, for up to a second while processes leave it."""
    deadline = time.monotonic() + 1
    while True:
        left = False
        for _, directories, _, fd in os.fwalk(root, topdown=False):  # not by path: some are too long for a call
            for name in directories:
                try:
                    os.rmdir(name, dir_fd=fd)
                except FileNotFoundError:
                    pass
                except OSError as error:
                    left |= error.errno == errno.EBUSY
        if not left or time.monotonic() > deadline:
            return
        time.sleep(0.005)


class _StepError(Exception):
    """A composed operation failed at a step."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self.answer = answer


class _Worker:
    """A process that does operations: the runner, or a helper that it has forked."""

    def __init__(self, root: str, connection: Connection, agent: Agent) -> None:
        self._connection = connection
        self._root = root
        self._agent = agent
        self._names: dict[str, int] = {}
        self._helpers: dict[str, Connection] = {}
        self._late: dict[str, int] = {}  # helper -> number of late answers to skip
        self._handles: dict[str, int] = {}
        self._allocated: list[mmap.mmap] = []

    def run(self) -> None:
        """Serves until the connection is closed.  Never returns."""
        try:
            os.chdir(self._root)
            os.umask(0o022)
            self._names["self"] = os.getpid()
            while True:
                op = self._connection.recv()
                known = dict(self._names)
                try:
                    reply: tuple[str, Any] = ("answer", self._do(op))
                except UnsupportedError as reason:
                    reply = ("unsupported", str(reason))
                except Exception:
                    reply = ("failed", traceback.format_exc())
                fresh = {pid: name for name, pid in self._names.items() if known.get(name) != pid}
                self._connection.send((*reply, fresh))
        except (EOFError, OSError):
            pass
        finally:
            os._exit(0)

    def _do(self, op: Op) -> Answer:
        name = str(op[0])
        if name == "in":
            return self._in(str(op[1]), op[2:])
        method = getattr(self, f"_op_{name}", None)
        if method is None:
            raise UnsupportedError(name)
        try:
            return (None, method(*(value for _, value in arguments(op))))
        except _StepError as stopped:
            return stopped.answer
        except OSError as error:
            return (errno.errorcode[error.errno or errno.EIO], None)

    def _in(self, who: str, op: Op) -> Answer:
        connection = self._helpers.get(who)
        if connection is None:
            raise UnsupportedError("an operation in a process that another one forked")
        try:
            connection.send(op)
            if op[0] == "exit":
                self._until_dead(self._names[who])
                return (None, None)
            deadline = time.monotonic() + _PATIENCE
            while True:
                while not connection.poll(0.02):
                    if _state(self._names[who]) in ("Z", "gone"):
                        return ("KILLED", None)
                    if time.monotonic() > deadline:
                        self._late[who] = self._late.get(who, 0) + 1
                        return ("BLOCKED", None)
                kind, value, pids = connection.recv()
                if not self._late.get(who):
                    break
                self._late[who] -= 1
        except (EOFError, BrokenPipeError, ConnectionResetError):
            self._until_dead(self._names[who])  # its files are closed before
            return ("KILLED", None)
        self._names.update({name: pid for pid, name in pids.items()})
        if kind == "unsupported":
            raise UnsupportedError(value)
        if kind == "failed":
            raise RuntimeError(value)
        return value  # type: ignore[no-any-return]

    @staticmethod
    def _until_dead(pid: int) -> None:
        deadline = time.monotonic() + 0.5
        while _state(pid) not in ("Z", "gone") and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(0.003)

    # -- paths --------------------------------------------------------------------------------------

    def _op_mkdir(self, path: bytes, mode: int) -> None:
        os.mkdir(path, mode)

    def _op_rmdir(self, path: bytes) -> None:
        os.rmdir(path)

    def _op_unlink(self, path: bytes) -> None:
        _call("unlink", ctypes.c_char_p(path))

    def _op_rename(self, path: bytes, new: bytes, flags: int) -> None:
        _call("renameat2", -100, ctypes.c_char_p(path), -100, ctypes.c_char_p(new), flags)

    def _op_symlink(self, target: bytes, path: bytes) -> None:
        os.symlink(target, path)

    def _op_link(self, path: bytes, new: bytes) -> None:
        os.link(path, new)

    def _op_readlink(self, path: bytes) -> str:
        return bytes_data(os.readlink(path))

    def _op_mknod(self, path: bytes, mode: int, device: int) -> None:
        _call("mknod", ctypes.c_char_p(path), mode, ctypes.c_ulong(device))

    def _op_creat(self, path: bytes, mode: int) -> None:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, mode))

    def _op_truncate(self, path: bytes, size: int) -> None:
        _call("truncate", ctypes.c_char_p(path), ctypes.c_longlong(size))

    def _op_chmod(self, path: bytes, mode: int) -> None:
        os.chmod(path, mode)

    def _op_chown(self, path: bytes, uid: int, gid: int) -> None:
        _call("lchown", ctypes.c_char_p(path), ctypes.c_uint(uid & 0xFFFFFFFF), ctypes.c_uint(gid & 0xFFFFFFFF))

    def _op_utimens(self, path: bytes, atime: int, mtime: int) -> None:
        os.utime(path, (atime, mtime))

    def _op_mtime(self, path: bytes) -> int:
        return int(os.lstat(path).st_mtime)

    def _op_stat(self, path: bytes) -> dict[str, Any]:
        return _stat(os.lstat(path))

    def _op_statfs(self, path: bytes) -> dict[str, int]:
        raise UnsupportedError("the type of a FUSE file system is its own")

    def _op_access(self, path: bytes, mask: int) -> None:
        _call("access", ctypes.c_char_p(path), mask)

    def _op_listdir(self, path: bytes) -> list[str]:
        return sorted(self._names_in(path))

    def _op_listraw(self, path: bytes) -> list[str]:
        return [".", "..", *self._names_in(path)]

    @staticmethod
    def _names_in(path: bytes) -> list[str]:
        try:
            return [bytes_data(name) for name in os.listdir(path)]
        except OSError as error:
            raise _StepError((f"{errno.errorcode[error.errno or errno.EIO]}@open", None)) from None

    def _op_setxattr(self, path: bytes, name: bytes, value: bytes, flags: int) -> None:
        os.setxattr(path, name, value, flags, follow_symlinks=False)

    def _op_getxattr(self, path: bytes, name: bytes, size: int) -> Any:
        if 0 < size < 65536:
            buffer = ctypes.create_string_buffer(size)
            got = _call("lgetxattr", ctypes.c_char_p(path), ctypes.c_char_p(name), buffer, ctypes.c_size_t(size))
            return bytes_data(buffer.raw[:got])
        value = os.getxattr(path, name, follow_symlinks=False)
        return bytes_data(value) if size else len(value)

    def _op_listxattr(self, path: bytes) -> list[str]:
        return [bytes_data(os.fsencode(name)) for name in os.listxattr(path, follow_symlinks=False)]

    def _op_removexattr(self, path: bytes, name: bytes) -> None:
        os.removexattr(path, name, follow_symlinks=False)

    # -- open files ---------------------------------------------------------------------------------

    def _op_read(self, path: bytes) -> str:
        with _step("open"):
            fd = os.open(path, os.O_RDONLY)
        try:
            pieces = []
            with _step("read"):
                while piece := os.read(fd, 262144):
                    pieces.append(piece)
            return bytes_data(b"".join(pieces))
        finally:
            os.close(fd)

    def _op_until(self, path: bytes, text: bytes) -> str:
        deadline = time.monotonic() + 2
        while True:
            value = self._op_read(path)
            if text in value.encode("utf-8", "surrogateescape") or time.monotonic() > deadline:
                return value
            time.sleep(0.005)

    def _op_write(self, path: bytes, data: bytes) -> Any:
        with _step("open"):
            fd = os.open(path, os.O_WRONLY)
        try:
            text = self._expand(data)
            with _step("write"):
                taken = os.write(fd, text)
        except BaseException:
            with contextlib.suppress(OSError):
                os.close(fd)
            raise
        with _step("close"):
            os.close(fd)
        return None if taken == len(text) else taken

    def _expand(self, data: bytes) -> bytes:
        values: dict[str, object] = {**self._handles, "agent": self._agent.program, **self._names}

        def value(found: re.Match[bytes]) -> bytes:
            return str(values.get(found[1].decode(), found[0].decode())).encode()

        return _NAMED.sub(value, data)

    def _op_open(self, handle: str, path: bytes, flags: int, mode: int) -> None:
        self._keep(handle, os.open(path, flags, mode))

    def _keep(self, handle: str, fd: int) -> None:
        if handle in self._handles:
            os.close(self._handles[handle])
        self._handles[handle] = fd

    def _fd(self, handle: str) -> int:
        """The descriptor; a closed one for a handle that is not open, as some calls check other arguments first."""
        return self._handles.get(handle, _CLOSED)

    def _op_close(self, handle: str) -> None:
        os.close(self._handles.pop(handle, _CLOSED))

    def _op_fread(self, handle: str, size: int) -> str:
        return bytes_data(os.read(self._fd(handle), size))

    def _op_fpread(self, handle: str, size: int, offset: int) -> str:
        return bytes_data(os.pread(self._fd(handle), size, offset))

    def _op_fwrite(self, handle: str, data: bytes) -> Any:
        text = self._expand(data)
        taken = os.write(self._fd(handle), text)
        return None if taken == len(text) else taken

    def _op_fpwrite(self, handle: str, data: bytes, offset: int) -> Any:
        text = self._expand(data)
        taken = os.pwrite(self._fd(handle), text, offset)
        return None if taken == len(text) else taken

    def _op_lseek(self, handle: str, offset: int, whence: int) -> int:
        return os.lseek(self._fd(handle), offset, whence)

    def _op_ftruncate(self, handle: str, size: int) -> None:
        os.ftruncate(self._fd(handle), size)

    def _op_sendfile(self, handle: str, size: int, offset: int) -> str:
        copy = os.memfd_create("copy")
        try:
            os.sendfile(copy, self._fd(handle), None if offset < 0 else offset, size)
            return bytes_data(os.pread(copy, _MOST, 0))
        finally:
            os.close(copy)

    def _op_sendfile_to(self, handle: str, data: bytes) -> Any:
        text = self._expand(data)
        source = _in_memory(text)
        try:
            taken = os.sendfile(self._fd(handle), source, None, len(text))
        finally:
            os.close(source)
        return None if taken == len(text) else taken

    def _op_splice(self, handle: str, size: int, offset: int) -> str:
        ours, theirs = os.pipe()
        try:
            got = os.splice(self._fd(handle), theirs, size, None if offset < 0 else offset)
            return bytes_data(os.read(ours, _MOST)) if got else ""
        finally:
            os.close(ours)
            os.close(theirs)

    def _op_splice_to(self, handle: str, data: bytes, offset: int) -> Any:
        text = self._expand(data)
        ours, theirs = os.pipe()
        try:
            os.write(theirs, text)
            taken = os.splice(ours, self._fd(handle), len(text), None, None if offset < 0 else offset)
        finally:
            os.close(ours)
            os.close(theirs)
        return None if taken == len(text) else taken

    def _op_copy_range(self, handle: str, other: str, size: int) -> int:
        return os.copy_file_range(self._fd(handle), self._fd(other), size)

    def _op_copy_out(self, handle: str, size: int) -> str:
        copy = os.memfd_create("copy")
        try:
            os.copy_file_range(self._fd(handle), copy, size)
            return bytes_data(os.pread(copy, _MOST, 0))
        finally:
            os.close(copy)

    def _op_copy_in(self, handle: str, data: bytes) -> Any:
        text = self._expand(data)
        source = _in_memory(text)
        try:
            taken = os.copy_file_range(source, self._fd(handle), len(text))
        finally:
            os.close(source)
        return None if taken == len(text) else taken

    def _op_unshare(self) -> None:
        raise UnsupportedError("nothing is asked in a cgroup namespace of its own")

    def _op_fsync(self, handle: str) -> None:
        os.fsync(self._fd(handle))

    def _op_fstat(self, handle: str) -> dict[str, Any]:
        return _stat(os.fstat(self._fd(handle)))

    def _op_poll(self, handle: str, events: int) -> list[str]:
        if handle not in self._handles:
            return []  # poll(2) passes over a descriptor below 0
        poller = select.poll()
        poller.register(self._fd(handle), events)
        ready = poller.poll(0)
        return poll_names(ready[0][1] if ready else 0)

    def _op_epoll(self, handle: str) -> None:
        self._keep(handle, _call("epoll_create1", os.O_CLOEXEC))

    def _op_epoll_add(self, handle: str, watched: str, events: int) -> None:
        with select.epoll.fromfd(os.dup(self._fd(handle))) as epoll:
            epoll.register(self._fd(watched), events)

    def _op_ready(self, handle: str) -> list[str]:
        names = {fd: name for name, fd in self._handles.items()}
        with select.epoll.fromfd(os.dup(self._fd(handle))) as epoll:
            return sorted(ready_text(names[fd], bits) for fd, bits in epoll.poll(0))

    def _op_eventfd(self, handle: str) -> None:
        self._keep(handle, os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC))

    def _op_eventcount(self, handle: str) -> int:
        try:
            return os.eventfd_read(self._fd(handle))
        except BlockingIOError:
            return 0

    def _op_inotify(self, handle: str) -> None:
        self._keep(handle, _call("inotify_init1", os.O_NONBLOCK | os.O_CLOEXEC))

    def _op_watch(self, handle: str, path: bytes, mask: int) -> int:
        return _call("inotify_add_watch", self._fd(handle), ctypes.c_char_p(path), ctypes.c_uint(mask))

    def _op_events(self, handle: str) -> list[str]:
        found = []
        poller = select.poll()  # select(2) takes no descriptor from 1024 on
        poller.register(self._fd(handle), select.POLLIN)
        while poller.poll(60):
            data = os.read(self._fd(handle), 8192)
            while data:
                watch, mask, _, length = _INOTIFY_EVENT.unpack_from(data)
                end = _INOTIFY_EVENT.size + length
                name = data[_INOTIFY_EVENT.size : end].rstrip(b"\0")
                found.append(f"{watch} {mask} {bytes_data(name)}")
                data = data[end:]
        return found

    # -- who ----------------------------------------------------------------------------------------

    def _op_as(self, uid: int, gid: int) -> None:
        self._op_capabilities(ALL_CAPABILITIES, ALL_CAPABILITIES)
        os.setresuid(0, 0, 0)
        os.setgroups([])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, 0)

    def _op_capabilities(self, effective: int, permitted: int) -> None:
        """Leaves out capabilities that the kernel lacks or this thread is not permitted."""
        head = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
        found = ctypes.create_string_buffer(_CAPABILITIES.size)
        _call("capget", head, found)
        _, low, _, _, high, _ = _CAPABILITIES.unpack(found.raw)
        permitted &= low | high << 32
        effective &= permitted
        halves = (effective & _LOW, permitted & _LOW, 0, effective >> 32, permitted >> 32, 0)
        _call("capset", head, _CAPABILITIES.pack(*halves))

    def _op_user_namespace(self) -> None:
        uid, gid = os.geteuid(), os.getegid()
        _call("prctl", _PR_SET_DUMPABLE, 1)  # else /proc/self is not its own
        _call("unshare", _CLONE_NEWUSER)
        for file, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
            with open(f"/proc/self/{file}", "w") as opened:
                opened.write(text)

    def _op_umask(self, mask: int) -> int:
        return os.umask(mask)

    # -- processes ----------------------------------------------------------------------------------

    def _op_fork(self, name: str) -> None:
        ours, theirs = multiprocessing.Pipe()
        pid = os.fork()
        if pid == 0:
            ours.close()
            worker = _Worker(self._root, theirs, self._agent)
            worker._names, worker._handles = dict(self._names), dict(self._handles)
            worker.run()
        theirs.close()
        self._names[name] = pid
        self._helpers[name] = ours

    def _op_thread(self, name: str) -> None:
        ours, theirs = multiprocessing.Pipe()
        found: list[int] = []
        ready = threading.Event()

        def serve() -> None:
            found.append(threading.get_native_id())
            ready.set()
            with contextlib.suppress(EOFError, OSError):
                while True:
                    op = theirs.recv()
                    if op[0] == "exit":
                        return
                    theirs.send(("answer", self._do(op), {}))

        try:
            threading.Thread(target=serve, daemon=True).start()
        except RuntimeError:
            raise OSError(errno.EAGAIN, "thread") from None
        ready.wait(_PATIENCE)
        self._names[name] = found[0]
        self._helpers[name] = ours

    def _op_exit(self, code: int) -> None:
        os._exit(code)

    def _op_kill(self, name: str, number: int) -> None:
        pid = self._names[name]
        os.kill(pid, number)
        if number == signal.SIGKILL:
            self._until_dead(pid)

    def _op_wait(self, name: str) -> str:
        deadline = time.monotonic() + 1
        while True:
            pid, status = os.waitpid(self._names[name], os.WNOHANG)
            if pid:
                if os.WIFSIGNALED(status):
                    return f"signal {os.WTERMSIG(status)}"
                return f"exit {os.WEXITSTATUS(status)}"
            if time.monotonic() > deadline:
                raise _StepError(("BLOCKED", None))
            time.sleep(0.001)

    def _op_state(self, name: str) -> str:
        """A process that has answered, or was killed, may still be on its way to where it stays."""
        deadline = time.monotonic() + _SETTLING
        while (state := _state(self._names[name])) == "R" and time.monotonic() < deadline:
            time.sleep(0.001)
        return state

    def _op_alloc(self, size: int) -> None:
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        for at in range(0, size, 4096):
            memory[at] = 1
        self._allocated.append(memory)
        # a tree that enforces limits does so a little later than a kernel, and holds only who runs
        until = time.monotonic() + _ENFORCING
        self._read_usage()
        while time.monotonic() < until:
            self._read_usage()

    def _read_usage(self) -> None:
        """A tree counts memory when somebody reads."""
        for directory, _, _ in os.walk(self._root):
            for name in ("memory.current", "memory.usage_in_bytes"):
                with contextlib.suppress(FileNotFoundError), open(f"{directory}/{name}", "rb") as file:
                    file.read()

    def _op_releases(self, count: int, what: str) -> list[str]:
        return self._agent.runs(count, what)

    def _op_settle(self, milliseconds: int) -> None:
        time.sleep(milliseconds / 1000)


def _in_memory(text: bytes) -> int:
    """A descriptor for a file in memory, at its start."""
    source = os.memfd_create("copy")
    os.pwrite(source, text, 0)
    return source


class _step(contextlib.AbstractContextManager["_step"]):  # noqa: N801 (reads as a statement)
    """An errno inside says which step of a composed operation it came from."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            raise _StepError((f"{errno.errorcode[error.errno or errno.EIO]}@{self._name}", None)) from None


def _stat(found: os.stat_result) -> dict[str, Any]:
    return stat_value(
        found.st_mode, found.st_nlink, found.st_uid, found.st_gid, found.st_size, found.st_blksize, found.st_blocks
    )


def _state(pid: int) -> str:
    """The letter of a process or thread in /proc, or ``gone``."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return "gone"


_libc = ctypes.CDLL(None, use_errno=True)


def _call(name: str, *args: Any) -> int:
    """A call of the C library that Python does not have, or has with checks of its own."""
    result = int(getattr(_libc, name)(*args))
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result
