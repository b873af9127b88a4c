"""Looks up the paths of a trapped call: from the caller's root and working directory, and with its rights.

The daemon is in other namespaces, so what a path leads to is opened there by way of /proc/TID. "Own part" is the
caller's directory in /proc, where `self` and `thread-self` lead it. They would lead the daemon to its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from errno import ELOOP, ENOENT, EXDEV
from struct import pack

from fakecgroup.named_tuple import NamedTuple
from fakecgroup.refuse import refuse
from fakecgroup_mount.calls.caller_credentials import with_credentials_of
from fakecgroup_mount.host.pid_namespaces import pid_namespace_of_proc
from fakecgroup_mount.seccomp import syscalls
from fakecgroup_mount.seccomp.process import PROC_SUPER_MAGIC, statfs_type, thread_group

# include/uapi/linux/openat2.h
RESOLVE_NO_SYMLINKS, RESOLVE_BENEATH, RESOLVE_IN_ROOT = 0x04, 0x08, 0x10

_HOW = 24  # bytes of a struct open_how
_PROC_ROOT_INO = 1  # fs/proc/internal.h


def fd_path(tid: int, fd: int) -> str:
    """The path in the daemon's /proc of a thread's descriptor; AT_FDCWD is its working directory."""
    return f"/proc/{tid}/cwd" if fd == syscalls.AT_FDCWD else f"/proc/{tid}/fd/{fd}"


def lookup(tid: int, fd: int, path: bytes, *, follow: bool = True) -> int:
    """Opens with O_PATH what `path` leads a thread to from its descriptor `fd`. Raises OSError.

    Two links lead elsewhere than for the caller. A symbolic link on the way that names /proc/self leads to the daemon's
    own part of /proc, unless `path` itself names that. An absolute link behind /proc/PID/cwd or /proc/PID/fd/N begins
    at the daemon's root.
    """
    if not path:
        raise refuse(ENOENT)
    flags = os.O_PATH | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    part = _own_part(tid, fd, path)
    if part is not None:
        link, rest = part.link()
        if link and (rest or follow):
            return _lookup_from(tid, link, rest, flags) if rest else os.open(link, flags)
        path = part.path
    if path.startswith(b"/"):
        return _lookup_from_root(tid, path, flags)
    return _lookup_from(tid, os.fsencode(fd_path(tid, fd)), path, flags)


def _lookup_from(tid: int, base: bytes, path: bytes, flags: int) -> int:
    """Looks up `path` from `base`, a path of the daemon's."""
    try:
        return _open_from(tid, base, path, flags, RESOLVE_NO_SYMLINKS)
    except OSError as error:
        if error.errno != ELOOP:
            raise
    whole = os.readlink(base)
    if not _leads_to(tid, whole, base):
        return _open_from(tid, base, path, flags, 0)
    return _lookup_from_root(tid, whole + b"/" + path, flags)


def _lookup_from_root(tid: int, path: bytes, flags: int) -> int:
    root = b"/proc/%d/root" % tid
    try:
        return _open_from(tid, root, path, flags, RESOLVE_IN_ROOT)
    except OSError as error:
        if error.errno != EXDEV:
            raise
    return _open_from(tid, root, path.lstrip(b"/") or b".", flags, 0)


class _OwnPart(NamedTuple):
    """A path through a thread's own part of /proc, in pieces.

    `before` and `after` are the names around that part. `own` is its path from there in the thread's /proc, `ours` its
    path for the daemon.
    """

    before: list[bytes]
    own: bytes
    ours: bytes
    after: list[bytes]

    @property
    def path(self) -> bytes:
        return b"/".join([*self.before, self.own, *self.after])

    def link(self) -> tuple[bytes, bytes]:
        """The magic link after the own part (cwd, root, fd/N), as a path of the daemon's, and the rest of the path.

        Both are empty if there is none. A thread may follow its own magic links, even where no other may.
        """
        names = [name for name in self.after if name not in (b"", b".")]
        if names[:1] == [b"fd"] and len(names) > 1 and names[1].isdigit():
            return b"%s/fd/%s" % (self.ours, names[1]), b"/".join(names[2:])
        if names[:1] in ([b"cwd"], [b"root"]):
            return b"%s/%s" % (self.ours, names[0]), b"/".join(names[1:])
        return b"", b""


def _own_part(tid: int, fd: int, path: bytes) -> _OwnPart | None:
    """The path in pieces; None if no name in it is the link `self` or `thread-self` of /proc. Raises OSError."""
    names = path.split(b"/")
    index = next((index for index, name in enumerate(names) if name in (b"self", b"thread-self")), None)
    if index is None:
        return None
    proc = lookup(tid, fd, b"/".join(names[:index]) or (b"/" if index else b"."))
    try:
        found = os.fstat(proc)
        if found.st_ino != _PROC_ROOT_INO or statfs_type(proc) != PROC_SUPER_MAGIC:
            return None
        tgid, thread = thread_group(tid), tid
        ours = b"/proc/%d" % (tgid if names[index] == b"self" else thread)
        if found.st_dev != os.stat("/proc").st_dev:
            numbers = pid_namespace_of_proc(f"/proc/self/fd/{proc}", tid)
            tgid, thread = numbers.number(tgid), numbers.number(tid)
    finally:
        os.close(proc)
    own = b"%d" % tgid if names[index] == b"self" else b"%d/task/%d" % (tgid, thread)
    return _OwnPart(names[:index], own, ours, names[index + 1 :])


def with_own_pid(tid: int, fd: int, path: bytes) -> bytes:
    """A path with the thread's pid instead of the first `self` or `thread-self` that is a link of /proc."""
    part = _own_part(tid, fd, path)
    return path if part is None else part.path


def lookup_within(tid: int, fd: int, path: bytes, resolve: int) -> int:
    """Does what `lookup` does, with the RESOLVE_* flags of openat2(2). Raises OSError."""
    numbered = with_own_pid(tid, fd, path)
    if numbered != path and resolve & RESOLVE_NO_SYMLINKS:
        raise refuse(ELOOP)
    base = os.fsencode(fd_path(tid, fd))
    if path.startswith(b"/") and not resolve & (RESOLVE_BENEATH | RESOLVE_IN_ROOT):
        base, numbered = b"/proc/%d/root" % tid, numbered.lstrip(b"/")
    return _open_from(tid, base, numbered, os.O_PATH | os.O_CLOEXEC, resolve)


def _open_from(tid: int, directory: bytes, path: bytes, flags: int, resolve: int) -> int:
    """Looks up a path from `directory`, a path of the daemon's, with the thread's rights."""
    with _held(directory) as base:
        return with_credentials_of(
            tid, lambda more: syscalls.syscall("openat2", base, path, pack("=QQQ", flags, 0, resolve | more), _HOW)
        )


@contextmanager
def _held(path: bytes) -> Iterator[int]:
    base = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        yield base
    finally:
        os.close(base)


def _leads_to(tid: int, path: bytes, place: bytes) -> bool:
    """Whether a path leads the thread to what is at `place`, a path of the daemon's."""
    try:
        found = _open_from(tid, b"/proc/%d/root" % tid, path, os.O_PATH | os.O_CLOEXEC, RESOLVE_IN_ROOT)
    except OSError:
        return False
    try:
        return os.path.samestat(os.fstat(found), os.stat(place))
    finally:
        os.close(found)
