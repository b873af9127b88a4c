"""The model, ``fakecgroup.Kernel``, as a target: no mount, no real processes.

What the VFS of a real kernel does above a file system (path lookup, file positions, size limits of attributes) is done
here in the way that a FUSE mount gets it from its kernel.
"""

from __future__ import annotations

import os
import stat
from errno import E2BIG, EBADF, ECHILD, EINVAL, EISDIR, ENAMETOOLONG, ENOENT, ENOTDIR, EPERM, ERANGE, ESPIPE, ESRCH, EXDEV, errorcode
from typing import Any

from fakecgroup import Kernel
from fakecgroup.caller import Caller
from fakecgroup.inode import Directory, Inode
from fakecgroup.openfile import OpenFile
from fakecgroup.tasks import ProcessTable

from .case import Answer, Case, Op, arguments, bytes_data, poll_names, stat_value
from .replay import Unsupported

#: The machine that the recordings were made on.
MACHINE = {"cpus": 4, "numa_nodes": 2, "memory": 1 << 30}

_SELF = "self"


class _Processes(ProcessTable):
    """A process table that tells its kernel of deaths, as a real machine's watcher does."""

    kernel: Kernel | None = None

    def exit(self, tid: int) -> None:
        super().exit(tid)
        if self.kernel is not None:
            self.kernel.task_exited(tid)


class _Open:
    """An open file or directory with its position."""

    def __init__(self, inode: Inode, file: OpenFile | None, flags: int) -> None:
        self.inode = inode
        self.file = file
        self.flags = flags
        self.position = 0


class _Failed(Exception):
    """A step of a composed operation failed."""

    def __init__(self, code: int, step: str) -> None:
        super().__init__(code, step)
        self.answer = (f"{errorcode[code]}@{step}", None)


class ModelTarget:
    """A fresh ``Kernel`` for every case.  ``layout`` and ``version`` as of Kernel."""

    def __init__(self, layout: str, version: str) -> None:
        self._layout = layout
        self._version = version
        self.pids: dict[int, str] = {}

    def start(self, case: Case) -> None:
        self._processes = _Processes()
        self.kernel = Kernel(self._layout, self._version, processes=self._processes, **MACHINE)
        self._processes.kernel = self.kernel
        self._handles: dict[str, _Open] = {}
        self._opaque: set[str] = set()
        self._umask = 0o022
        own = self._processes.add()
        self._tids = {_SELF: own}
        self.pids = {own: _SELF}
        self._ids = {_SELF: (0, 0)}
        self._parents = {_SELF: ""}

    def finish(self) -> None:
        self._handles.clear()

    def do(self, op: Op) -> Answer:
        return self._do(op, _SELF)

    def _do(self, op: Op, who: str) -> Answer:
        name = str(op[0])
        if name == "in":
            return self._do_in(op)
        method = getattr(self, f"_op_{name}", None)
        if method is None:
            raise Unsupported(name, ends=name in ("alloc", "clone_into"))
        values = [value for _, value in arguments(op)]
        try:
            return (None, method(who, *values))
        except _Failed as failed:
            return failed.answer
        except OSError as error:
            return (errorcode[error.errno or EINVAL], None)

    def _do_in(self, op: Op) -> Answer:
        who, inner = str(op[1]), op[2:]
        if who not in self._tids:
            return ("NOHELPER", None)
        task = self._processes.find(self._tids[who])
        if task is None or task.zombie:
            return ("KILLED", None)
        return self._do(inner, who)

    # -- who ----------------------------------------------------------------------------------------

    def _caller(self, who: str) -> Caller:
        uid, gid = self._ids[who]
        return Caller(uid=uid, gid=gid, pid=self._tids[who])

    def _op_as(self, who: str, uid: int, gid: int) -> None:
        self._ids[who] = (uid, gid)
        self._processes.set_uid(self._tids[who], uid, 0)

    def _op_umask(self, who: str, mask: int) -> int:
        before, self._umask = self._umask, mask
        return before

    # -- paths --------------------------------------------------------------------------------------

    @staticmethod
    def _text(path: bytes) -> str:
        """getname(): an empty path and one of PATH_MAX bytes are refused before anything is looked up."""
        if not path:
            raise OSError(ENOENT, "")
        if len(path) > 4095:
            raise OSError(ENAMETOOLONG, "")
        return os.fsdecode(path)

    def _inode(self, who: str, path: bytes, *, follow: bool = False) -> Inode:
        text = self._text(path)
        inode = self.kernel.walk(text, self._caller(who), follow=follow)
        if (text.endswith("/") or text.endswith("/.")) and not isinstance(inode, Directory):
            raise OSError(ENOTDIR, "")
        return inode

    def _op_mkdir(self, who: str, path: bytes, mode: int) -> None:
        self.kernel.mkdir(self._text(path), mode & ~self._umask, self._caller(who))

    def _op_rmdir(self, who: str, path: bytes) -> None:
        self.kernel.rmdir(self._text(path), self._caller(who))

    def _op_unlink(self, who: str, path: bytes) -> None:
        text = self._text(path)
        if text.endswith("/") and not isinstance(self._inode(who, path.rstrip(b"/")), Directory):
            raise OSError(ENOTDIR, "")
        self.kernel.unlink(text, self._caller(who))

    def _op_rename(self, who: str, path: bytes, new: bytes, flags: int) -> None:
        for text in (path, new):
            if text.startswith(b"/"):
                raise Unsupported("rename across file systems", ends=False)
        self.kernel.rename(self._text(path), self._text(new), self._caller(who), flags=flags)

    def _op_symlink(self, who: str, target: bytes, path: bytes) -> None:
        self._text(target)
        parent, name = self.kernel.walk_parent(self._text(path), self._caller(who))
        self.kernel.vfs.symlink(parent, name, os.fsdecode(target), self._caller(who))

    def _op_link(self, who: str, path: bytes, new: bytes) -> None:
        if path.startswith(b"/") or new.startswith(b"/"):
            raise Unsupported("link across file systems", ends=False)
        inode = self._inode(who, path)
        parent, name = self.kernel.walk_parent(self._text(new), self._caller(who))
        if getattr(parent, "hierarchy", None) is not getattr(getattr(inode, "cgroup", inode), "hierarchy", None):
            raise OSError(EXDEV, "")
        self.kernel.vfs.link(inode, parent, name, self._caller(who))

    def _op_readlink(self, who: str, path: bytes) -> str:
        return self.kernel.vfs.readlink(self._inode(who, path))

    def _op_mknod(self, who: str, path: bytes, mode: int, device: int) -> None:
        kind = stat.S_IFMT(mode)
        if kind not in (0, stat.S_IFREG, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFSOCK):
            raise OSError(EPERM if kind == stat.S_IFDIR else EINVAL, "")  # do_mknodat asks before it looks
        parent, name = self.kernel.walk_parent(self._text(path), self._caller(who))
        self.kernel.vfs.mknod(parent, name, mode, device, self._caller(who))

    def _op_creat(self, who: str, path: bytes, mode: int) -> None:
        self._open(who, path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)

    def _op_truncate(self, who: str, path: bytes, size: int) -> None:
        if size < 0:
            raise OSError(EINVAL, "")
        self.kernel.vfs.setattr(self._inode(who, path, follow=True), self._caller(who), size=size)

    def _op_chmod(self, who: str, path: bytes, mode: int) -> None:
        self.kernel.vfs.setattr(self._inode(who, path, follow=True), self._caller(who), mode=mode)

    def _op_chown(self, who: str, path: bytes, uid: int, gid: int) -> None:
        self.kernel.vfs.setattr(
            self._inode(who, path), self._caller(who), uid=None if uid == -1 else uid, gid=None if gid == -1 else gid
        )

    def _op_utimens(self, who: str, path: bytes, atime: int, mtime: int) -> None:
        inode = self._inode(who, path, follow=True)
        self.kernel.vfs.setattr(inode, self._caller(who), atime=atime * 10**9, mtime=mtime * 10**9)

    def _op_mtime(self, who: str, path: bytes) -> int:
        return self._inode(who, path).stat().mtime // 10**9

    def _op_stat(self, who: str, path: bytes) -> dict[str, Any]:
        return _stat(self._inode(who, path))

    def _op_statfs(self, who: str, path: bytes) -> dict[str, int]:
        found = self.kernel.vfs.statfs(self._inode(who, path, follow=True))
        size = found.bsize
        return {"type": found.type, "bsize": size, "frsize": size, "namelen": found.namelen, "blocks": 0, "files": 0}

    def _op_access(self, who: str, path: bytes, mask: int) -> None:
        self.kernel.vfs.access(self._inode(who, path, follow=True), mask, self._caller(who))

    def _op_listdir(self, who: str, path: bytes) -> list[str]:
        return sorted(self._names(who, path))

    def _op_listraw(self, who: str, path: bytes) -> list[str]:
        return [".", "..", *self._names(who, path)]

    def _names(self, who: str, path: bytes) -> list[str]:
        try:
            inode = self._inode(who, path, follow=True)
            self.kernel.vfs.opendir(inode, self._caller(who))
        except OSError as error:
            raise _Failed(error.errno or EINVAL, "open") from None
        return [bytes_data(os.fsencode(name)) for name, _, _ in self.kernel.vfs.readdir(inode)]

    # -- attributes ---------------------------------------------------------------------------------

    @staticmethod
    def _attribute(name: bytes) -> str:
        if not 0 < len(name) <= 255:
            raise OSError(ERANGE, "")
        return os.fsdecode(name)

    def _op_setxattr(self, who: str, path: bytes, name: bytes, value: bytes, flags: int) -> None:
        text = self._attribute(name)
        if len(value) > 65536:
            raise OSError(E2BIG, "")
        self.kernel.vfs.setxattr(self._inode(who, path), text, value, flags, self._caller(who))

    def _op_getxattr(self, who: str, path: bytes, name: bytes, size: int) -> Any:
        text = self._attribute(name)
        value = self.kernel.vfs.getxattr(self._inode(who, path), text, self._caller(who))
        if size == 0:
            return len(value)
        if size < len(value):
            raise OSError(ERANGE, "")
        return bytes_data(value)

    def _op_listxattr(self, who: str, path: bytes) -> list[str]:
        return [bytes_data(os.fsencode(n)) for n in self.kernel.vfs.listxattr(self._inode(who, path), self._caller(who))]

    def _op_removexattr(self, who: str, path: bytes, name: bytes) -> None:
        text = self._attribute(name)
        self.kernel.vfs.removexattr(self._inode(who, path), text, self._caller(who))

    # -- open files ---------------------------------------------------------------------------------

    def _open(self, who: str, path: bytes, flags: int) -> _Open:
        text, caller = self._text(path), self._caller(who)
        if flags & os.O_CREAT:
            file = self.kernel.open(text, flags, caller)
            return _Open(file.inode, file, flags)
        inode = self._inode(who, path, follow=True)
        if isinstance(inode, Directory):
            if flags & (os.O_ACCMODE | os.O_TRUNC):
                raise OSError(EISDIR, "")
            self.kernel.vfs.opendir(inode, caller)
            if flags & os.O_DIRECT:
                raise OSError(EINVAL, "")
            return _Open(inode, None, flags)
        file = self.kernel.vfs.open(inode, flags, caller)
        return _Open(inode, file, flags)

    def _op_open(self, who: str, handle: str, path: bytes, flags: int, mode: int) -> None:
        self._opaque.discard(handle)
        if flags & (os.O_PATH | os.O_TMPFILE & ~os.O_DIRECTORY):
            self._opaque.add(handle)
            raise Unsupported("O_PATH and O_TMPFILE are the VFS's own", ends=False)
        self._handles[handle] = self._open(who, path, flags)

    def _op_close(self, who: str, handle: str) -> None:
        self._handle(handle)
        del self._handles[handle]

    def _handle(self, name: str) -> _Open:
        if name in self._opaque:
            raise Unsupported("a handle of the VFS's own", ends=False)
        if name not in self._handles:
            raise OSError(EBADF, "")
        return self._handles[name]

    def _op_read(self, who: str, path: bytes) -> str:
        try:
            opened = self._open(who, path, os.O_RDONLY)
        except OSError as error:
            raise _Failed(error.errno or EINVAL, "open") from None
        if opened.file is None:
            raise _Failed(EISDIR, "read")
        data = b""
        try:
            while piece := opened.file.read(len(data), 262144):
                data += piece
        except OSError as error:
            raise _Failed(error.errno or EINVAL, "read") from None
        return bytes_data(data)

    def _op_until(self, who: str, path: bytes, text: bytes) -> str:
        return self._op_read(who, path)

    def _op_write(self, who: str, path: bytes, data: bytes) -> Any:
        try:
            opened = self._open(who, path, os.O_WRONLY)
        except OSError as error:
            raise _Failed(error.errno or EINVAL, "open") from None
        expanded = self._expand(data)
        try:
            taken = opened.file.write(expanded, self._caller(who)) if opened.file is not None else 0
        except OSError as error:
            raise _Failed(error.errno or EINVAL, "write") from None
        return None if taken == len(expanded) else taken

    def _expand(self, data: bytes) -> bytes:
        """``$name`` becomes the pid of that process."""
        if b"$" not in data:
            return data
        parts = data.split(b"$")
        result = parts[0]
        for part in parts[1:]:
            size = 0
            while size < len(part) and (part[size : size + 1].isalnum() or part[size] == 0x5F):
                size += 1
            tid = self._tids.get(part[:size].decode())
            result += (str(tid).encode() + part[size:]) if size and tid is not None else b"$" + part
        return result

    def _file(self, handle: str) -> OpenFile:
        opened = self._handle(handle)
        if opened.file is None:
            raise OSError(EISDIR, "")
        return opened.file

    def _op_fread(self, who: str, handle: str, size: int) -> str:
        opened, file = self._handle(handle), self._file(handle)
        data = file.read(opened.position, size)
        opened.position += len(data)
        return bytes_data(data)

    def _op_fpread(self, who: str, handle: str, size: int, offset: int) -> str:
        return bytes_data(self._file(handle).read(offset, size))

    def _op_fwrite(self, who: str, handle: str, data: bytes) -> Any:
        opened = self._handle(handle)
        if opened.file is None:
            raise OSError(EBADF, "")
        expanded = self._expand(data)
        taken = opened.file.write(expanded, self._caller(who))
        opened.position += taken
        return None if taken == len(expanded) else taken

    def _op_fpwrite(self, who: str, handle: str, data: bytes, offset: int) -> Any:
        if offset < 0:
            raise OSError(EINVAL, "")
        opened = self._handle(handle)
        if opened.file is not None and opened.flags & os.O_ACCMODE == os.O_RDONLY:
            raise OSError(ESPIPE, "")  # a file opened for reading only has no FMODE_PWRITE
        expanded = self._expand(data)
        taken = self._file(handle).write(expanded, self._caller(who))
        return None if taken == len(expanded) else taken

    def _op_lseek(self, who: str, handle: str, offset: int, whence: int) -> int:
        opened = self._handle(handle)
        if whence > 2 or abs(offset) >= 1 << 31 or opened.file is None or not opened.inode.alive:
            raise Unsupported("positions are the VFS's own", ends=False)
        position = offset + (opened.position if whence == 1 else 0)
        if position < 0:
            raise OSError(EINVAL, "")
        opened.position = position
        return position

    def _op_ftruncate(self, who: str, handle: str, size: int) -> None:
        opened = self._handle(handle)
        if size < 0 or opened.file is None:
            raise OSError(EINVAL, "")
        self.kernel.vfs.setattr(opened.inode, self._caller(who), size=size, handle=opened.file)

    def _op_fstat(self, who: str, handle: str) -> dict[str, Any]:
        return _stat(self._handle(handle).inode)

    def _op_poll(self, who: str, handle: str, events: int) -> list[str]:
        return poll_names(self._file(handle).poll() & (events | 0x18))

    # -- processes ----------------------------------------------------------------------------------

    def _op_fork(self, who: str, name: str) -> None:
        self._add(who, name, self.kernel.fork(self._tids[who]))

    def _op_thread(self, who: str, name: str) -> None:
        self._add(who, name, self.kernel.fork(self._tids[who], thread=True))

    def _add(self, who: str, name: str, tid: int) -> None:
        self._tids[name] = tid
        self._ids[name] = self._ids[who]
        self._parents[name] = who
        self.pids[tid] = name

    def _op_exit(self, who: str, code: int) -> None:
        tid = self._tids[who]
        task = self._processes.find(tid)
        if task is not None and task.tgid == tid:
            self._kill(tid)
        else:
            self._processes.exit(tid)

    def _op_kill(self, who: str, name: str, signal: int) -> None:
        task = self._processes.find(self._tids[name]) if name in self._tids else None
        if task is None:
            raise OSError(ESRCH, "")
        if signal == 9:
            self._kill(task.tgid)

    def _kill(self, tgid: int) -> None:
        for tid in self._processes.threads(tgid):
            self._processes.exit(tid)

    def _op_wait(self, who: str, name: str) -> str:
        tid = self._tids[name]
        task = self._processes.find(tid)
        if task is None:
            raise OSError(ECHILD, "")
        if not task.zombie:
            raise Unsupported("waiting for what the model does not do", ends=True)
        self._processes.reap(tid)
        self.kernel.task_reaped(tid)
        raise Unsupported("how a process ended is not the model's", ends=False)

    def _op_state(self, who: str, name: str) -> str:
        task = self._processes.find(self._tids[name])
        if task is None:
            return "gone"
        if task.zombie:
            return "Z"
        raise Unsupported("the state of a live process is not the model's", ends=False)

    def _op_proc(self, who: str, name: str, file: bytes) -> str:
        if file != b"cgroup":
            raise Unsupported("only /proc/PID/cgroup is the model's", ends=False)
        if self._processes.find(self._tids[name]) is None:
            raise _Failed(ENOENT, "open")
        places = self.kernel.cgroup_of(self._tids[name])
        if self._layout == "v2":
            return f"0::{places['']}\n"
        return "".join(f"1:{controllers}:{path}\n" for controllers, path in places.items())

    def _op_settle(self, who: str, milliseconds: int) -> None:
        """Nothing in the model takes time."""


def _stat(inode: Inode) -> dict[str, Any]:
    found = inode.stat()
    return stat_value(found.mode, found.nlink, found.uid, found.gid, found.size, found.blksize, found.blocks)
