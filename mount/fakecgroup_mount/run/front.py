"""The process that the user started: starts the server and the command, waits, and ends as the command did."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from fakecgroup.named_tuple import NamedTuple
from fakecgroup_mount.errors import MountError
from fakecgroup_mount.fuse.asked import NO_ADDITIONS, Additions
from fakecgroup_mount.host import daemon
from fakecgroup_mount.host.shortage import explained, require_threads
from fakecgroup_mount.run import server_start
from fakecgroup_mount.run.frozen_command import FrozenCommand
from fakecgroup_mount.run.id_maps import write_outer_maps
from fakecgroup_mount.run.messages import KILLED, LISTENER
from fakecgroup_mount.run.shown_machine import THIS_MACHINE, SeenMachine
from fakecgroup_mount.seccomp.fuse_connection import FuseConnection
from fakecgroup_mount.seccomp.namespace_kill import kill_namespace
from fakecgroup_mount.seccomp.namespaces import UserAndMountNamespaces
from fakecgroup_mount.seccomp.user_namespaces import NamespaceId, namespace_of

if TYPE_CHECKING:
    from fakecgroup import Kernel, Processes
    from fakecgroup_mount.run.sandbox import Sandbox

PASSED_ON = frozenset(
    (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGCONT)
)
_TO_END = frozenset((signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM))
_HELD = PASSED_ON | {signal.SIGCHLD, signal.SIGIO, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
SI_USER = 0  # or less: sent by a process; the terminal sends signals to the command too
_PATIENCE = 10.0  # seconds for the server to end
_THREADS = 14  # threads that the server starts with, and some more


def run(
    make_sandbox: Callable[[frozenset[int]], Sandbox],
    make_kernel: Callable[[Processes], Kernel],
    additions: Additions = NO_ADDITIONS,
    seen: SeenMachine = THIS_MACHINE,
) -> int:
    """Runs the command in a tree; returns its exit status, or 128+N if signal N killed it. Raises MountError.

    The command sees the machine `seen`. Processes that it has left running are killed.
    """
    mask = frozenset(signal.pthread_sigmask(signal.SIG_BLOCK, _HELD))
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            front_pid, frozen = os.getpid(), FrozenCommand()
            daemon.start(
                lambda ready: server_start.start(
                    theirs,
                    make_kernel,
                    ready,
                    front=front_pid,
                    frozen=frozen,
                    additions=additions,
                    seen=seen,
                ),
                keep=(theirs.fileno(), *additions.descriptors),
            )
        from fakecgroup_mount.run.sandbox import enter  # here, as the server has more to do

        front, child = socket.socketpair()
        with front:
            with child:
                try:
                    pid = os.fork()
                except OSError as error:
                    raise MountError(f"cannot start a process: {explained(error) or error.strerror}") from None
                if pid == 0:
                    front.close()
                    enter(lambda: make_sandbox(mask), child, ours)
            try:
                require_threads(_THREADS)  # here, as the sandbox and the server have more to do
                sandbox = _start(pid, front, ours)
            except BaseException:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                raise
        status = _wait(pid, sandbox, ours, frozen)
        ours.shutdown(socket.SHUT_WR)
        if not _has_killed_all(ours):
            sandbox.end()
    return status


def _has_killed_all(server: socket.socket) -> bool:
    """Waits for the end of the server. Returns whether it has killed what was left in the sandbox before."""
    server.settimeout(_PATIENCE)
    said = b""
    try:
        while more := server.recv(1):
            said += more
    except OSError:
        pass
    return said == KILLED


class _Started(NamedTuple):
    """A sandbox that runs."""

    namespace: NamespaceId
    """The outer user namespace, above the command's."""
    connection: FuseConnection

    def end(self) -> None:
        """Kills all its processes."""
        kill_namespace(self.namespace, self.connection.end)


def _start(pid: int, front: socket.socket, server: socket.socket) -> _Started:
    """Maps the ids of the child's user namespace and waits until the child has become the command.

    The listener stays open here too. Trapped calls fail with ENOSYS once it is closed everywhere; after the death of
    the server they are to wait until they are killed. Raises MountError, also if the server ends meanwhile: the child
    may wait for its answer.
    """
    outer = connection = None
    _await_word(front, server)
    said = front.recv(1)
    if said == b"u":
        outer = namespace_of(pid)
        write_outer_maps(pid)
        front.sendall(b"+")
        said = b""
    while True:
        _await_word(front, server)
        more, descriptors, _, _ = socket.recv_fds(front, 4096, 3)
        if not more:
            break
        if descriptors:
            _, *inner = descriptors
            connection = FuseConnection(UserAndMountNamespaces.from_descriptors(*inner))
        said += more.removeprefix(LISTENER) if descriptors else more
    if outer is None or connection is None or said:
        raise MountError(said.decode(errors="replace"))
    return _Started(outer, connection)


def _await_word(front: socket.socket, server: socket.socket) -> None:
    """Waits for a message of the child. Raises MountError if the server ends without one.

    What the server sends is for the child, so only the end of the connection is looked for.
    """
    poller = select.poll()
    poller.register(front, select.POLLIN)
    poller.register(server, 0)
    if front.fileno() not in dict(poller.poll()):
        raise MountError(f"the daemon behind the tree has ended; see {daemon.log_path()}")


def _wait(pid: int, sandbox: _Started, server: socket.socket, frozen: FrozenCommand) -> int:
    """Waits for the end of the command; returns its exit status. Raises MountError if the server ends first.

    Passes signals on to the command. Stops when the command stops, unless its cgroup is frozen. While it is frozen, a
    signal such as Ctrl-C's kills the sandbox.
    """
    fcntl.fcntl(server, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(server, fcntl.F_SETFL, fcntl.fcntl(server, fcntl.F_GETFL) | os.O_ASYNC)  # SIGIO when the server ends
    while True:
        if select.select([server], [], [], 0)[0]:
            sandbox.end()
            os.waitpid(pid, 0)
            raise MountError(f"the daemon behind the tree has ended, and so the command; see {daemon.log_path()}")
        done, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED)
        if done and os.WIFSTOPPED(status):
            from fakecgroup_mount.fuse.daemons import is_stopped  # takes a while to load

            if frozen.is_held or not is_stopped(pid):
                continue  # stopped by the freezer or for a limit, or continued since
            os.kill(os.getpid(), signal.SIGSTOP)  # so that the shell takes the terminal back
        elif done:
            return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        else:
            told = signal.sigwaitinfo(_HELD)
            if told.si_signo in _TO_END and frozen.is_frozen:
                sandbox.end()
                os.waitpid(pid, 0)
                return 128 + told.si_signo
            if told.si_signo in PASSED_ON and told.si_code <= SI_USER:
                os.kill(pid, told.si_signo)
