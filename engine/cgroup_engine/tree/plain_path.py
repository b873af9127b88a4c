"""Opens what is below a root, and never through a symbolic link.

openat2(2) with RESOLVE_NO_SYMLINKS opens a path in one call. Linux has it since 5.6. Where the kernel lacks it or a
seccomp filter refuses it, each name of the path is opened by itself with O_NOFOLLOW.

The root is named by its path and not by a descriptor: one that stays open would keep the tree from being unmounted.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from errno import EINTR, EINVAL, ELOOP, ENOSYS, ENOTDIR, EPERM, EXDEV
from functools import cache

_OPENAT2 = 437  # on every architecture
_RESOLVE_NO_SYMLINKS = 0x04  # include/uapi/linux/openat2.h
_HOW_BYTES = 24  # struct open_how: flags, mode, resolve
_AT_FDCWD = -100
#: Flags for a directory that is only a place to go on from.
PLACE = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC


class PlainPaths:
    """The paths below ``root``, an absolute path without a symbolic link in it.

    Links directly below the root are allowed if they lead to a sibling: a v1 layout has ``cpu -> cpu,cpuacct``.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._prefix = os.path.join(root, "")
        self._siblings: dict[str, str] = {}
        self._walks = False

    def open(self, path: str, flags: int) -> int:
        """A descriptor of a path, closed on exec. O_PATH goes with O_DIRECTORY only.

        :raises OSError: ELOOP: ``filename`` is a symbolic link. EXDEV: the path has a "..". Else as open(2).
        """
        if "\0" in path:
            raise OSError(EINVAL, "has a NUL", path)
        if ".." in path and ".." in path.split("/"):
            raise OSError(EXDEV, "leads upwards", path)
        first, slash, rest = path.partition("/")
        known = first in self._siblings
        direct = f"{self._siblings[first]}{slash}{rest}" if known else path
        try:
            return self._opened(direct, flags)
        except OSError as failed:
            if failed.errno != ELOOP:
                raise
        sibling = None if known else self.sibling(first)
        if sibling is None:
            raise self._met(direct)
        self._siblings[first] = sibling
        return self.open(path, flags)

    def sibling(self, name: str) -> str | None:
        """Where a link directly below the root leads to; None if it is no link, or leads elsewhere."""
        try:
            target = os.readlink(self._prefix + name)
        except OSError:
            return None
        above, _, sibling = os.path.normpath(self._prefix + target if target[:1] != "/" else target).rpartition("/")
        return sibling if above == self._root.rstrip("/") and sibling != name else None

    def is_link(self, path: str) -> bool:
        """Is there a symbolic link at a path or on the way to it?"""
        try:
            os.close(self.open(path, PLACE))
        except OSError as failed:
            return failed.errno == ELOOP
        return False

    def _opened(self, path: str, flags: int) -> int:
        if not self._walks:
            try:
                return _openat2(self._prefix + path, flags)
            except OSError as refused:
                if refused.errno not in (ENOSYS, EPERM) or _has_openat2():
                    raise
                self._walks = True
        return _walked(self._root, path, flags)

    def _met(self, path: str) -> OSError:
        """The error that names the first symbolic link on a path."""
        names = path.split("/")
        below = ("/".join(names[:count]) for count in range(1, len(names) + 1))
        link = next((each for each in below if os.path.islink(self._prefix + each)), path)
        return OSError(ELOOP, "is a symbolic link", link)


def _openat2(path: str, flags: int) -> int:
    call, errno = _system_call()
    name = os.fsencode(path)
    while True:
        handle = call(_OPENAT2, _AT_FDCWD, name, _how(flags), _HOW_BYTES)
        if handle >= 0:
            return handle
        if (number := errno()) != EINTR:
            raise OSError(number, os.strerror(number), path)


def _has_openat2() -> bool:
    """Is there an openat2(2) that works? A path can be refused with EPERM too."""
    try:
        os.close(_openat2("/", PLACE))
    except OSError:
        return False
    return True


@cache
def _system_call() -> tuple[Callable[..., int], Callable[[], int]]:
    """syscall(2) for openat2, and the errno that it left."""
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]
    call.restype = ctypes.c_long
    return call, ctypes.get_errno


@cache
def _how(flags: int) -> bytes:
    return b"".join(number.to_bytes(8, sys.byteorder) for number in (flags | os.O_CLOEXEC, 0, _RESOLVE_NO_SYMLINKS))


def _walked(root: str, path: str, flags: int) -> int:
    """As ``_openat2``, name by name."""
    names = [name for name in path.split("/") if name] or ["."]
    place = os.open(root, PLACE | os.O_NOFOLLOW)
    try:
        for name in names[:-1]:
            below = _opened_at(place, name, PLACE)
            os.close(place)
            place = below
        return _opened_at(place, names[-1], flags)
    finally:
        os.close(place)


def _opened_at(place: int, name: str, flags: int) -> int:
    try:
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place)
    except NotADirectoryError:  # O_DIRECTORY is checked before O_NOFOLLOW
        try:
            os.readlink(name, dir_fd=place)
        except OSError:
            raise NotADirectoryError(ENOTDIR, os.strerror(ENOTDIR), name) from None
        raise OSError(ELOOP, os.strerror(ELOOP), name) from None
