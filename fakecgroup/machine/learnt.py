"""Learnt kernels: what a kernel that is none of ours was seen to be. `docs/reference/learnt-kernels.md` has the format.

A learnt kernel's file comes from strangers. It is data: it is read within bounds, and nothing of it is executed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .personality import PERSONALITIES, Personality, SeenFiles, Version

FORMAT = 1
MOST_BYTES = 64 << 20  # unpacked
_MOST_VALUES = 4_000_000  # lists, objects and what they hold; a file of all cases has less than a tenth
_LONGEST = 255  # of names, in characters
_MOST_NAMES = 10_000
_LAYOUTS = ("v2", "v1", "hybrid")
_VERSION = re.compile(r"(\d{1,4})\.(\d{1,4})")


class LearntError(ValueError):
    """A learnt kernel's file cannot be used. The text is one line: the file, and what is wrong."""


@dataclass(frozen=True, slots=True)
class LearntLayout:
    """What was learnt on one layout.

    `rules` is the version whose rules it plays: a known kernel's, or one between two. `answers` is still as in the
    file: `fakecgroup.conformance.learnt_answers` reads it. `gaps` has the operations that the model answers otherwise:
    their numbers by the name of the case.
    """

    rules: Version
    answers: Mapping[str, Any] = field(repr=False)
    gaps: Mapping[str, tuple[int, ...]] = field(repr=False)


@dataclass(frozen=True, slots=True)
class LearntKernel:
    """A learnt kernel: `called` as the file, `release` as in uname(2), the `config` options that are y, the layouts.

    `dfl` and `legacy` are the files of the unified hierarchy and of v1. `machine` is the one that was asked: `cpus`,
    `nodes`, `memory` and `swap` in bytes, `block_devices`. `about` is for people: the date, the name of a package.
    """

    called: str
    release: str
    config: frozenset[str] = field(repr=False)
    layouts: Mapping[str, LearntLayout]
    dfl: SeenFiles | None = field(repr=False)
    legacy: SeenFiles | None = field(repr=False)
    machine: Mapping[str, Any] = field(repr=False)
    about: Mapping[str, Any] = field(repr=False)

    def __str__(self) -> str:
        return self.called

    def __hash__(self) -> int:
        return hash((self.called, self.release))

    def personality(self, layout: str) -> Personality:
        """How the model plays it on one layout. Raises LearntError (a ValueError) for a layout that was not learnt."""
        one = self.layouts.get(layout)
        if one is None:
            raise LearntError(f"no layout {layout!r} in {self.called}: there is {', '.join(self.layouts)}")
        return Personality(
            version=one.rules,
            layouts=frozenset(self.layouts),
            config=self.config,
            release=self.release,
            dfl=self.dfl,
            legacy=self.legacy,
        )


def parse(data: bytes, called: str) -> LearntKernel:
    """The learnt kernel in the bytes of a file. Raises LearntError. Fields that are not known are ignored."""

    def wrong(why: str) -> LearntError:
        return LearntError(f"{called} is no learnt kernel: {why}")

    text = _unpacked(data, wrong)
    import json

    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise wrong("it is not JSON inside") from None
    if not isinstance(value, dict) or "format" not in value:
        raise wrong("it has no format")
    if value["format"] != FORMAT:
        raise wrong(f"its format is {str(value['format'])[:20]!r}, and this version reads {FORMAT}")
    try:
        return _learnt(value, called)
    except _ShapeError as error:
        raise wrong(str(error)) from None


def _unpacked(data: bytes, wrong: Callable[[str], LearntError]) -> bytes:
    import gzip
    import io
    import zlib

    if not data:
        raise wrong("it is empty")
    try:
        text = gzip.GzipFile(fileobj=io.BytesIO(data)).read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise wrong("it is cut off" if isinstance(error, EOFError) else "it is not gzip") from None
    if len(text) > MOST_BYTES:
        raise wrong(f"it has more than {MOST_BYTES >> 20} MiB unpacked")
    if sum(map(text.count, (b"[", b"{", b",", b":"))) > _MOST_VALUES:
        raise wrong(f"it has more than {_MOST_VALUES:,} values")
    return text


class _ShapeError(Exception):
    """A field is missing or not what it should be; the text says which."""


def _learnt(value: dict[str, Any], called: str) -> LearntKernel:
    kernel = _object(value, "kernel")
    layouts = _object(value, "layouts")
    known = [name for name in _LAYOUTS if name in layouts]
    if not known:
        raise _ShapeError("it has no layout that is known")
    return LearntKernel(
        called=called,
        release=_text(kernel, "release", "kernel."),
        config=_names(value, "config"),
        layouts={name: _layout(_object(layouts, name, "layouts."), f"layouts.{name}.") for name in known},
        dfl=_seen(value, "v2"),
        legacy=_seen(value, "v1"),
        machine=_machine(_object(value, "machine")),
        about={**_plain(kernel), **_plain(value)},
    )


def _layout(value: dict[str, Any], where: str) -> LearntLayout:
    rules = _VERSION.fullmatch(_text(value, "rules", where))
    version = (int(rules[1]), int(rules[2])) if rules else (0, 0)
    if not min(PERSONALITIES) <= version <= max(PERSONALITIES):
        known = ", ".join(personality.name for personality in PERSONALITIES.values())
        raise _ShapeError(f"{where}rules is no version from the oldest to the newest kernel that is known: {known}")
    gaps = {}
    for case, numbers in _object(value, "gaps", where).items():
        if not isinstance(numbers, list) or not all(type(number) is int for number in numbers):
            raise _ShapeError(f"{where}gaps has no list of numbers for a case")
        gaps[case] = tuple(numbers)
    return LearntLayout(version, _object(value, "answers", where), gaps)


def _seen(value: dict[str, Any], side: str) -> SeenFiles | None:
    if side not in value:
        return None
    files = _object(value, side)
    sets = {name: _names(files, name, f"{side}.") for name in ("root", "child") if files.get(name) is not None}
    return SeenFiles(_names(files, "controllers", f"{side}."), sets.get("root"), sets.get("child"))


def _machine(value: dict[str, Any]) -> dict[str, Any]:
    for name in ("cpus", "nodes", "memory"):
        if type(value.get(name)) is not int or not 0 < value[name] < 1 << 63:
            raise _ShapeError(f"machine.{name} is {'no number' if name in value else 'missing'}")
    swap = value.get("swap", 0)
    if type(swap) is not int or not 0 <= swap < 1 << 63:
        raise _ShapeError("machine.swap is no number of bytes")
    devices = sorted(_names(value, "block_devices", "machine."))
    return {**{name: value[name] for name in ("cpus", "nodes", "memory")}, "block_devices": devices, "swap": swap}


def _object(value: dict[str, Any], name: str, where: str = "") -> dict[str, Any]:
    found = value.get(name)
    if not isinstance(found, dict):
        raise _ShapeError(f"{where}{name} is {'no object' if name in value else 'missing'}")
    return found


def _text(value: dict[str, Any], name: str, where: str) -> str:
    found = value.get(name)
    if not isinstance(found, str) or not 0 < len(found) <= _LONGEST or not found.isprintable():
        raise _ShapeError(f"{where}{name} is {'no short text' if name in value else 'missing'}")
    return found


def _names(value: dict[str, Any], name: str, where: str = "") -> frozenset[str]:
    found = value.get(name)
    if (
        not isinstance(found, list)
        or len(found) > _MOST_NAMES
        or not all(isinstance(one, str) and len(one) <= _LONGEST for one in found)
    ):
        raise _ShapeError(f"{where}{name} is {'no list of names' if name in value else 'missing'}")
    return frozenset(found)


def _plain(value: dict[str, Any]) -> dict[str, Any]:
    """The texts and numbers of an object that can be shown."""
    found = {}
    for name, one in value.items():
        if isinstance(one, int) or (isinstance(one, str) and len(one) <= _LONGEST and one.isprintable()):
            found[name] = one
    return found
