"""Moves mounts and namespaces about, as nobody would, and says where a cgroup file system is reached that is not the
tree's.

Arguments: the devices of the machine's own as "MAJOR:MINOR,...", the first seed, the number of sequences, the number of
steps in each, and an empty directory. Each sequence is done by a child in a mount namespace of its own, but the last,
which is done in the one that the command has.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
import signal
import struct
import sys
from collections.abc import Callable

ROOT = "/sys/fs/cgroup"
NEWNS, NEWCGROUP, NEWUSER = 0x20000, 0x2000000, 0x10000000
BIND, MOVE, REC, REMOUNT = 4096, 8192, 16384, 32
UNBINDABLE, PRIVATE, SLAVE, SHARED = 1 << 17, 1 << 18, 1 << 19, 1 << 20
PIVOT_ROOT, OPEN_TREE, MOVE_MOUNT = {"x86_64": 155, "aarch64": 41}[os.uname().machine], 428, 429
AT_FDCWD = -100
MAGIC = (0x27E0EB, 0x63677270)
libc = ctypes.CDLL(None, use_errno=True)


class ReachedError(Exception):
    """Something that should not have been."""


class Sequence:
    def __init__(self, seed: int, theirs: set[int], directory: str) -> None:
        self.chance = random.Random(seed)
        self.theirs = theirs
        self.tree = os.stat(f"{ROOT}/memory" if os.path.isdir(f"{ROOT}/memory") else ROOT).st_dev
        self.places = [f"{directory}/{name}" for name in "abc"]
        self.held: list[int] = []
        self.steps: list[str] = []
        for place in self.places:
            os.makedirs(place, exist_ok=True)

    def run(self, steps: int) -> None:
        doings = [
            *(self.unmount,) * 4,
            *(self.bind,) * 4,
            self.move,
            self.move_with_a_descriptor,
            self.open_below,
            self.pivot,
            self.change_root,
            self.propagate,
            self.remount,
            self.unshare,
            self.join,
            self.mount,
            self.mount,
        ]
        for _ in range(steps):
            self.chance.choice(doings)()
            self.look()
        self.look_through_others()

    def look(self) -> None:
        names = ("", "/pids", "/memory", "/unified", "/systemd", "/..", "/sys/fs/cgroup", "/sys/fs/cgroup/pids")
        paths = [base + name for base in (ROOT, *self.places) for name in names]
        paths += [f"/{name}{where}" for name in ("old", "..") for where in ("/sys/fs/cgroup", "/sys/fs/cgroup/pids")]
        paths += [f"/proc/self/fd/{fd}{name}" for fd in self.held for name in ("", "/cgroup", "/fs/cgroup", "/pids")]
        paths += ["/proc/self/root/sys/fs/cgroup", "/proc/1/root/sys/fs/cgroup", "."]
        for path in paths:
            self.look_at(path)

    def look_through_others(self) -> None:
        for name in filter(str.isdecimal, os.listdir("/proc") if os.path.isdir("/proc/1") else ()):
            for link in ("root", "cwd"):
                self.look_at(f"/proc/{name}/{link}/sys/fs/cgroup")
                self.look_at(f"/proc/{name}/{link}/sys/fs/cgroup/pids")
            for space in ("mnt", "user", "cgroup"):
                with contextlib.suppress(OSError):
                    self.enter(f"/proc/{name}/ns/{space}")
        self.look()

    def look_at(self, path: str) -> None:
        try:
            device = os.stat(path).st_dev
        except OSError:
            return
        buffer = ctypes.create_string_buffer(256)
        if device not in self.theirs:
            if device == self.tree or libc.statfs(path.encode(), buffer):
                return
            if struct.unpack_from("=q", buffer)[0] not in MAGIC:
                return
        with contextlib.suppress(OSError):
            os.mkdir(f"{path}/fcg-reached")
        raise ReachedError(f"{path} after {'; '.join(self.steps)}")

    # -- steps ------------------------------------------------------------------------------------

    def tell(self, text: str, result: int) -> None:
        self.steps.append(text if result == 0 else f"({text}: {os.strerror(ctypes.get_errno())})")

    def source(self) -> str:
        return self.chance.choice(("/", "/sys", "/sys/fs", ROOT, f"{ROOT}/pids", *self.places))

    def target(self) -> str:
        place = self.chance.choice((*self.places, *self.places, ROOT))
        return place + self.chance.choice(("", "", "", "/sys/fs/cgroup", "/cgroup", "/pids"))

    def unmount(self) -> None:
        path = self.chance.choice((ROOT, ROOT, f"{ROOT}/pids", self.target(), "/sys", "/"))
        flags = self.chance.choice((0, 2, 2, 4, 8))
        self.tell(f"umount2 {path} {flags}", libc.umount2(path.encode(), flags))

    def bind(self) -> None:
        self.mount_with(self.source(), self.target(), BIND | self.chance.choice((0, REC)))

    def move(self) -> None:
        self.mount_with(self.chance.choice((ROOT, self.target())), self.target(), MOVE)

    def propagate(self) -> None:
        kind = self.chance.choice((PRIVATE, SLAVE, SHARED, UNBINDABLE)) | self.chance.choice((0, REC))
        self.mount_with("none", self.source(), kind)

    def remount(self) -> None:
        self.mount_with("none", self.target(), REMOUNT | self.chance.choice((0, BIND)))

    def mount(self) -> None:
        kind = self.chance.choice(("cgroup", "cgroup2", "cpuset", "tmpfs", "proc", "sysfs", "overlay"))
        options = {"cgroup": ("pids", "memory", "none,name=systemd", ""), "overlay": ("lowerdir=/sys/fs:/sys",)}
        self.mount_with("none", self.target(), 0, kind, self.chance.choice(options.get(kind, ("",))))

    def mount_with(self, source: str, target: str, flags: int, kind: str = "none", options: str = "") -> None:
        words = [word.encode() for word in (source, target, kind)]
        result = libc.mount(*words, ctypes.c_ulong(flags), options.encode() or None)
        self.tell(f"mount {source} {target} {kind} {flags:#x} {options}", result)

    def move_with_a_descriptor(self) -> None:
        source, target, flags = self.source(), self.target(), self.chance.choice((1, 0x8001, 0))
        fd = libc.syscall(OPEN_TREE, AT_FDCWD, source.encode(), flags | os.O_CLOEXEC)
        self.tell(f"open_tree {source} {flags:#x}", min(fd, 0))
        if fd >= 0:
            self.held.append(fd)
            result = libc.syscall(MOVE_MOUNT, fd, b"", AT_FDCWD, target.encode(), 4)
            self.tell(f"move_mount {target}", result)

    def open_below(self) -> None:
        path = self.source()
        with contextlib.suppress(OSError):
            self.held.append(os.open(path, os.O_PATH | os.O_DIRECTORY))
            self.tell(f"open {path}", 0)

    def pivot(self) -> None:
        place = self.chance.choice(self.places)
        self.mount_with("/", place, BIND | REC)
        with contextlib.suppress(OSError):
            os.makedirs(f"{place}/{self.places[0]}", exist_ok=True)
        old = self.chance.choice((place, f"{place}/{self.places[0]}"))
        self.tell(f"pivot_root {place} {old}", libc.syscall(PIVOT_ROOT, place.encode(), old.encode()))
        if self.chance.random() < 0.5:
            self.tell("umount2 . 2", libc.umount2(b".", 2))

    def change_root(self) -> None:
        path = self.chance.choice((*self.places, "/proc/1/root", "/proc/self/root", "/sys"))
        with contextlib.suppress(OSError):
            self.held.append(os.open("/", os.O_PATH | os.O_DIRECTORY))
            os.chroot(path)
            self.tell(f"chroot {path}", 0)
            if not os.path.isdir("/proc/self"):
                os.fchdir(self.held[-1])
                os.chroot(".")

    def unshare(self) -> None:
        flags = self.chance.choice((NEWNS, NEWCGROUP, NEWNS | NEWCGROUP, NEWUSER | NEWNS | NEWCGROUP, NEWUSER))
        ids = os.getuid(), os.getgid()
        result = libc.unshare(flags)
        self.tell(f"unshare {flags:#x}", result)
        if result == 0 and flags & NEWUSER:
            with contextlib.suppress(OSError):
                for name, text in (
                    ("setgroups", "deny"),
                    ("uid_map", f"0 {ids[0]} 1"),
                    ("gid_map", f"0 {ids[1]} 1"),
                ):
                    with open(f"/proc/self/{name}", "w") as file:
                        file.write(text)

    def join(self) -> None:
        pid = self.chance.choice((1, os.getppid(), os.getpid()))
        self.enter(f"/proc/{pid}/ns/{self.chance.choice(('mnt', 'user', 'cgroup', 'pid'))}")

    def enter(self, path: str) -> None:
        with contextlib.suppress(OSError):
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            self.tell(f"setns {path}", libc.setns(fd, 0))
            os.close(fd)


def in_a_child(work: Callable[[], int]) -> str:
    """What it has reached, or else the number that it gives."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        said = ""
        try:
            said = str(work())
        except ReachedError as reached:
            said = str(reached)
        except OSError as error:
            said = f"the probe itself: {error}"
        os.write(theirs, said.encode())
        os._exit(0)
    os.close(theirs)
    with open(ours) as file:
        said = file.read()
    status = os.waitpid(pid, 0)[1]
    return said or (f"ended with status {status}" if status else "")


def main(devices: str, seed: str, count: str, steps: str, directory: str) -> None:
    theirs = {os.makedev(*map(int, device.split(":"))) for device in devices.split(",") if device}
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    done = 0
    for number in range(int(seed), int(seed) + int(count)):

        def work(number: int = number) -> int:
            sequence = Sequence(number, theirs, directory)
            if number < int(seed) + int(count) - 1:
                libc.unshare(NEWNS)
            sequence.run(int(steps))
            return sum(1 for step in sequence.steps if not step.startswith("("))

        said = in_a_child(work)
        if said.isdecimal():
            done += int(said)
        else:
            print(f"seed {number}: {said}")
    print(f"{count} sequences, steps were {'possible' if done else 'impossible'}")


main(*sys.argv[1:])
