"""Cgroups that a run of the conformance cases makes for itself, and removes; also those of a run that was killed.

A cgroup is named after the process that made it, and locked (flock(2)) while that lives. The lock tells runs in other
PID namespaces that it is in use.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

PREFIX = "fakecgroup-conformance-"
_ENABLED = "fakecgroup.enabled"  # an attribute: the controllers that were enabled for its parent's children
_PATIENCE = 10.0  # seconds in which no cgroup becomes empty

_numbers = itertools.count()
_locks: set[int] = set()


def _close_locks() -> None:
    """A lock lasts as long as any process has it open; one that a killed run left frozen must not keep it."""
    for fd in _locks:
        os.close(fd)
    _locks.clear()


os.register_at_fork(after_in_child=_close_locks)


def name_of_run() -> str:
    """A name for what this process makes: its number, and when it started."""
    return f"{PREFIX}{os.getpid()}-{_started(os.getpid())}"


class OwnCgroup:
    """A new cgroup below another. Raises OSError."""

    def __init__(self, parent: Path) -> None:
        self.path = parent / f"{name_of_run()}-{next(_numbers)}"
        self.path.mkdir()
        self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        _locks.add(self._lock)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self._pid = os.getpid()

    def note_enabled(self, controllers: tuple[str, ...]) -> bool:
        """Notes what was enabled for the parent's children, so that `remove` disables it. False where it cannot."""
        for space in ("user", "trusted"):
            with contextlib.suppress(OSError):
                os.setxattr(self.path, f"{space}.{_ENABLED}", " ".join(controllers).encode())
                return True
        return False

    def disable(self) -> None:
        """Disables for the parent's children what `note_enabled` noted."""
        _disable(self.path)

    def remove(self) -> bool:
        """Whether it is gone; not if something still runs there that cannot be killed."""
        gone = remove(self.path)
        if self._lock in _locks:
            _locks.discard(self._lock)
            os.close(self._lock)
        return gone


def remove_left_over(mount: Path) -> list[str]:
    """Removes the cgroups of killed runs of this user below a mount point. Returns those that stay."""
    return [str(path) for path in _of_dead_runs(mount) if not remove(path)]


def _of_dead_runs(mount: Path) -> Iterator[Path]:
    for directory, names, _ in os.walk(mount):
        for name in [name for name in names if name.startswith(PREFIX) and not name.endswith(".scope")]:
            names.remove(name)
            path = Path(directory, name)
            with contextlib.suppress(OSError):
                if path.stat().st_uid == os.geteuid() and not _in_use(path):
                    yield path


def _in_use(path: Path) -> bool:
    pid, _, rest = path.name.removeprefix(PREFIX).partition("-")
    if not pid.isdecimal() or _started(int(pid)) == rest.partition("-")[0]:
        return True
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def _started(pid: int) -> str:
    """When a process started, in clock ticks after the boot (proc_pid_stat(5)); "" if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


def remove(path: Path) -> bool:
    """Kills what runs in a cgroup and below it, and removes both. False if for 10 s none of them can be removed.

    First disables the controllers that `OwnCgroup.note_enabled` noted.
    """
    _disable(path)
    if os.geteuid() != 0:
        _open_up(path)
    deadline = time.monotonic() + _PATIENCE
    while path.exists():
        for _, names, files, fd in os.fwalk(path, topdown=False):  # not by path: some are too long for a call
            _empty(fd, files)
            for name in names:
                with contextlib.suppress(OSError):
                    os.rmdir(name, dir_fd=fd)
                    deadline = time.monotonic() + _PATIENCE
        with contextlib.suppress(OSError):
            path.rmdir()
        if time.monotonic() > deadline:
            return False
        time.sleep(0.002)
    return True


def _open_up(path: Path) -> None:
    """Gives a plain user back the directories that a case has closed to him."""
    with contextlib.suppress(OSError):
        path.chmod(0o755)
    for _, names, _, fd in os.fwalk(path):
        for name in names:
            with contextlib.suppress(OSError):
                os.chmod(name, 0o755, dir_fd=fd)


def _disable(path: Path) -> None:
    """A controller cannot be disabled while children have it enabled for theirs, so it is done from below."""
    for space in ("user", "trusted"):
        with contextlib.suppress(OSError):
            for controller in os.getxattr(path, f"{space}.{_ENABLED}").decode().split():
                for directory in [*(found for found, _, _ in os.walk(path, topdown=False)), str(path.parent)]:
                    with contextlib.suppress(OSError):
                        Path(directory, "cgroup.subtree_control").write_text(f"-{controller}")


def _empty(directory: int, files: list[str]) -> None:
    """Kills the processes of a cgroup. A frozen one is thawed first, as v1's freezer holds signals back.

    The bandwidth of real-time tasks stays reserved until the kernel frees a cgroup, so it is given back.
    """
    for file, text in (("freezer.state", "THAWED"), ("cpu.rt_runtime_us", "0")):
        if file in files:
            with contextlib.suppress(OSError):
                _write(directory, file, text)
    with contextlib.suppress(OSError), open(os.open("cgroup.procs", os.O_RDONLY, dir_fd=directory)) as procs:
        for line in procs:
            if int(line) not in (0, os.getpid()):
                os.kill(int(line), signal.SIGKILL)


def _write(directory: int, file: str, text: str) -> None:
    fd = os.open(file, os.O_WRONLY, dir_fd=directory)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)
