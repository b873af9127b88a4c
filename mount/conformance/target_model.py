"""Runs a case on the model in this process: what the system call layer above kernfs would add is added here.

Processes exist only in the model's own table; memory is not allocated and signals other than KILL do nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from errno import EBADF, EINVAL, EISDIR, ENODEV, ENOENT, ENXIO, ERANGE, ESPIPE, EXDEV
from errno import errorcode as errno_names
from typing import Any

from fakecgroup import Caller, Kernel, OpenFile, ProcessTable
from fakecgroup.core.dfl import frozen
from fakecgroup.inode import Inode, Stat
from fakecgroup.vfs import MAX_NON_LFS

from .case import Answer, Case, Op, arguments, poll_names, stat_value
from .normalise import Normaliser
from .target import Unsupported

_NODES = 2
_CPUS = 4
_MEMORY = 1 << 30


@dataclass
class _Handle:
    """An open file description: position, and what is open."""

    inode: Inode
    flags: int
    file: OpenFile | None
    position: int = 0


@dataclass
class _Actor:
    """A process or thread that does operations."""

    tid: int
    uid: int = 0
    gid: int = 0
    umask: int = 0o022
    handles: dict[str, _Handle] = field(default_factory=dict)

    @property
    def caller(self) -> Caller:
        return Caller(self.uid, self.gid, self.tid)


class _StepError(Exception):
    """An error in one of the system calls behind an operation."""

    def __init__(self, error: OSError, step: str) -> None:
        self.answer: Answer = (errno_names.get(error.errno or 0, str(error.errno)) + step, None)


class ModelTarget:
    """The model of one kernel and layout; every case gets a fresh tree."""

    def __init__(self, layout: str, version: str) -> None:
        self._layout = layout
        self._version = version

    def run(self, case: Case) -> list[Answer]:
        """The normalised answers to the operations of a case."""
        kernel = Kernel(self._layout, self._version, cpus=_CPUS, numa_nodes=_NODES, memory=_MEMORY)
        return _Run(kernel).answers(case)


class _Run:
    def __init__(self, kernel: Kernel) -> None:
        assert isinstance(kernel.processes, ProcessTable)
        self.kernel = kernel
        self.vfs = kernel.vfs
        self.table = kernel.processes
        self.actors = {"self": _Actor(self.table.add())}
        self.statuses: dict[str, str] = {}
        self.actor = self.actors["self"]

    def answers(self, case: Case) -> list[Answer]:
        pids: dict[int, str] = {self.actor.tid: "self"}
        normalise = Normaliser(pids)
        answers = []
        for op in case.ops:
            answer = self.answer(op)
            pids.update({actor.tid: name for name, actor in self.actors.items()})
            answers.append(normalise(op, answer))
        return answers

    def answer(self, op: Op) -> Answer:
        """What one operation comes to. Raises Unsupported for one that a model has not."""
        method: Callable[..., Any] | None = getattr(self, "do_" + str(op[0]), None)
        if method is None:
            raise Unsupported(str(op[0]))
        values = [self._decode(kind, value) for kind, value in arguments(op)]
        try:
            return None, method(*values)
        except _StepError as step:
            return step.answer
        except OSError as error:
            return errno_names.get(error.errno or 0, str(error.errno)), None

    def _decode(self, kind: str, value: Any) -> Any:
        return os.fsdecode(value) if kind in ("path", "text") else value

    # -- paths ------------------------------------------------------------------------------------

    def _inode(self, path: str, follow: bool = False) -> Inode:
        return self.kernel.walk(path, self.actor.caller, follow=follow)

    def do_mkdir(self, path: str, mode: int) -> None:
        self.kernel.mkdir(path, mode & ~self.actor.umask, self.actor.caller)

    def do_rmdir(self, path: str) -> None:
        self.kernel.rmdir(path, self.actor.caller)

    def do_write(self, path: str, data: bytes) -> int | None:
        try:
            file = self.kernel.open(path, os.O_WRONLY, self.actor.caller)
        except OSError as error:
            raise _StepError(error, "@open") from None
        data = self._expand(data)
        try:
            written = file.write(data, self.actor.caller)
        except OSError as error:
            raise _StepError(error, "@write") from None
        return None if written == len(data) else written

    def do_read(self, path: str) -> str:
        try:
            file = self._open(path, os.O_RDONLY)
        except OSError as error:
            raise _StepError(error, "@open") from None
        data = b""
        try:
            while chunk := self._pread(file, len(data), 1 << 17):
                data += chunk
        except OSError as error:
            raise _StepError(error, "@read") from None
        return _text(data)

    def do_until(self, path: str, data: bytes) -> str:
        return self.do_read(path)

    def do_listraw(self, path: str) -> list[str]:
        try:
            return [".", "..", *self.kernel.listdir(path, self.actor.caller)]
        except OSError as error:
            raise _StepError(error, "@open") from None

    def do_listdir(self, path: str) -> list[str]:
        return sorted(self.do_listraw(path)[2:])

    def do_stat(self, path: str) -> dict[str, Any]:
        return _stat(self.vfs.getattr(self._inode(path)))

    def do_mtime(self, path: str) -> int:
        return self.vfs.getattr(self._inode(path)).mtime // 10**9

    def do_statfs(self, path: str) -> dict[str, int]:
        fs = self.vfs.statfs(self._inode(path, True))
        return {
            "type": fs.type,
            "bsize": fs.bsize,
            "frsize": fs.bsize,
            "namelen": fs.namelen,
            "blocks": 0,
            "files": 0,
        }

    def do_rename(self, path: str, new_path: str, flags: int) -> None:
        if path.startswith("/") or new_path.startswith("/"):
            raise OSError(EXDEV, "")
        self.kernel.rename(path, new_path, self.actor.caller, flags=flags)

    def do_unlink(self, path: str) -> None:
        self.kernel.unlink(path, self.actor.caller)

    def do_symlink(self, target: str, path: str) -> None:
        if not target:
            raise OSError(ENOENT, "")
        parent, name = self.kernel.walk_parent(path, self.actor.caller)
        self.vfs.symlink(parent, name, target, self.actor.caller)

    def do_link(self, path: str, new_path: str) -> None:
        if path.startswith("/") or new_path.startswith("/"):
            raise OSError(EXDEV, "")  # what a case names by an absolute path is in another file system
        inode = self._inode(path)
        parent, name = self.kernel.walk_parent(new_path, self.actor.caller)
        self.vfs.link(inode, parent, name, self.actor.caller)

    def do_readlink(self, path: str) -> str:
        return self.vfs.readlink(self._inode(path))

    def do_mknod(self, path: str, mode: int, device: int) -> None:
        self.vfs.check_node_type(mode)
        parent, name = self.kernel.walk_parent(path, self.actor.caller)
        self.vfs.mknod(parent, name, mode, device, self.actor.caller)

    def do_creat(self, path: str, mode: int) -> None:
        self._open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)

    def do_truncate(self, path: str, size: int) -> None:
        if size < 0:
            raise OSError(EINVAL, "")
        self.vfs.setattr(self._inode(path, True), self.actor.caller, size=size)

    def do_chmod(self, path: str, mode: int) -> None:
        self.kernel.chmod(path, mode, self.actor.caller)

    def do_chown(self, path: str, uid: int, gid: int) -> None:
        self.kernel.chown(path, uid, gid, self.actor.caller)

    def do_utimens(self, path: str, atime: int, mtime: int) -> None:
        inode = self._inode(path, True)
        self.vfs.setattr(inode, self.actor.caller, atime=atime * 10**9, mtime=mtime * 10**9)

    def do_access(self, path: str, mask: int) -> None:
        # access(2) judges by the real ids, which `as` sets along with the effective ones
        self.vfs.access(self._inode(path, True), mask, self.actor.caller)

    def do_setxattr(self, path: str, name: str, value: bytes, flags: int) -> None:
        self.vfs.setxattr(self._inode(path), name, value, flags, self.actor.caller)

    def do_getxattr(self, path: str, name: str, size: int) -> int | str:
        value = self.vfs.getxattr(self._inode(path), name, self.actor.caller)
        if not size:
            return len(value)
        if len(value) > size:
            raise OSError(ERANGE, "")
        return _text(value)

    def do_listxattr(self, path: str) -> list[str]:
        return self.vfs.listxattr(self._inode(path), self.actor.caller)

    def do_removexattr(self, path: str, name: str) -> None:
        self.vfs.removexattr(self._inode(path), name, self.actor.caller)

    # -- open files -------------------------------------------------------------------------------

    def _open(self, path: str, flags: int) -> _Handle:
        caller = self.actor.caller
        if not flags & (os.O_CREAT | os.O_ACCMODE | os.O_TRUNC) and flags & os.O_TMPFILE != os.O_TMPFILE:
            inode = self.kernel.walk(path, caller)
            if inode.is_dir:
                self.vfs.opendir(inode, caller)
                return _Handle(inode, flags, None)
        file = self.kernel.open(path, flags, caller)
        return _Handle(file.inode, flags, file)

    def _handle(self, name: str) -> _Handle:
        if name not in self.actor.handles:
            raise OSError(EBADF, "")
        return self.actor.handles[name]

    def _file(self, name: str, wrong: int) -> tuple[_Handle, OpenFile]:
        handle = self._handle(name)
        if handle.file is None:
            raise OSError(wrong, "")
        return handle, handle.file

    def _pread(self, handle: _Handle, offset: int, size: int) -> bytes:
        if handle.file is None:
            raise OSError(EISDIR, "")
        return handle.file.read(offset, size)

    def do_open(self, name: str, path: str, flags: int, mode: int) -> None:
        self.actor.handles[name] = self._open(path, flags)

    def do_close(self, name: str) -> None:
        self._handle(name)
        del self.actor.handles[name]

    def do_fread(self, name: str, size: int) -> str:
        handle, file = self._file(name, EISDIR)
        data = file.read(handle.position, size)
        handle.position += len(data)
        return _text(data)

    def do_fpread(self, name: str, size: int, offset: int) -> str:
        return _text(self._file(name, EISDIR)[1].read(offset, size))

    def do_fwrite(self, name: str, data: bytes) -> int | None:
        handle, file = self._file(name, EBADF)
        data = self._expand(data)
        written = file.write(data, self.actor.caller)
        handle.position += written
        return None if written == len(data) else written

    def do_fpwrite(self, name: str, data: bytes, offset: int) -> int | None:
        handle, file = self._file(name, EBADF)
        if offset < 0:
            raise OSError(EINVAL, "")
        if not handle.flags & os.O_ACCMODE:
            raise OSError(ESPIPE, "")  # seq_open takes positioned writes away, kernfs gives them back to writers
        data = self._expand(data)
        written = file.write(data, self.actor.caller)
        return None if written == len(data) else written

    def do_lseek(self, name: str, offset: int, whence: int) -> int:
        """generic_file_llseek on a file of size 0; from 6.12 kernfs looks first whether the file is still there."""
        handle = self._handle(name)
        personality = self.kernel.personality
        if handle.file is not None and personality.at_least(6, 12) and not handle.inode.alive:
            raise OSError(ENODEV, "")
        if whence in (3, 4):
            raise OSError(ENXIO, "")
        if whence not in (0, 1, 2):
            raise OSError(EINVAL, "")
        position = offset + (handle.position if whence == 1 else 0)
        end = (1 << 63) - 1 if personality.at_least(7, 2) or handle.file is None else MAX_NON_LFS
        if not 0 <= position <= end:
            raise OSError(EINVAL, "")
        handle.position = position
        return position

    def do_ftruncate(self, name: str, size: int) -> None:
        handle, file = self._file(name, EINVAL)
        if size < 0:
            raise OSError(EINVAL, "")
        self.vfs.setattr(handle.inode, self.actor.caller, size=size, handle=file)

    def do_fsync(self, name: str) -> None:
        self._file(name, EINVAL)

    def do_fstat(self, name: str) -> dict[str, Any]:
        return _stat(self.vfs.getattr(self._handle(name).inode))

    def do_poll(self, name: str, events: int) -> list[str]:
        _, file = self._file(name, EBADF)
        return poll_names(file.poll() & (events | 8 | 16))

    # -- who does it ------------------------------------------------------------------------------

    def do_as(self, uid: int, gid: int) -> None:
        self.actor.uid, self.actor.gid = uid, gid
        self.table.set_uid(self.actor.tid, uid, 0)

    def do_umask(self, mask: int) -> int:
        old, self.actor.umask = self.actor.umask, mask
        return old

    def _expand(self, data: bytes) -> bytes:
        for name in sorted(self.actors, key=len, reverse=True):
            data = data.replace(b"$" + name.encode(), str(self.actors[name].tid).encode())
        return data

    def _named(self, name: str) -> _Actor:
        if name not in self.actors:
            raise Unsupported(f"helper {name}")
        return self.actors[name]

    def _state(self, actor: _Actor) -> str:
        info = self.table.find(actor.tid)
        return "gone" if info is None else "Z" if info.zombie else "S"

    def do_fork(self, name: str) -> None:
        actor = self.actor
        tid = self.kernel.fork(actor.tid)
        self.actors[name] = _Actor(tid, actor.uid, actor.gid, actor.umask, dict(actor.handles))

    def do_thread(self, name: str) -> None:
        actor = self.actor
        tid = self.kernel.fork(actor.tid, thread=True)
        self.actors[name] = _Actor(tid, actor.uid, actor.gid, actor.umask, actor.handles)

    def do_in(self, name: str, op: Op) -> Any:
        actor = self.actors.get(name)
        if actor is None:
            raise _StepError(OSError(0, ""), "NOHELPER")
        if self._state(actor) != "S":
            raise _StepError(OSError(0, ""), "KILLED")
        if any(frozen(hierarchy.cgroup_of(actor.tid)) for hierarchy in self.kernel.hierarchies if hierarchy.dfl):
            raise _StepError(OSError(0, ""), "BLOCKED")
        before, self.actor = self.actor, actor
        try:
            error, value = self.answer(op)
        finally:
            self.actor = before
        if error is not None:
            step = _StepError(OSError(0, ""), "")
            step.answer = (error, None)
            raise step
        return value

    def do_exit(self, status: int) -> None:
        self._exit(self.actor, f"exit {status}")

    def _exit(self, actor: _Actor, status: str) -> None:
        info = self.table.find(actor.tid)
        if info is None or info.zombie:
            return
        tids = self.table.threads(info.tgid) if info.tid == info.tgid else [info.tid]
        for tid in tids:
            self.table.exit(tid)
            self.kernel.task_exited(tid)
        for name, other in self.actors.items():
            if other is actor:
                self.statuses[name] = status

    def do_kill(self, name: str, signal: int) -> None:
        actor = self._named(name)
        if signal != 9:
            raise Unsupported(f"signal {signal}")
        info = self.table.find(actor.tid)
        if info is None:
            raise ProcessLookupError(3, "")
        self._exit(actor, "signal 9")

    def do_wait(self, name: str) -> str:
        actor = self._named(name)
        if self._state(actor) != "Z":
            raise _StepError(OSError(0, ""), "BLOCKED")
        self.table.reap(actor.tid)
        self.kernel.task_reaped(actor.tid)
        return self.statuses.get(name, "signal 9")

    def do_state(self, name: str) -> str:
        return self._state(self._named(name))

    def do_proc(self, name: str, file: str) -> str:
        if file != "cgroup":
            raise Unsupported(f"/proc/PID/{file}")
        raise Unsupported("proc")

    def do_settle(self, milliseconds: int) -> None:
        """Nothing takes time here."""


def _stat(st: Stat) -> dict[str, Any]:
    return stat_value(st.mode, st.nlink, st.uid, st.gid, st.size, st.blksize, st.blocks)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
