"""The children of a cgroup with many of them, in the order of readdir, kept from one listing to the next."""

from __future__ import annotations

from bisect import bisect_left
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING

from ..kernfs.inode import DT_DIR
from ..kernfs.namehash import in_order, name_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .cgroup import Cgroup

_FEW = 64  # changes that are made one by one


class ChildOrder:
    """Names and inode numbers in order. It is brought up to date for a listing, so that mkdir and rmdir stay fast."""

    __slots__ = ("_changed", "_inos", "_key", "_names", "_signed")

    def __init__(self, children: Mapping[str, Cgroup], signed_char: bool) -> None:
        self._signed = signed_char
        self._key = partial(name_key, signed_char=signed_char)
        self._changed: set[str] = set()
        self._begin(children)

    def _begin(self, children: Mapping[str, Cgroup]) -> None:
        self._names = in_order(children, self._signed)
        self._inos = [children[name].ino for name in self._names]

    def changed(self, name: str) -> None:
        """Note that a child of this name has come or gone."""
        self._changed.add(name)

    def update(self, children: Mapping[str, Cgroup]) -> None:
        """Take in what has changed. `children` are those that there are now."""
        if len(self._changed) > _FEW:
            self._begin(children)
        else:
            for name in self._changed:
                at = self.index(self._key(name))
                if self._names[at : at + 1] == [name]:
                    del self._names[at], self._inos[at]
                if name in children:
                    self._names.insert(at, name)
                    self._inos.insert(at, children[name].ino)
        self._changed.clear()

    def index(self, key: bytes, start: int = 0) -> int:
        """Where a name with this sort key stands, or would, from `start` on."""
        return bisect_left(self._names, key, start, key=self._key)

    def entries(self, start: int, end: int | None = None) -> list[tuple[str, int, int]]:
        """The entries of a directory from one index to another."""
        return list(zip(self._names[start:end], self._inos[start:end], repeat(DT_DIR)))
