"""A trace of what strace(1) printed on a real node, by the paths and open files that its lines name.

What the node had before is not in such lines. A cgroup that was there is made by a call that is `assumed`, and so are
the controllers enabled whose files are used. Callers are taken as root. A process that ends is taken as waited for.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..controllers import CONTROLLERS
from . import words
from .assumed import ASSUMED
from .call import Call
from .strace_text import Ended, StraceReader, SystemCall, all_data_of, data_of, descriptor_of
from .tree_names import HIERARCHIES, is_file

_USUAL_MASK = 0o022
_NAMES = frozenset(one.name for one in CONTROLLERS)
_CONTROL = "cgroup.subtree_control"
_READ_SIZE = 1 << 16


@dataclass(slots=True)
class _Open:
    """An open file of the tree, that several descriptors may be."""

    handle: int
    path: str
    opener: Call
    position: int = 0
    users: int = 1


@dataclass(slots=True)
class _Process:
    """What a process has that its threads share."""

    tgid: int
    files: dict[int, _Open]
    directory: str | None = None
    mask: int = _USUAL_MASK


class Import:
    """The calls on the tree at `root`, which is laid out as `layout` says.

    Numbers of processes are those of strace: one that runs in the node's own pid namespace.
    """

    def __init__(self, reader: StraceReader, layout: str, root: str = "/sys/fs/cgroup") -> None:
        self._reader = reader
        self._layout = layout
        self._root = posixpath.normpath(root)
        self._processes: dict[int, _Process] = {}  # by thread
        self._handles = 0
        self._began: float | None = None
        self._there = {"."} if layout == "v2" else {".", *HIERARCHIES}
        self._enabled: set[tuple[str, str]] = set()  # cgroups and what their children have

    def __iter__(self) -> Iterator[Call]:
        for event in self._reader:
            if self._began is None:
                self._began = event.t
            t = max(event.t - self._began, 0.0)
            if isinstance(event, Ended):
                yield from self._end(event, t)
                continue
            read = _READERS.get(event.name)
            if read is None or event.result is None:
                continue
            try:
                calls = list(read(self, event))
            except (IndexError, ValueError):  # other arguments than such a call has
                self._reader.not_read += 1
                continue
            for call in calls:
                yield call._replace(t=t)

    # -- processes --------------------------------------------------------------------------------

    def _process(self, tid: int) -> _Process:
        known = self._processes.get(tid)
        if known is None:
            known = self._processes[tid] = _Process(tid, {})
        return known

    def _end(self, event: Ended, t: float) -> Iterator[Call]:
        process = self._processes.pop(event.tid, None)
        if process is None:
            return
        if process.tgid == event.tid:
            for number in list(process.files):
                for call in self._forget(event.comm, process, number):
                    yield call._replace(t=t)
        yield Call(t, event.tid, event.comm, "exit")
        yield Call(t, event.tid, event.comm, "reap")

    def _clone(self, event: SystemCall) -> Iterator[Call]:
        parent, child = self._process(event.tid), event.result or 0
        text = " ".join(event.arguments)
        into = None
        if event.name == "clone3" and "CLONE_INTO_CGROUP" in text:
            descriptor = next((one for one in text.split("cgroup=")[1:]), "")
            into = self._inside(self._place(parent, descriptor))
            yield from self._use(event, into or ".")
            yield self._call(event, "clone3", into or "", 0, flags="CLONE_INTO_CGROUP")
        if event.errno is not None or child <= 0:
            return
        if "CLONE_THREAD" in text:
            self._processes[child] = parent
            yield Call(0.0, parent.tgid, event.comm, "thread", result=child)
            return
        if "CLONE_FILES" in text:
            files = parent.files
        else:
            files = dict(parent.files)
            for file in files.values():
                file.users += 1
        self._processes[child] = _Process(child, files, parent.directory, parent.mask)
        where = {} if into is None else {"cgroups": [] if into == "." else [into]}
        yield Call(0.0, parent.tgid, event.comm, "fork", result=child, more=where)

    def _change_directory(self, event: SystemCall) -> Iterator[Call]:
        process = self._process(event.tid)
        if event.errno is None:
            if event.name == "fchdir":
                process.directory = self._place(process, event.arguments[0])
            else:
                process.directory = self._absolute(process, event.arguments[0])
        return iter(())

    def _mask(self, event: SystemCall) -> Iterator[Call]:
        self._process(event.tid).mask = int(event.arguments[0], 8)
        return iter(())

    # -- paths ------------------------------------------------------------------------------------

    def _place(self, process: _Process, argument: str) -> str | None:
        """The absolute path of an open file, or of the working directory. Paths of strace are resolved."""
        number, path = descriptor_of(argument)
        if number is None:
            if path is not None:
                process.directory = path
            return process.directory
        if path is None and number in process.files:
            return posixpath.join(self._root, process.files[number].path)
        return path

    def _absolute(self, process: _Process, argument: str, base: str | None = None) -> str | None:
        data = data_of(argument)
        if data is None or b"\0" in data:
            return None
        path = os.fsdecode(data)
        if not path.startswith("/"):
            base = process.directory if base is None else base
            if base is None:
                return None
            path = posixpath.join(base, path) if path else base
        return path

    def _inside(self, path: str | None) -> str | None:
        """A path from the tree's root; None for one that is not in it."""
        if path is None or not path.startswith("/"):
            return None
        path = posixpath.normpath(path)
        path = path[1:] if path.startswith("//") else path
        if path == self._root:
            return "."
        return path[len(self._root) + 1 :] if path.startswith(self._root.rstrip("/") + "/") else None

    def _path(self, event: SystemCall, at: int) -> str | None:
        """The path that an argument names, alone."""
        process = self._process(event.tid)
        return self._inside(self._absolute(process, event.arguments[at]))

    def _path_at(self, event: SystemCall, at: int) -> str | None:
        """The path of a directory's descriptor and a name after it."""
        process = self._process(event.tid)
        base = self._place(process, event.arguments[at])
        return self._inside(self._absolute(process, event.arguments[at + 1], base or ""))

    # -- what was there ---------------------------------------------------------------------------

    def _use(self, event: SystemCall, path: str, *, parent: bool = False) -> Iterator[Call]:
        """What must have been there for a call on `path` to work, in a directory or on one (`parent`: its own)."""
        if event.errno is not None:
            return
        name = posixpath.basename(path)
        directory = posixpath.dirname(path) or "."
        yield from self._make(event, directory if parent or is_file(name) else path)
        controller = name.partition(".")[0]
        if self._layout == "v2" and is_file(name) and controller in _NAMES and directory != ".":
            yield from self._enable(event, directory, controller)

    def _make(self, event: SystemCall, directory: str) -> Iterator[Call]:
        above = ""
        for part in directory.split("/"):
            above = f"{above}/{part}" if above else part
            if above not in self._there:
                self._there.add(above)
                yield Call(0.0, event.tid, event.comm, "mkdir", above, result=0, more={"mode": "0755", **ASSUMED})

    def _enable(self, event: SystemCall, directory: str, controller: str) -> Iterator[Call]:
        above = "."
        for part in directory.split("/"):
            if (above, controller) not in self._enabled:
                self._enabled.add((above, controller))
                data = f"+{controller}".encode()
                path = posixpath.normpath(posixpath.join(above, _CONTROL))
                yield Call(0.0, event.tid, event.comm, "write", path, data, None, len(data), ASSUMED)
            above = part if above == "." else f"{above}/{part}"

    def _note(self, op: str, path: str, data: bytes | None = None) -> None:
        """Keeps what a call that worked has changed."""
        if op == "mkdir":
            self._there.add(path)
        elif op == "rmdir":
            self._there.discard(path)
            self._enabled = {(place, name) for place, name in self._enabled if place != path}
        elif op == "write" and posixpath.basename(path) == _CONTROL:
            place = posixpath.dirname(path) or "."
            for word in (data or b"").decode("ascii", "replace").split():
                known = {(place, word[1:])}
                self._enabled = self._enabled | known if word[0] == "+" else self._enabled - known

    # -- calls ------------------------------------------------------------------------------------

    def _call(self, event: SystemCall, op: str, path: str, result: Any = 0, data: bytes | None = None,
              **more: Any) -> Call:  # fmt: skip
        tgid = self._process(event.tid).tgid
        if tgid != event.tid:
            more["tid"] = event.tid
        return Call(0.0, tgid, event.comm, op, path, data, event.errno, None if event.errno else result, more)

    def _on(self, event: SystemCall, op: str, path: str | None, result: Any = 0, data: bytes | None = None,
            **more: Any) -> Iterator[Call]:  # fmt: skip
        """A call on a path of the tree."""
        if path is None:
            return
        yield from self._use(event, path, parent=op in ("mkdir", "rename", "link", "symlink", "mknod"))
        if event.errno is None:
            self._note(op, path)
        yield self._call(event, op, path, result, data, **more)

    def _opened(self, event: SystemCall, path: str | None, flags: str, mode: str = "") -> Iterator[Call]:
        process = self._process(event.tid)
        number = event.result if event.errno is None else None
        if number is not None:
            yield from self._forget(event.comm, process, number)
        if path is None:
            return
        yield from self._use(event, path)
        more: dict[str, Any] = {"flags": flags, **({"mode": mode} if mode else {})}
        if number is None:
            yield self._call(event, "open", path, None, **more)
            return
        self._handles += 1
        call = self._call(event, "open", path, self._handles, **more)
        process.files[number] = _Open(self._handles, path, call)
        yield call

    def _file(self, event: SystemCall, flags: str, at: int = 0) -> tuple[_Open | None, list[Call]]:
        """The open file that an argument names, with the calls that open one that was open before."""
        process = self._process(event.tid)
        number, _ = descriptor_of(event.arguments[at])
        path = self._inside(self._place(process, event.arguments[at]))
        if number is None or path is None:
            return None, []
        known = process.files.get(number)
        if known is not None and known.path == path:
            return known, []
        before = list(self._use(event._replace(errno=None), path))
        self._handles += 1
        call = self._call(event._replace(errno=None), "open", path, self._handles, flags=flags, assumed=True)
        known = process.files[number] = _Open(self._handles, path, call)
        return known, [*before, call]

    def _data(self, event: SystemCall, flags: str) -> Iterator[Call]:
        """read, write and their kin."""
        file, before = self._file(event, flags)
        if file is None:
            return
        yield from before
        writes = flags == "O_WRONLY"
        data = all_data_of(event.arguments[1])
        if data is None or (not writes and event.errno is not None):
            data = None
        positioned = event.name.startswith("p")
        offset = _integer(event.arguments[3]) if positioned and len(event.arguments) > 3 else file.position
        count = event.result if event.errno is None and event.result is not None else 0
        if not positioned:
            file.position += count
        if data is None and (writes or event.errno is None):
            return  # it is cut, so nobody knows what it was
        more: dict[str, Any] = {"handle": file.handle, "offset": offset}
        if writes:
            if event.errno is None:
                self._note("write", file.path, data)
        else:
            sizes = event.arguments[2:3] if not event.name.endswith("v") else []
            more["size"] = _integer(sizes[0]) if sizes else _READ_SIZE
            data = data[:count] if data is not None else None
        yield self._call(event, "write" if writes else "read", file.path, count, data, **more)

    def _seek(self, event: SystemCall) -> Iterator[Call]:
        file, before = self._file(event, "O_RDONLY")
        if file is None:
            return
        yield from before
        offset, whence = _integer(event.arguments[1]), event.arguments[2]
        if event.errno is None:
            file.position = event.result or 0
        yield self._call(event, "lseek", file.path, event.result, handle=file.handle, offset=offset, whence=whence)

    def _duplicate(self, event: SystemCall) -> Iterator[Call]:
        """dup, dup2, dup3, and fcntl with F_DUPFD."""
        process = self._process(event.tid)
        if event.name == "fcntl" and "F_DUPFD" not in event.arguments[1]:
            return
        if event.errno is not None or event.result is None:
            return
        number, _ = descriptor_of(event.arguments[0])
        if number == event.result:
            return
        yield from self._forget(event.comm, process, event.result)
        file = process.files.get(number) if number is not None else None
        if file is not None:
            file.users += 1
            process.files[event.result] = file

    def _closed(self, event: SystemCall) -> Iterator[Call]:
        number, _ = descriptor_of(event.arguments[0])
        if number is not None and event.errno is None:
            yield from self._forget(event.comm, self._process(event.tid), number)

    def _forget(self, comm: str, process: _Process, number: int) -> Iterator[Call]:
        """A descriptor is another file's now, or none's."""
        file = process.files.pop(number, None)
        if file is None:
            return
        file.users -= 1
        if not file.users:
            yield Call(0.0, file.opener.pid, comm, "close", file.path, result=0, more={"handle": file.handle})

    def _made(self, event: SystemCall, path: str | None, mode: str) -> Iterator[Call]:
        made = _mode(mode) & ~self._process(event.tid).mask
        return self._on(event, "mkdir", path, mode=f"{made:04o}")

    def _listed(self, event: SystemCall) -> Iterator[Call]:
        file, before = self._file(event, "O_RDONLY|O_DIRECTORY")
        if file is None or (file.position and event.errno is None):
            return
        yield from before
        file.position = 1  # once for all its parts
        yield self._call(event, "listdir", file.path, 0)


def _integer(text: str) -> int:
    """A number, before the comment that may follow; 0 for what is none."""
    try:
        return int(text.partition(" ")[0], 0)
    except ValueError:
        return 0


def _mode(text: str) -> int:
    try:
        return int(text, 8)
    except ValueError:
        return 0o777


def _flags(known: words.Flags, text: str) -> str:
    """The flags that a trace may have."""
    found = []
    for word in text.split("|"):
        try:
            known.number(word)
        except ValueError:
            continue
        found.append(word)
    return "|".join(found)


_Reader = Callable[[Import, SystemCall], Iterator[Call]]


def _stat(trace: Import, event: SystemCall) -> Iterator[Call]:
    return trace._on(event, "stat", trace._path(event, 0))


def _stat_at(trace: Import, event: SystemCall) -> Iterator[Call]:
    return trace._on(event, "stat", trace._path_at(event, 0))


def _open(trace: Import, event: SystemCall) -> Iterator[Call]:
    flags, mode = event.arguments[1], event.arguments[2] if len(event.arguments) > 2 else ""
    return trace._opened(event, trace._path(event, 0), _flags(words.OPEN, flags), mode)


def _open_at(trace: Import, event: SystemCall) -> Iterator[Call]:
    flags, mode = event.arguments[2], event.arguments[3] if len(event.arguments) > 3 else ""
    if event.name == "openat2":  # a struct open_how
        flags, mode = flags.partition("flags=")[2].partition(",")[0].rstrip("}"), ""
    return trace._opened(event, trace._path_at(event, 0), _flags(words.OPEN, flags), mode)


def _access(trace: Import, event: SystemCall) -> Iterator[Call]:
    at = event.name.startswith("faccessat")
    path = trace._path_at(event, 0) if at else trace._path(event, 0)
    return trace._on(event, "access", path, mask=_flags(words.ACCESS, event.arguments[2 if at else 1]))


def _unlink_at(trace: Import, event: SystemCall) -> Iterator[Call]:
    op = "rmdir" if "AT_REMOVEDIR" in event.arguments[2] else "unlink"
    return trace._on(event, op, trace._path_at(event, 0))


def _rename(trace: Import, event: SystemCall) -> Iterator[Call]:
    if event.name == "rename":
        path, to, flags = trace._path(event, 0), trace._path(event, 1), "0"
    else:
        path, to = trace._path_at(event, 0), trace._path_at(event, 2)
        flags = _flags(words.RENAME, event.arguments[4]) if len(event.arguments) > 4 else "0"
    return trace._on(event, "rename", None if to is None else path, to=to, flags=flags or "0")


def _change_mode(trace: Import, event: SystemCall) -> Iterator[Call]:
    at = event.name.startswith("fchmodat")
    if event.name == "fchmod":
        path = trace._inside(trace._place(trace._process(event.tid), event.arguments[0]))
    else:
        path = trace._path_at(event, 0) if at else trace._path(event, 0)
    return trace._on(event, "chmod", path, mode=f"{_mode(event.arguments[2 if at else 1]):04o}")


def _change_owner(trace: Import, event: SystemCall) -> Iterator[Call]:
    at = event.name == "fchownat"
    if event.name == "fchown":
        path = trace._inside(trace._place(trace._process(event.tid), event.arguments[0]))
    else:
        path = trace._path_at(event, 0) if at else trace._path(event, 0)
    uid, gid = event.arguments[2:4] if at else event.arguments[1:3]
    return trace._on(event, "chown", path, uid=_integer(uid), gid=_integer(gid))


def _truncate(trace: Import, event: SystemCall) -> Iterator[Call]:
    size = _integer(event.arguments[1])
    if event.name == "truncate":
        return trace._on(event, "truncate", trace._path(event, 0), size=size)
    return _truncate_open(trace, event, size)


def _truncate_open(trace: Import, event: SystemCall, size: int) -> Iterator[Call]:
    file, before = trace._file(event, "O_WRONLY")
    if file is not None:
        yield from before
        yield trace._call(event, "truncate", file.path, 0, handle=file.handle, size=size)


def _attribute(trace: Import, event: SystemCall) -> Iterator[Call]:
    """setxattr, getxattr, listxattr, removexattr, also with l and f before."""
    op = event.name.removeprefix("l" if event.name != "listxattr" else "").removeprefix("f")
    if event.name.startswith("f"):
        path = trace._inside(trace._place(trace._process(event.tid), event.arguments[0]))
    else:
        path = trace._path(event, 0)
    more: dict[str, Any] = {}
    data = None
    if op != "listxattr":
        more["name"] = os.fsdecode(data_of(event.arguments[1]) or b"")
    if op == "setxattr":
        data = data_of(event.arguments[2])
        more["flags"] = _flags(words.XATTR, event.arguments[4]) or "0"
    elif op == "getxattr":
        data = data_of(event.arguments[2]) if event.errno is None else None
        more["size"] = _integer(event.arguments[3])
    return trace._on(event, op, path, event.result, data, **more)


def _on_path(op: str) -> _Reader:
    return lambda trace, event: trace._on(event, op, trace._path(event, 0))


_ATTRIBUTES = ("setxattr", "getxattr", "listxattr", "removexattr")
_READERS: Mapping[str, _Reader] = {
    "clone": Import._clone,
    "clone3": Import._clone,
    "fork": Import._clone,
    "vfork": Import._clone,
    "chdir": Import._change_directory,
    "fchdir": Import._change_directory,
    "umask": Import._mask,
    "open": _open,
    "creat": lambda trace, event: trace._opened(
        event, trace._path(event, 0), "O_WRONLY|O_CREAT|O_TRUNC", event.arguments[1]
    ),
    "openat": _open_at,
    "openat2": _open_at,
    **dict.fromkeys(("read", "pread64", "readv", "preadv"), lambda trace, event: trace._data(event, "O_RDONLY")),
    **dict.fromkeys(("write", "pwrite64", "writev", "pwritev"), lambda trace, event: trace._data(event, "O_WRONLY")),
    "lseek": Import._seek,
    **dict.fromkeys(("dup", "dup2", "dup3", "fcntl"), Import._duplicate),
    "close": Import._closed,
    "getdents64": Import._listed,
    **dict.fromkeys(("stat", "lstat"), _stat),
    **dict.fromkeys(("newfstatat", "statx"), _stat_at),
    **dict.fromkeys(("access", "faccessat", "faccessat2"), _access),
    "readlink": _on_path("readlink"),
    "statfs": _on_path("statfs"),
    "mkdir": lambda trace, event: trace._made(event, trace._path(event, 0), event.arguments[1]),
    "mkdirat": lambda trace, event: trace._made(event, trace._path_at(event, 0), event.arguments[2]),
    "rmdir": _on_path("rmdir"),
    "unlink": _on_path("unlink"),
    "unlinkat": _unlink_at,
    **dict.fromkeys(("rename", "renameat", "renameat2"), _rename),
    **dict.fromkeys(("chmod", "fchmod", "fchmodat", "fchmodat2"), _change_mode),
    **dict.fromkeys(("chown", "lchown", "fchown", "fchownat"), _change_owner),
    **dict.fromkeys(("truncate", "ftruncate"), _truncate),
    **dict.fromkeys((f"{kind}{op}" for op in _ATTRIBUTES for kind in ("", "l", "f")), _attribute),
}
"""How the calls are read that may be about the tree."""
