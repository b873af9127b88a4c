"""Random cases about who may: processes with some capabilities, as root or not, do things with what others own."""

from __future__ import annotations

import random
from typing import Any

from fakecgroup.conformance.fuzz_mix import Kind, Ops, mix

_DIRECTORIES = ("a", "b", "a/c", "a/d")
_WHO = ("p", "q", "r")
_CAPABILITIES = ("DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "CHOWN", "FSETID", "SYS_ADMIN", "SYS_RESOURCE",
                 "SYS_NICE", "SETFCAP", "KILL")  # fmt: skip
_MODES = ("0755", "0700", "0777", "0000", "0555", "2755", "4755", "1777")
_FILE_MODES = ("0644", "0600", "0666", "0000", "0444", "4755", "2775")
_IDS = (0, 1000, 2000)
_FILES = ("cgroup.procs", "cgroup.procs", "pids.max")


def capability_ops(chance: random.Random, length: int, root: str) -> Ops:
    """``length`` operations in the hierarchy with pids whose directory is ``root``, "" for the unified one."""
    return _Writer(chance, root).ops(length)


class _Writer:
    def __init__(self, chance: random.Random, root: str) -> None:
        self._chance = chance
        self._root = root
        self._places = [f"{root}/{name}".lstrip("/") for name in _DIRECTORIES]
        self._handles = 0

    def ops(self, length: int) -> Ops:
        chance = self._chance
        result: Ops = [] if self._root else [("write", "cgroup.subtree_control", "+pids")]
        for place in self._places:
            result.append(("mkdir", place))
            if not self._root and place == "a":
                result.append(("write", "a/cgroup.subtree_control", "+pids"))
        for path in [*self._places, *(f"{place}/{chance.choice(_FILES)}" for place in self._places)]:
            if chance.random() < 0.6:
                result.append(("chown", path, chance.choice(_IDS), chance.choice(_IDS)))
            if chance.random() < 0.3:
                result.append(("chmod", path, chance.choice(_MODES)))
        for name in _WHO:
            result.append(("fork", name))
            if chance.random() < 0.3:
                result.append(("write", f"{chance.choice(self._places)}/cgroup.procs", f"${name}"))
            if chance.random() < 0.15:
                result.append(("in", name, "user_namespace"))
            elif chance.random() < 0.7:
                result.append(("in", name, "as", chance.choice(_IDS), chance.choice(_IDS)))
            result.append(("in", name, "capabilities", self._capabilities()))
        kinds: list[Kind] = [
            (3, self._directory),
            (6, self._write),
            (3, self._read),
            (5, self._attributes),
            (3, self._handle),
            (2, self._again),
        ]
        mix(chance, kinds, result, length)
        return result[:length]

    def _capabilities(self) -> str:
        chance = self._chance
        some = "|".join(chance.sample(_CAPABILITIES, chance.choice((0, 1, 1, 1, 2))))
        return f"~{some}" if some and chance.random() < 0.4 else some

    def _by(self, *operation: Any) -> tuple[Any, ...]:
        return ("in", self._chance.choice(_WHO), *operation)

    def _place(self) -> str:
        return self._chance.choice(self._places)

    def _path(self) -> str:
        return self._place() if self._chance.random() < 0.4 else f"{self._place()}/{self._chance.choice(_FILES)}"

    def _directory(self) -> Ops:
        chance = self._chance
        place = f"{self._place()}/n"
        if chance.random() < 0.6:
            return [self._by("mkdir", place, chance.choice(_MODES)), ("stat", place)]
        return [self._by("rmdir", chance.choice((place, self._place())))]

    def _write(self) -> Ops:
        chance = self._chance
        if chance.random() < 0.6:
            return [self._by("write", f"{self._place()}/cgroup.procs", f"${chance.choice(_WHO)}")]
        return [self._by("write", f"{self._place()}/pids.max", chance.choice(("7", "max")))]

    def _read(self) -> Ops:
        chance = self._chance
        if chance.random() < 0.5:
            return [self._by("read", f"{self._place()}/{chance.choice(_FILES)}")]
        return [self._by(chance.choice(("listdir", "stat")), self._place())]

    def _attributes(self) -> Ops:
        chance = self._chance
        path = self._path()
        operation: tuple[Any, ...] = chance.choice(
            (
                ("chmod", path, chance.choice(_FILE_MODES if "." in path else _MODES)),
                ("chown", path, chance.choice((*_IDS, -1)), chance.choice((*_IDS, -1))),
                ("utimens", path, 5, 7),
                ("access", path, chance.choice("RWX")),
                ("setxattr", path, chance.choice(("user.x", "trusted.x", "security.x")), "v"),
                ("removexattr", path, chance.choice(("user.x", "trusted.x"))),
                ("truncate", path, 0),
            )
        )
        return [self._by(*operation), ("stat", path)]

    def _handle(self) -> Ops:
        """Opened by one, written by another: the opener's rights count."""
        chance = self._chance
        who = chance.choice(_WHO)
        self._handles += 1
        handle = f"h{self._handles % 4}"
        path = f"{self._place()}/cgroup.procs"
        return [
            ("in", who, "open", handle, path, chance.choice(("O_RDWR", "O_WRONLY"))),
            *([("in", who, "capabilities", "")] if chance.random() < 0.2 else []),
            ("in", who, "fwrite", handle, f"${chance.choice(_WHO)}"),
        ]

    def _again(self) -> Ops:
        """Less of its capabilities, or other ids."""
        chance = self._chance
        if chance.random() < 0.5:
            return [self._by("capabilities", self._capabilities())]
        return [self._by("as", chance.choice(_IDS), chance.choice(_IDS))]
