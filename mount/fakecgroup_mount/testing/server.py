"""The process that mounts trees for one test process. It forks a daemon for each tree.

A daemon is forked before its tree is asked for, with all that it needs in its memory, while the test before runs. So
each tree has a process of its own, and no test waits for one.

It ends, with all its trees, when its connection is closed or the test process is gone. A daemon ends with this process.
If a server is killed together with its daemons, the next server removes their dead mounts.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import gc
import glob
import os
import select
import shutil
import signal
import sys
import tempfile
from importlib import import_module
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import NoReturn

from fakecgroup import Kernel, Processes
from fakecgroup.late_pattern import compile_all
from fakecgroup.named_tuple import NamedTuple
from fakecgroup_mount.errors import MountError
from fakecgroup_mount.fuse.asked import Additions
from fakecgroup_mount.fuse.fuse_mount import umount_fuse
from fakecgroup_mount.fuse.serve import serve
from fakecgroup_mount.host.log import Log, log_to
from fakecgroup_mount.host.mountinfo import mounts
from fakecgroup_mount.seccomp import syscalls
from fakecgroup_mount.testing.standing_clock import standing_clock
from fakecgroup_mount.tree_options import make_kernel
from fakecgroup_mount.workload_options import WorkloadOptions

MOUNTED, REFUSED, FAILED = "mounted", "refused", "failed"

_PREFIX = "fakecgroup-pytest-"
_LATE = (
    *("fakecgroup.faults", "fakecgroup.scenario.live", "fakecgroup.simulation.world", "fakecgroup.trace.assumed"),
    *("fakecgroup_mount.control.commands", "fakecgroup_mount.record.recorder"),
)
"""What a daemon imports when it needs it."""
_LOCK = "lock"
_PR_SET_PDEATHSIG = 1
_PATIENCE = 10.0  # seconds for a daemon to end
_READY = b"+"

log = Log(__name__)


def main() -> NoReturn:
    """Command line: the descriptor of the connection, the pid of the test process."""
    connection, parent = Connection(int(sys.argv[1])), int(sys.argv[2])
    alive = os.pidfd_open(parent)  # a child of a test may keep the other end of the connection open
    if os.getppid() != parent:
        sys.exit()
    _remove_stale()
    _load()
    gc.collect()
    gc.freeze()  # so that collections in the daemons do not copy shared pages
    server = Server((connection.fileno(), alive))
    poller = select.poll()
    poller.register(connection.fileno(), select.POLLIN)
    poller.register(alive, select.POLLIN)
    try:
        while alive not in dict(poller.poll()):
            what, argument = connection.recv()
            connection.send(server.mount(argument) if what == "mount" else server.take_down(argument))
            server.prepare()
    except (EOFError, OSError):
        pass  # the test process is gone, or closed the connection
    finally:
        server.end()
    sys.exit()


def _load() -> None:
    """Loads what daemons need: most of it when they answer, and here once, for all trees."""
    for name in _LATE:
        import_module(name)
    compile_all()
    for layout in ("v1", "v2"):
        _look_at_all(Kernel(layout))


def _look_at_all(kernel: Kernel) -> None:
    """Makes the tables of files, as the first look at a tree does."""
    for hierarchy in kernel.hierarchies:
        hierarchy.listing(hierarchy.root)


class _Prepared(NamedTuple):
    """A daemon that waits for the options of the tree that it will mount at `path`."""

    path: str
    pid: int
    connection: Connection


class Server:
    """Mounts trees in a directory of its own. Their daemons do not inherit the descriptors `ours`."""

    def __init__(self, ours: tuple[int, ...]) -> None:
        self._ours = ours
        self._directory = tempfile.mkdtemp(prefix=_PREFIX)
        os.chmod(self._directory, 0o755)  # for tests that act as several users
        fcntl.flock(os.open(os.path.join(self._directory, _LOCK), os.O_CREAT | os.O_RDWR), fcntl.LOCK_EX)
        self._prepared: _Prepared | None = None
        self._daemons: dict[str, int] = {}  # mount point -> pid
        self._made = 0

    def prepare(self) -> None:
        """Has a daemon ready for the next tree. Where no process can be forked, `mount` will say so."""
        if self._prepared is None:
            with contextlib.suppress(OSError):
                self._prepared = self._forked()

    def _forked(self) -> _Prepared:
        """Raises OSError."""
        self._made += 1
        path = os.path.join(self._directory, str(self._made))
        os.mkdir(path)
        ours, theirs = Pipe()
        with theirs:
            try:
                pid = os.fork()
            except OSError:
                ours.close()
                os.rmdir(path)
                raise
            if pid == 0:
                for fd in (*self._ours, ours.fileno()):
                    os.close(fd)
                os._exit(_answer(path, theirs))
        return _Prepared(path, pid, ours)

    def _next(self) -> _Prepared:
        """A daemon that lives: the one that is ready, unless somebody has killed it. Raises OSError."""
        prepared, self._prepared = self._prepared, None
        if prepared is not None and os.waitpid(prepared.pid, os.WNOHANG)[0]:
            prepared.connection.close()
            _clear(prepared.path)
            prepared = None
        return prepared or self._forked()

    def mount(self, options: argparse.Namespace) -> tuple[str, str]:
        """Mounts a tree. Returns MOUNTED and its mount point, REFUSED and the reason, or FAILED and a traceback."""
        path, pid, connection = self._next()
        self._daemons[path] = pid
        with connection:
            try:
                connection.send(options)
                said = connection.recv_bytes()
            except (EOFError, OSError):
                said = b""
        if said == _READY:
            return MOUNTED, path
        complaint = self.take_down(path)
        return (REFUSED, said.decode(errors="replace")) if said else (FAILED, complaint)

    def take_down(self, path: str) -> str:
        """Unmounts the tree at `path`. Returns the daemon's log or how it ended; "" if nothing was wrong."""
        pid = self._daemons.pop(path)
        status = _end(pid)
        _clear(path)
        written = _log_of(path)
        said = written.read_text(errors="replace") if written.exists() else ""
        written.unlink(missing_ok=True)
        if status and not said:
            how = f"was killed by signal {-status}" if status < 0 else f"has ended with status {status}"
            return f"the daemon of the cgroup tree {how}"
        return said and f"the daemon of the cgroup tree has failed:\n{said}"

    def end(self) -> None:
        """Unmounts all trees."""
        if self._prepared is not None:
            self._prepared.connection.close()
            self._daemons[self._prepared.path] = self._prepared.pid
        for pid in self._daemons.values():
            os.kill(pid, signal.SIGTERM)
        for path in list(self._daemons):
            self.take_down(path)
        shutil.rmtree(self._directory, ignore_errors=True)


def _log_of(path: str) -> Path:
    return Path(f"{path}.log")


def _answer(path: str, connection: Connection) -> int:
    """Runs a daemon; returns its exit status."""

    def say(text: bytes) -> None:
        connection.send_bytes(text)
        connection.close()

    def kernel_as_asked(processes: Processes) -> Kernel:
        """Waits for the options of the tree. Raises EOFError if there is none."""
        options = connection.recv()
        return make_kernel(options, processes, clock=standing_clock())

    server = os.getppid()
    try:
        log_to(str(_log_of(path)))
        syscalls.libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != server:
            return 0
        _look_at_all(Kernel())  # so that the memory of what it needs is its own
        serve(
            path,
            "native",
            kernel_as_asked,
            allow_other=False,
            ready=lambda: say(_READY),
            additions=Additions(WorkloadOptions(speed=0)),
        )
    except EOFError:
        return 0  # no further tree
    except MountError as error:
        if not connection.closed:
            say(str(error).removeprefix(f"{path}: ").encode())  # so that the message is the same for each tree
        else:
            log.exception("the daemon ends")
    except BaseException:
        log.exception("the daemon ends")
        return 1
    return 0


def _end(pid: int) -> int:
    """Ends a daemon and waits. Returns its exit status, or -N if signal N killed it."""
    pidfd = os.pidfd_open(pid)
    try:
        os.kill(pid, signal.SIGTERM)
        poller = select.poll()
        poller.register(pidfd, select.POLLIN)
        if not poller.poll(_PATIENCE * 1000):
            os.kill(pid, signal.SIGKILL)
    finally:
        os.close(pidfd)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _clear(path: str) -> None:
    """Removes the directory of a tree whose daemon has ended, and its dead mount if any."""
    for mounted in list(mounts()):
        if mounted.ours and mounted.point == path:
            with contextlib.suppress(MountError):  # already unmounted
                umount_fuse(path, lazy=True)
    with contextlib.suppress(OSError):
        os.rmdir(path)


def _remove_stale() -> None:
    """Removes what killed servers of this user have left."""
    for directory in glob.glob(os.path.join(glob.escape(tempfile.gettempdir()), f"{_PREFIX}*")):
        with contextlib.suppress(OSError):  # the lock is missing, held, or another user's
            if os.lstat(directory).st_uid != os.geteuid():
                continue
            lock = os.open(os.path.join(directory, _LOCK), os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                for name in os.listdir(directory):
                    if name.isdecimal():
                        _clear(os.path.join(directory, name))
                shutil.rmtree(directory, ignore_errors=True)
            finally:
                os.close(lock)


if __name__ == "__main__":
    main()
