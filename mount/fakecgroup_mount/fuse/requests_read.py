"""Reads FUSE requests and their replies as the calls that programs made.

Some requests are no call of a program's: each name of a path is looked up before the call itself, and a lookup alone is
all that the kernel module makes of stat(2), or of an open(2) with O_PATH. So a lookup is held back until the same
thread's next request tells what it was for.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from errno import ENOSYS, errorcode
from struct import Struct
from typing import Any

from fakecgroup.trace import words
from fakecgroup.trace.call import Call
from fakecgroup_mount.control.directory import CONTROL_XATTR
from fakecgroup_mount.fuse import wire
from fakecgroup_mount.record.callers import Who
from fakecgroup_mount.record.order import Order, Slot

_OUT = wire.OUT_SIZE
_DATA = Struct("=QqI")  # fh offset size
_NUMBER = Struct("=Q")
_WHOLE = Struct("=I")
_ERROR = Struct("=i")
_LSEEK = Struct("=QQI")  # fh offset whence
_COPY = Struct("=QqQQqQ")  # fh_in off_in nodeid_out fh_out off_out len
_LENGTH_BEFORE = 8  # bytes from its length to the name of a directory's entry
_NS = 1_000_000_000
_THREADS = 1000  # with lookups that are held back
_CAPABILITY = "security.capability"  # the module asks for it by itself
_TOP = (".", "")
_OPENS = (wire.OPEN, wire.OPENDIR)
_RELEASES = (wire.RELEASE, wire.RELEASEDIR)
_OWN_XATTRS = CONTROL_XATTR.rpartition(".")[0] + "."


_Told = tuple[str, dict[str, Any], "bytes | None", Any, "str | None", "str | None"]
"""What a request says of the call: its name, what else matters, data, answer, and two names: of the entry in the node's
directory that the call is about, or None where it is the node itself, and of the entry in the other node's directory.
"""


def _told(
    op: str, more: dict[str, Any], data: bytes | None = None, result: Any = 0, name: str | None = None,
    to: str | None = None,
) -> _Told:  # fmt: skip
    return op, more, data, result, name, to


class _Lookup(Slot):
    """A lookup that is held back. `found` is the node, 0 for none."""

    __slots__ = ("_about", "found", "name", "parent")

    def __init__(self, when: int, parent: int, name: bytes, found: int, about: tuple[Who, bytes, str, int]) -> None:
        self.when = when
        self.open = self.kept = True
        self.parent = parent
        self.name = name
        self.found = found
        self._about = about

    def call(self) -> Call:
        who, name, path, code = self._about
        told = _told("lookup" if code else "stat", {}, name=os.fsdecode(self.name))
        return _call(self.when, who, name, path, "", told, code)


class _Listing(Slot):
    """A list whose parts are read one after another. `number` are the entries so far."""

    __slots__ = ("_first", "number")

    def __init__(self, when: int, first: Call) -> None:
        super().__init__(when)
        self.number = first.result
        self._first = first

    def call(self) -> Call:
        more = {key: value for key, value in self._first.more.items() if key != "offset"}
        return self._first._replace(result=self.number, more=more)


class RequestsRead:
    """The requests of one mount, in their order."""

    def __init__(self) -> None:
        self._lookups: dict[int, list[_Lookup]] = {}  # by thread
        self._listings: dict[int, _Listing] = {}  # by handle, until its end is read
        self._openers: dict[int, tuple[Who, bytes]] = {}  # by handle

    def read(
        self, order: Order, when: int, opcode: int, who: Who, name: bytes, node_id: int, path: str, alive: bool,
        other: str, request: bytes, answer: bytes | int | None, more: dict[str, Any] | None,
    ) -> None:  # fmt: skip
        """Adds the call of a request. `answer` is the reply, or an errno.

        `path` is that of the node, which was removed before if it is not `alive`; `other` is that of the second one of
        RENAME and LINK. `more` is what else matters.
        """
        reply = answer if isinstance(answer, bytes) else b""
        code = answer if isinstance(answer, int) else -_ERROR.unpack_from(reply, 4)[0] if reply else 0
        if opcode == wire.FSYNC and code == ENOSYS:
            code = 0  # so the module takes it
        if opcode == wire.LOOKUP:
            self._look_up(order, when, who, name, node_id, path, request, reply, code)
            return
        told = _READERS[opcode](request, b"" if code else reply) if opcode in _READERS else None
        if told is None:
            return
        if who.tid in self._lookups:
            self._use(self._lookups.pop(who.tid), node_id, told, request)
        if opcode in _RELEASES:  # nobody knows who closes a file last
            handle = told[1]["handle"]
            who, name = self._openers.pop(handle, (who, name))
            self._close_listing(handle)
        elif opcode in _OPENS and not code:
            self._openers[told[3]] = who, name
        if not alive:
            told[1]["removed"] = True
        if more is not None:
            told[1].update(more)
        call = _call(when, who, name, path, other, told, code)
        if opcode == wire.READDIR and not code:
            self._list(order, when, call)
        else:
            order.add(when, call)

    def _look_up(
        self, order: Order, when: int, who: Who, name: bytes, parent: int, path: str, request: bytes, reply: bytes,
        code: int,
    ) -> None:  # fmt: skip
        found = 0 if code else _NUMBER.unpack_from(reply, _OUT)[0]
        slot = _Lookup(when, parent, request[:-1], found, (who, name, path, code))
        order.hold(slot)
        earlier = self._lookups.get(who.tid)
        if earlier is None:
            self._lookups[who.tid] = [slot]
            if len(self._lookups) > _THREADS:
                self._lookups = {tid: held for tid, held in self._lookups.items() if held[-1].open}
            return
        for held in reversed(earlier):  # the path of this one led through it
            if held.found == parent and held.open:
                held.drop()
                break
        earlier[:] = [held for held in earlier if held.open]
        earlier.append(slot)

    def _use(self, held_back: list[_Lookup], node_id: int, told: _Told, request: bytes) -> None:
        """Drops the lookups that belong to a request. Those before it were calls of their own."""
        name, to = told[4:]
        other = _NUMBER.unpack_from(request)[0] if to is not None else 0
        entries = [(at, os.fsencode(entry)) for at, entry in ((node_id, name), (other, to)) if entry]
        for held in held_back:
            if held.found in (node_id, other or node_id) or (held.parent, held.name) in entries:
                held.drop()
            else:
                held.open = False

    def _list(self, order: Order, when: int, call: Call) -> None:
        """One call for all parts of a list."""
        handle, number = call.more["handle"], call.result
        listing = self._listings.get(handle)
        if call.more["offset"] == 0 or listing is None or not listing.open:
            self._close_listing(handle)
            listing = self._listings[handle] = _Listing(when, call)
            order.hold(listing)
        else:
            listing.number += number
        if not number:
            self._close_listing(handle)

    def _close_listing(self, handle: int) -> None:
        listing = self._listings.pop(handle, None)
        if listing is not None:
            listing.open = False


def _call(when: int, who: Who, name: bytes, path: str, other: str, told: _Told, code: int) -> Call:
    op, more, data, result, entry, to = told
    if who.more:
        more = {**who.more, **more}
    if entry is not None:
        path = entry if path in _TOP else f"{path}/{entry}"
    if to is not None:
        to = to if other in _TOP else f"{other}/{to}"
        if op == "link":
            path, to = other, path
        more["to"] = to
    error = None
    if code:
        error, result = errorcode.get(code) or f"E{code}", None
    return Call(when / _NS, who.tgid, who.text(name), op, path, data, error, result, more)


def _name(data: bytes) -> str:
    return os.fsdecode(data.rstrip(b"\0"))


def _two_names(data: bytes) -> tuple[str, str]:
    first, _, second = data.rstrip(b"\0").partition(b"\0")
    return os.fsdecode(first), os.fsdecode(second)


def _mode(mode: int) -> str:
    return f"{mode & 0o7777:04o}"


# -- one reader for each opcode: what the request and a reply without an error say ----------------


def _getattr(request: bytes, reply: bytes) -> _Told:
    flags, _, handle = wire.GETATTR_IN.unpack_from(request)
    return _told("stat", {"handle": handle} if flags & wire.GETATTR_FH else {})


def _setattr(request: bytes, reply: bytes) -> _Told:
    (valid, _, handle, size, _, atime, mtime, _, _, _, _, mode, _, uid, gid, _) = wire.SETATTR_IN.unpack_from(request)
    more: dict[str, Any] = {}
    if valid & wire.FATTR_SIZE:
        if valid & wire.FATTR_FH:
            more["handle"] = handle
        return _told("truncate", {**more, "size": size})
    if valid & (wire.FATTR_UID | wire.FATTR_GID) or not valid & ~wire.FATTR_KILL_SUIDGID:
        more["uid"] = uid if valid & wire.FATTR_UID else -1
        more["gid"] = gid if valid & wire.FATTR_GID else -1
        return _told("chown", more)
    if valid & wire.FATTR_MODE:
        return _told("chmod", {"mode": _mode(mode)})
    return _told("utimens", {
        "atime": "now" if valid & wire.FATTR_ATIME_NOW else atime if valid & wire.FATTR_ATIME else "omit",
        "mtime": "now" if valid & wire.FATTR_MTIME_NOW else mtime if valid & wire.FATTR_MTIME else "omit",
    })  # fmt: skip


def _readlink(request: bytes, reply: bytes) -> _Told:
    return _told("readlink", {}, reply[_OUT:], len(reply) - _OUT)


def _symlink(request: bytes, reply: bytes) -> _Told:
    name, target = _two_names(request)
    return _told("symlink", {}, os.fsencode(target), name=name)


def _mknod(request: bytes, reply: bytes) -> _Told:
    mode, device, _, _ = wire.MKNOD_IN.unpack_from(request)
    return _told("mknod", {"mode": f"{mode:07o}", "device": device}, name=_name(request[wire.MKNOD_IN.size :]))


def _mkdir(request: bytes, reply: bytes) -> _Told:
    mode, _ = wire.MKDIR_IN.unpack_from(request)
    return _told("mkdir", {"mode": _mode(mode)}, name=_name(request[wire.MKDIR_IN.size :]))


def _unlink(request: bytes, reply: bytes) -> _Told:
    return _told("unlink", {}, name=_name(request))


def _rmdir(request: bytes, reply: bytes) -> _Told:
    return _told("rmdir", {}, name=_name(request))


def _rename(request: bytes, reply: bytes) -> _Told:
    name, to = _two_names(request[wire.RENAME_IN.size :])
    return _told("rename", {}, name=name, to=to)


def _rename2(request: bytes, reply: bytes) -> _Told:
    _, flags, _ = wire.RENAME2_IN.unpack_from(request)
    name, to = _two_names(request[wire.RENAME2_IN.size :])
    return _told("rename", {"flags": words.RENAME.text(flags)} if flags else {}, name=name, to=to)


def _link(request: bytes, reply: bytes) -> _Told:
    """The node is the directory; the file that is to get another name is the other one."""
    return _told("link", {}, name=_name(request[wire.LINK_IN.size :]), to="")


def _open(request: bytes, reply: bytes) -> _Told:
    flags, _ = wire.OPEN_IN.unpack_from(request)
    return _opened(flags, reply)


def _opendir(request: bytes, reply: bytes) -> _Told:
    flags, _ = wire.OPEN_IN.unpack_from(request)
    return _opened(flags | os.O_DIRECTORY, reply)


def _opened(flags: int, reply: bytes) -> _Told:
    handle = _NUMBER.unpack_from(reply, _OUT)[0] if reply else None
    return _told("open", {"flags": words.OPEN.text(flags)}, result=handle)


def _create(request: bytes, reply: bytes) -> _Told:
    flags, mode, _, _ = wire.CREATE_IN.unpack_from(request)
    more = {"flags": words.OPEN.text(flags | os.O_CREAT), "mode": _mode(mode)}
    return _told("open", more, result=None, name=_name(request[wire.CREATE_IN.size :]))


def _release(request: bytes, reply: bytes) -> _Told:
    return _told("close", {"handle": _NUMBER.unpack_from(request)[0]})


def _read(request: bytes, reply: bytes) -> _Told:
    handle, offset, size = _DATA.unpack_from(request)
    data = reply[_OUT:]
    return _told("read", {"handle": handle, "size": size, "offset": offset}, data if reply else None, len(data))


def _write(request: bytes, reply: bytes) -> _Told:
    handle, offset, size = _DATA.unpack_from(request)
    data = request[wire.WRITE_IN.size : wire.WRITE_IN.size + size]
    more = {"handle": handle}
    if offset:
        more["offset"] = offset
    return _told("write", more, data, _WHOLE.unpack_from(reply, _OUT)[0] if reply else None)


def _readdir(request: bytes, reply: bytes) -> _Told:
    handle, offset, _ = _DATA.unpack_from(request)
    return _told("listdir", {"handle": handle, "offset": offset}, result=_names(reply))


def _names(reply: bytes) -> int:
    """The number of entries in a part of a list, without . and .."""
    at, number = _OUT + wire.DIRENT.size, 0  # of a name
    while at <= len(reply):
        (length,) = _WHOLE.unpack_from(reply, at - _LENGTH_BEFORE)
        if length > 2 or reply[at : at + length] not in (b".", b".."):
            number += 1
        at += (length + 7 & ~7) + wire.DIRENT.size
    return number


def _copy_file_range(request: bytes, reply: bytes) -> _Told:
    handle, offset, _, to_handle, _, size = _COPY.unpack_from(request)
    more = {"handle": handle, "offset": offset, "to_handle": to_handle, "size": size}
    return _told("copy_file_range", more, result=_WHOLE.unpack_from(reply, _OUT)[0] if reply else None)


def _fsync(request: bytes, reply: bytes) -> _Told:
    return _told("fsync", {"handle": _NUMBER.unpack_from(request)[0]})


def _statfs(request: bytes, reply: bytes) -> _Told:
    return _told("statfs", {})


def _access(request: bytes, reply: bytes) -> _Told:
    mask, _ = wire.ACCESS_IN.unpack_from(request)
    return _told("access", {"mask": words.ACCESS.text(mask)})


def _setxattr(request: bytes, reply: bytes) -> _Told:
    size, flags = wire.SETXATTR_IN.unpack_from(request)
    more = {"name": _name(request[wire.SETXATTR_IN.size : len(request) - size])}
    if flags:
        more["flags"] = words.XATTR.text(flags)
    return _told("setxattr", more, request[len(request) - size :])


def _getxattr(request: bytes, reply: bytes) -> _Told | None:
    size, _ = wire.GETXATTR_IN.unpack_from(request)
    name = _name(request[wire.GETXATTR_IN.size :])
    if name == _CAPABILITY or name.startswith(_OWN_XATTRS):
        return None
    length, data = _sized(reply, size)
    return _told("getxattr", {"name": name, "size": size}, data, length)


def _listxattr(request: bytes, reply: bytes) -> _Told:
    size, _ = wire.GETXATTR_IN.unpack_from(request)
    length, data = _sized(reply, size)
    return _told("listxattr", {"size": size}, data, length)


def _sized(reply: bytes, size: int) -> tuple[int | None, bytes | None]:
    """The length and the data of a reply to a caller with a buffer of `size` bytes."""
    if not reply:
        return None, None
    if not size:
        return _WHOLE.unpack_from(reply, _OUT)[0], None
    return len(reply) - _OUT, reply[_OUT:]


def _removexattr(request: bytes, reply: bytes) -> _Told:
    return _told("removexattr", {"name": _name(request)})


def _poll(request: bytes, reply: bytes) -> _Told:
    handle, _, _, events = wire.POLL_IN.unpack_from(request)
    ready = _WHOLE.unpack_from(reply, _OUT)[0] & events if reply else 0
    return _told("poll", {"handle": handle, "events": words.POLL.text(events)}, result=words.POLL.text(ready))


def _lseek(request: bytes, reply: bytes) -> _Told:
    handle, offset, whence = _LSEEK.unpack_from(request)
    return _told("lseek", {"handle": handle, "offset": offset, "whence": words.whence_text(whence)}, result=None)


def _ioctl(request: bytes, reply: bytes) -> _Told:
    return _told("ioctl", {"handle": _NUMBER.unpack_from(request)[0]}, result=None)


_READERS: dict[int, Callable[[bytes, bytes], _Told | None]] = {
    wire.GETATTR: _getattr,
    wire.SETATTR: _setattr,
    wire.READLINK: _readlink,
    wire.SYMLINK: _symlink,
    wire.MKNOD: _mknod,
    wire.MKDIR: _mkdir,
    wire.UNLINK: _unlink,
    wire.RMDIR: _rmdir,
    wire.RENAME: _rename,
    wire.RENAME2: _rename2,
    wire.LINK: _link,
    wire.CREATE: _create,
    wire.OPEN: _open,
    wire.OPENDIR: _opendir,
    wire.RELEASE: _release,
    wire.RELEASEDIR: _release,
    wire.READ: _read,
    wire.WRITE: _write,
    wire.READDIR: _readdir,
    wire.FSYNC: _fsync,
    wire.FSYNCDIR: _fsync,
    wire.STATFS: _statfs,
    wire.ACCESS: _access,
    wire.SETXATTR: _setxattr,
    wire.GETXATTR: _getxattr,
    wire.LISTXATTR: _listxattr,
    wire.REMOVEXATTR: _removexattr,
    wire.POLL: _poll,
    wire.LSEEK: _lseek,
    wire.COPY_FILE_RANGE: _copy_file_range,
    wire.IOCTL: _ioctl,
}
