"""What this machine allows this user, asked of the kernel by trying it in a child process."""

from __future__ import annotations

import os
import platform
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from errno import EACCES, EIO, EPERM
from pathlib import Path

from fakecgroup_mount.cli import namespace_trial
from fakecgroup_mount.cli.check import NO, PARTLY, YES, Check
from fakecgroup_mount.errors import MountError
from fakecgroup_mount.fuse import fuse_mount, fusepy
from fakecgroup_mount.host import exit_events, fork_events
from fakecgroup_mount.host.child_call import call_in_child
from fakecgroup_mount.run import userns_hints
from fakecgroup_mount.seccomp import filter as seccomp
from fakecgroup_mount.seccomp import syscalls

DEVICE, FUSERMOUNT, LIBFUSE2, ALLOW_OTHER = "/dev/fuse", "fusermount3", "libfuse 2", "user_allow_other"
SYSTEM, NAMESPACES, MOUNTS, USERS = "processor and kernel", "user namespaces", "mounts in them", "other users in them"
SECCOMP, FORKS, ENDS = "seccomp notification", "process events", "task statistics"

_CONTAINER = (Path("/.dockerenv"), Path("/run/.containerenv"))
_FUSE_CONF = Path("/etc/fuse.conf")
_SYSCTLS = (
    "user.max_user_namespaces",
    "user.max_mnt_namespaces",
    "kernel.unprivileged_userns_clone",
    "kernel.apparmor_restrict_unprivileged_userns",
)
_AS_ROOT = re.compile("[:;] (as root: .*)")
_DOCKER = re.compile(r"\((Docker: [^)]*)\)")
_SUBIDS = (Path("/etc/subuid"), Path("/etc/subgid"))
_LEAST, _RANGE = 100_000, 65_536  # as useradd(8) gives them
_PATIENCE = 30.0  # seconds for a child process, on a busy machine
_PR_SET_NO_NEW_PRIVS = 38
_MACHINES_ROOT = "be the machine's root, outside of a container"


def machine_checks() -> Iterator[Check]:
    """All of them, in the order in which one needs the other."""
    device = _device()
    yield device
    yield _fusermount()
    yield _libfuse2()
    yield _allow_other()
    yield _system()
    yield from _namespaces(device)
    yield _seccomp()
    yield _heard(FORKS, fork_events.listen, "the kernel tells of each fork", "new processes are looked for in /proc")
    yield _heard(ENDS, exit_events.listen, "the kernel tells what each task used", "CPU time is read from /proc")


def _in_container() -> bool:
    """Whether Docker or Podman says that it made this file system."""
    return any(file.exists() for file in _CONTAINER)


def _install(package: str) -> str:
    """How to get a package that Debian has under this name."""
    if shutil.which("apt-get"):
        return f"as root: apt-get install {package}"
    return f"install what Debian calls {package}"


def _device() -> Check:
    try:
        os.close(os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        if error.errno == EACCES:
            remedy = f"as root: chmod 666 {DEVICE}"
        elif _in_container():
            remedy = f"Docker: --device {DEVICE}"
        elif error.errno == EPERM:
            remedy = f"systemd: DeviceAllow={DEVICE} rw"  # a device cgroup forbids it
        else:
            remedy = "as root: modprobe fuse"
        return Check(DEVICE, NO, os.strerror(error.errno or EIO), remedy)
    return Check(DEVICE, YES, "can be opened")


def _fusermount() -> Check:
    program = fuse_mount.helper()
    if program is not None:
        return Check(FUSERMOUNT, YES, program)
    if os.geteuid() == 0:
        return Check(FUSERMOUNT, YES, "missing, and not needed: root mounts by itself")
    return Check(FUSERMOUNT, NO, "missing: who is not root mounts with it", _install("fuse3"))


def _libfuse2() -> Check:
    try:
        found = fusepy.load()
    except MountError as error:
        text = str(error).removeprefix("--transport fusepy: ").partition(";")[0]
        missing = f"{_install('libfuse2')}, or libfuse2t64 (Debian 13)" if "libfuse" in text else "pip install fusepy"
        return Check(LIBFUSE2, NO, f"{text}; only --transport fusepy needs it", missing)
    return Check(LIBFUSE2, YES, f"with {found.__file__}")


def _allow_other() -> Check:
    if ALLOW_OTHER in map(str.strip, _lines(_FUSE_CONF)):
        return Check(ALLOW_OTHER, YES, f"in {_FUSE_CONF}")
    if os.geteuid() == 0:
        return Check(ALLOW_OTHER, YES, f"not in {_FUSE_CONF}, and not needed: root's trees are open to all")
    remedy = f"as root: echo {ALLOW_OTHER} >> {_FUSE_CONF}"
    return Check(ALLOW_OTHER, NO, f"not in {_FUSE_CONF}; only --allow-other needs it", remedy)


def _system() -> Check:
    here = f"Linux {platform.release()} on {platform.machine()}"
    try:
        syscalls.check_machine()
    except MountError as error:
        return Check(SYSTEM, NO, str(error))
    return Check(SYSTEM, YES, here)


def _namespaces(device: Check) -> Iterator[Check]:
    """One child process makes a user namespace, and mounts in it."""
    values = [(name, userns_hints.sysctl(name)) for name in _SYSCTLS]
    sysctls = ", ".join(f"{name}={value}" for name, value in values if value)
    with tempfile.TemporaryDirectory(prefix="fakecgroup-doctor-") as directory:
        trial = namespace_trial.try_namespace(directory)
    if trial.refused_to_make is not None or trial.refused_to_map is not None:
        why, remedy = _with_remedy(trial.refused_to_make or trial.refused_to_map or "")
        yield Check(NAMESPACES, NO, f"{why} ({sysctls})", remedy)
        yield Check(MOUNTS, NO, "needs a user namespace", remedy)
        yield Check(USERS, NO, "needs a user namespace", remedy)
        return
    yield Check(NAMESPACES, YES, sysctls)
    if device.state == NO:
        yield Check(MOUNTS, NO, f"needs {DEVICE}", device.remedy)
    elif trial.refused_to_mount is None:
        yield Check(MOUNTS, YES, "tmpfs and FUSE")
    else:
        yield Check(MOUNTS, NO, *_with_remedy(trial.refused_to_mount))
    yield _users(trial.ids)


def _with_remedy(message: str) -> tuple[str, str | None]:
    """What was refused, and what mends it, which the messages of `run` have at their end."""
    if as_root := _AS_ROOT.search(message):
        return message[: as_root.start()], as_root[1]
    option = _DOCKER.search(message)
    return message, None if option is None else option[1]


def _users(ids: int) -> Check:
    if ids > 1:
        return Check(USERS, YES, f"{ids} uids are there")
    if shutil.which("newuidmap") is None:
        remedy = _install("uidmap")
    else:
        row = f"{os.geteuid()}:{_first_free()}:{_RANGE}"
        remedy = f"as root: echo {row} | tee -a {' '.join(map(str, _SUBIDS))}"
    return Check(USERS, PARTLY, "run has this user alone, as root, and nobody else", remedy)


def _first_free() -> int:
    """The first id from _LEAST on that is in no range of a subuid(5) or subgid(5)."""
    ends = [_LEAST]
    for file in _SUBIDS:
        for line in _lines(file):
            _, *numbers = line.strip().split(":")
            if len(numbers) == 2 and all(map(str.isdecimal, numbers)):
                ends.append(sum(map(int, numbers)))
    return max(ends)


def _lines(file: Path) -> list[str]:
    """The lines of a file; none of one that cannot be read."""
    try:
        return file.read_text(errors="replace").splitlines()
    except OSError:
        return []


def _seccomp() -> Check:
    try:
        said = call_in_child(_try_filter, _PATIENCE)
    except OSError as error:
        return Check(SECCOMP, NO, str(error.strerror))
    if said is None:
        return Check(SECCOMP, NO, "the trial did not end")
    if said:
        return Check(SECCOMP, NO, said.decode(), _seccomp_remedy(said.decode()))
    return Check(SECCOMP, YES, "system calls can be trapped")


def _try_filter() -> bytes:
    """In a process of its own: what is wrong with a filter that traps nothing, b"" for nothing."""
    syscalls.libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    try:
        seccomp.install(seccomp.program({}, {}))
    except MountError as error:
        return str(error).removeprefix("cannot trap system calls: ").encode()
    return b""


def _seccomp_remedy(refused: str) -> str:
    if "there can be only one" in refused:
        return "start it outside of the process that listens"
    if "profile" in refused:
        return "Docker: --security-opt seccomp=unconfined"
    return "a kernel with CONFIG_SECCOMP_FILTER"


def _heard(
    name: str, listen: Callable[[], fork_events.ForkEvents | exit_events.ExitEvents | None], yes: str, no: str
) -> Check:
    queue = listen()
    if queue is None:
        return Check(name, PARTLY, no, _MACHINES_ROOT)
    queue.close()
    return Check(name, YES, yes)
