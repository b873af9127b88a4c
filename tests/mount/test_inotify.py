"""inotify reports files that change by themselves (kernfs_notify)."""

from __future__ import annotations

import ctypes
import os
import select
import struct
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

_EVENT = struct.Struct("=iIII")  # struct inotify_event: wd mask cookie len
_ALL = 0xFFF  # IN_ALL_EVENTS
_IN_MODIFY = 2
_libc = ctypes.CDLL(None, use_errno=True)

Sleeper = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def inotify() -> Iterator[int]:
    fd = int(_libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
    yield fd
    os.close(fd)


def watch(inotify: int, path: Path) -> None:
    assert _libc.inotify_add_watch(inotify, os.fsencode(path), _ALL) > 0


def events(inotify: int, patience: float = 5) -> list[tuple[int, str]]:
    """Mask and name of each event: the first within `patience` seconds, others up to 0.3 s after the last."""
    found: list[tuple[int, str]] = []
    while select.select([inotify], [], [], 0.3 if found else patience)[0]:
        data = os.read(inotify, 4096)
        while data:
            _, mask, _, length = _EVENT.unpack_from(data)
            found.append((mask, data[_EVENT.size : _EVENT.size + length].rstrip(b"\0").decode()))
            data = data[_EVENT.size + length :]
    return found


@pytest.fixture
def hierarchy(request: pytest.FixtureRequest) -> Path:
    """Where the unified hierarchy is in the tree of a layout."""
    tree = request.getfixturevalue("mount")(layout=request.param)
    return Path(tree, "unified") if request.param == "hybrid" else Path(tree)


@pytest.mark.parametrize("hierarchy", ["v2", "hybrid"], indirect=True)
def test_a_watch_hears_of_the_first_and_of_the_last_process(hierarchy: Path, inotify: int, sleeper: Sleeper) -> None:
    group = hierarchy / "a b"
    group.mkdir()
    watch(inotify, group / "cgroup.events")
    process = sleeper()
    (group / "cgroup.procs").write_text(str(process.pid))
    first = events(inotify)
    process.kill()
    process.wait()
    assert (first, events(inotify)) == ([(_IN_MODIFY, "")], [(_IN_MODIFY, "")])


def test_a_watch_of_the_directory_says_which_file(mount: Callable[..., Path], inotify: int, sleeper: Sleeper) -> None:
    group = mount() / "a"
    group.mkdir()
    (group / "cgroup.events").stat()
    process = sleeper()
    watch(inotify, group)
    (group / "cgroup.procs").write_text(str(process.pid))
    assert (_IN_MODIFY, "cgroup.events") in events(inotify)


def test_what_does_not_change_is_quiet(mount: Callable[..., Path], inotify: int, sleeper: Sleeper) -> None:
    group = mount() / "a"
    group.mkdir()
    (group / "cgroup.procs").write_text(str(sleeper().pid))
    watch(inotify, group / "cgroup.events")
    (group / "cgroup.procs").write_text(str(sleeper().pid))
    assert events(inotify, patience=0.3) == []
