"""mount(2), mountinfo and cgroup namespaces."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import select
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from file_systems import statfs
from place import (
    CLONE,
    CLONE_NEWCGROUP,
    CLONE_NEWNS,
    MNT_DETACH,
    MOUNT,
    MS_BIND,
    MS_MOVE,
    MS_NOSUID,
    MS_PRIVATE,
    MS_RDONLY,
    MS_REC,
    MS_REMOUNT,
    NOWHERE,
    SETNS,
    UNSHARE,
    Place,
    attempt,
    call,
    child,
    libc,
    operation,
)


def in_a_mount_namespace(function: Callable[[], Any]) -> Any:
    def inside() -> Any:
        assert call(UNSHARE, CLONE_NEWNS) == 0
        assert call(MOUNT, b"none", b"/", None, MS_REC | MS_PRIVATE, None) == 0
        return function()

    return child(inside)


def mount(
    source: bytes | None, target: bytes | int | None, kind: bytes | int | None, flags: int = 0, data: Any = None
) -> Any:
    return call(MOUNT, source, target, kind, flags, data)


def lines_of(place: Place, name: str) -> list[str]:
    """What is mounted below the directory of the operation, without the numbers."""
    found = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields = line.split()
        if place.tmp in fields[4]:
            found.append(place.shown(" ".join(fields[3:])))
    return found


@operation
def mount_arguments(place: Place) -> Any:
    v2 = place.layout == "v2"
    kind, data = (b"cgroup2", None) if v2 else (b"cgroup", b"pids")
    target = place.tmp.encode()
    Path(place.tmp, "file").touch()

    def inside() -> Any:
        return {
            "no target": mount(b"x", None, kind, data=data),
            "target nowhere": mount(b"x", NOWHERE, kind, data=data),
            "target not there": mount(b"x", target + b"/nothing", kind, data=data),
            "target empty": mount(b"x", b"", kind, data=data),
            "target a file": mount(b"x", target + b"/file", kind, data=data),
            "target a file/": mount(b"x", target + b"/file/", kind, data=data),
            "no kind": mount(b"x", target, None, data=data),
            "kind nowhere": mount(b"x", target, NOWHERE, data=data),
            "kind unknown": mount(b"x", target, b"cgroup3", data=data),
            "kind with a subtype": mount(b"x", target, kind + b".x", data=data),
            "source nowhere": call(MOUNT, NOWHERE, target, kind, 0, data),
            "data nowhere": mount(b"x", target, kind, data=NOWHERE),
            "bad option": mount(b"x", target, kind, data=b"nonsense"),
            "bad option before a bad target": mount(b"x", target + b"/nothing", kind, data=b"nonsense"),
            "no source": mount(None, target, kind, data=data),
            "again": mount(b"x", target, kind, data=data),
            "again, with options": mount(b"x", target, kind, data=b"ro" if v2 else b"xattr,pids"),
            "bound": mount(place.own.encode(), target, None, MS_BIND),
            "on what is bound": mount(b"x", target, kind, data=data),
        }

    return in_a_mount_namespace(inside)


_V2_OPTIONS = (
    *("", ",,", "ro", "rw,sync", "noatime", "none", "nsdelegate", "nsdelegate,x", "nsdelegate=1", "favordynmods"),
    *("memory_localevents", "memory_recursiveprot", "memory_hugetlb_accounting", "pids_localevents"),
)
_V1_OPTIONS = (
    *("", "pids,", "ro,pids", "pids,pids", "pids=1", "xattr,pids", "clone_children,pids", "pids,none", "none", "all"),
    *("all,pids", "cpu", "cpuset,pids", "noprefix,pids", "noprefix,cpuset", "name=", "name=../x", "name=" + "x" * 70),
    *("name=x,name=y", "name=systemd", "name=systemd,none", "name=systemd,pids", "name=x,pids", "name=fcg-none"),
)


@operation
def mount_options(place: Place) -> Any:
    v2 = place.layout == "v2"

    def tried(option: str, flags: int = 0) -> Any:
        result = mount(b"x", place.tmp.encode(), b"cgroup2" if v2 else b"cgroup", flags, option.encode())
        if result == 0:
            attempt_umount(place.tmp.encode(), 0)
        return result

    def inside() -> Any:
        options = _V2_OPTIONS if v2 else _V1_OPTIONS
        return {
            **{option: tried(option) for option in options},
            "old magic": tried("" if v2 else "pids", 0xC0ED0000),
            "silent, relatime": tried("" if v2 else "pids", 1 << 15 | 1 << 21),
        }

    return in_a_mount_namespace(inside)


@operation
def mount_shown(place: Place) -> Any:
    v2 = place.layout == "v2"
    kind, data = (b"cgroup2", None) if v2 else (b"cgroup", b"pids")
    names = ("a", "b", "c", "d", "e", "f")
    for name in names:
        os.mkdir(f"{place.tmp}/{name}")
    targets = {name: f"{place.tmp}/{name}".encode() for name in names}

    def inside() -> Any:
        found: dict[str, Any] = {}
        found["new"] = mount(b"foo bar", targets["a"], kind, MS_RDONLY | MS_NOSUID, data)
        found["bind"] = mount(place.own.encode(), targets["b"], None, MS_BIND)
        found["bind of a bind"] = mount(targets["b"], targets["c"], None, MS_BIND)
        found["read-only"] = mount(None, targets["c"], None, MS_BIND | MS_REMOUNT | MS_RDONLY)
        found["mkdir"] = [attempt(os.mkdir, f"{place.tmp}/{name}/fcg-x") for name in ("a", "c")]
        found["move"] = mount(targets["c"], targets["d"], None, MS_MOVE)
        found["of a file"] = mount(f"{place.own}/cgroup.procs".encode(), targets["e"], None, MS_BIND)
        Path(place.tmp, "file").touch()
        found["over a file"] = mount(f"{place.own}/cgroup.procs".encode(), f"{place.tmp}/file".encode(), None, MS_BIND)
        found["read"] = attempt(lambda: Path(place.tmp, "file").read_text())
        found["lines"] = lines_of(place, "")
        found["mounts"] = [
            place.shown(line) for line in Path("/proc/self/mounts").read_text().splitlines() if place.tmp in line
        ]
        found["types"] = [statfs(f"{place.tmp}/{name}".encode()) for name in ("a", "b", "d", "file")]
        found["umount"] = [
            attempt_umount(targets["a"], 0),
            attempt_umount(targets["b"], MNT_DETACH),
            attempt_umount(targets["c"], 0),
        ]
        fd = os.open(targets["d"], os.O_RDONLY)
        found["busy"] = attempt_umount(targets["d"], 0)
        os.close(fd)
        found["removed below"] = attempt(os.rmdir, place.own)
        found["lines then"] = lines_of(place, "")
        return found

    return in_a_mount_namespace(inside)


def attempt_umount(path: bytes, flags: int) -> Any:
    return errno.errorcode[ctypes.get_errno()] if libc.umount2(path, flags) else 0


@operation
def mount_by_who_may_not(place: Place) -> Any:
    kind, data = (b"cgroup2", None) if place.layout == "v2" else (b"cgroup", b"pids")

    def inside() -> Any:
        os.setresgid(1000, 1000, 1000)
        os.setresuid(1000, 1000, 1000)
        return [
            mount(b"x", place.tmp.encode(), kind, data=data),
            mount(b"x", place.tmp.encode(), kind, data=b"nonsense"),
            mount(b"x", b"/nothing", kind, data=data),
        ]

    os.chmod(place.tmp, 0o777)
    return child(inside)


@operation
def mount_tells_who_polls(place: Place) -> Any:
    kind, data = (b"cgroup2", None) if place.layout == "v2" else (b"cgroup", b"pids")

    def inside() -> Any:
        found = []
        for path in ("/proc/self/mountinfo", "/proc/self/mounts", "/proc/mounts"):
            fd = os.open(path, os.O_RDONLY)
            poller = select.poll()
            poller.register(fd, select.POLLPRI | select.POLLERR)
            before = poller.poll(0)
            mount(b"x", place.tmp.encode(), kind, data=data)
            woken = [events for _, events in poller.poll(2000)]
            found.append([len(before), woken, [events for _, events in poller.poll(0)]])
            attempt_umount(place.tmp.encode(), 0)
            os.close(fd)
        return found

    return in_a_mount_namespace(inside)


@operation
def cgroup_namespace(place: Place) -> Any:
    os.makedirs(f"{place.own}/a/b")
    os.mkdir(f"{place.own}/parent")
    place.enter(f"{place.own}/parent")

    def inside() -> Any:
        place.enter(f"{place.own}/a")
        initial = os.open("/proc/self/ns/cgroup", os.O_RDONLY)
        assert call(UNSHARE, CLONE_NEWCGROUP) == 0
        found = {"new": place.cgroup(), "of the parent": place.cgroup(f"/proc/{os.getppid()}/cgroup")}
        place.enter(f"{place.own}/a/b")
        found["moved down"] = place.cgroup()
        place.enter(place.own)
        found["moved up"] = place.cgroup()
        found["of a child"] = child(place.cgroup)
        assert call(SETNS, initial, CLONE_NEWCGROUP) == 0
        found["back"] = place.cgroup()
        return found

    return child(inside)


@operation
def cgroup_namespace_moved_before_it_asks(place: Place) -> Any:
    os.makedirs(f"{place.own}/a/b")

    def inside() -> Any:
        place.enter(f"{place.own}/a")
        assert call(UNSHARE, CLONE_NEWCGROUP) == 0
        place.enter(f"{place.own}/a/b")
        return place.cgroup()

    return child(inside)


@operation
def cgroup_namespace_by_clone(place: Place) -> Any:
    os.makedirs(f"{place.own}/a")
    place.enter(place.own)
    ours, theirs = os.pipe()
    pid = call(CLONE, CLONE_NEWCGROUP | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        with contextlib.suppress(OSError):
            place.enter(f"{place.own}/a")
        os.write(theirs, place.cgroup().encode())
        os._exit(0)
    os.close(theirs)
    assert isinstance(pid, int)
    os.waitpid(pid, 0)
    return os.read(ours, 1000).decode()


@operation
def mountinfo_in_a_cgroup_namespace(place: Place) -> Any:
    os.makedirs(f"{place.own}/a/b")
    kind, data = (b"cgroup2", None) if place.layout == "v2" else (b"cgroup", b"pids")
    for name in ("x", "y", "z"):
        os.mkdir(f"{place.tmp}/{name}")

    def inside() -> Any:
        found: dict[str, Any] = {}
        mount(f"{place.own}".encode(), f"{place.tmp}/x".encode(), None, MS_BIND)
        mount(f"{place.own}/a/b".encode(), f"{place.tmp}/y".encode(), None, MS_BIND)
        place.enter(f"{place.own}/a")
        assert call(UNSHARE, CLONE_NEWCGROUP) == 0
        found["mount"] = mount(b"x", f"{place.tmp}/z".encode(), kind, data=data)
        found["lines"] = lines_of(place, "")
        found["there"] = sorted(
            name
            for name in os.listdir(f"{place.tmp}/z")
            if "." not in name and name != "tasks" and name != "notify_on_release"
        )
        os.mkdir(f"{place.tmp}/z/c")
        found["c"] = os.path.isdir(f"{place.own}/a/c")
        return found

    return in_a_mount_namespace(inside)
