"""Runs the release agents of a mounted v1 tree, as the kernel does (cgroup1_release_agent, call_usermodehelper).

A kernel runs an agent with all rights. Here an agent gets the ids of the process that set it, and no capability that
this process lacked. An agent set from other namespaces or another root directory, as in a container, is not run.

A process of its own (`starter`) starts the agents. It has none of the daemon's descriptors and signals. It may wait for
a path in the tree itself, which only the daemon can answer. It starts with the first run and ends with the daemon.
"""

from __future__ import annotations

import os
import queue
import socket
import sys
import threading
from collections.abc import Callable
from errno import EPERM
from typing import NoReturn

from fakecgroup import Caller
from fakecgroup.named_tuple import NamedTuple
from fakecgroup_mount.host import helper_process
from fakecgroup_mount.host.credentials import Credentials, View
from fakecgroup_mount.host.log import Log
from fakecgroup_mount.host.open_files import close_all_but

log = Log(__name__)

_STARTER = os.path.join(os.path.dirname(__file__), "starter.py")
_ANSWER = 4096  # bytes of the longest answer
_MESSAGE = 16384  # bytes of the longest request


class AgentSandbox(NamedTuple):
    """The sandbox in which the agents of `fakecgroup run` are run.

    `mounts` is a descriptor of its mount namespace, `code` its seccomp filter. `answer` takes the filter's listener.
    """

    mounts: int
    code: bytes
    answer: Callable[[int], None]


class ReleaseAgents:
    """Starts agents one after the other, as children of the daemon or in a sandbox."""

    def __init__(self, view: View | None, sandbox: AgentSandbox | None = None) -> None:
        """Only agents that were set by a process with this `view` are run."""
        self._view = view
        self._sandbox = sandbox
        self._runs: queue.SimpleQueue[tuple[str, str, Credentials]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._failed = ""

    def run(self, agent: str, path: str, setter: Caller) -> None:
        """Runs `agent` with a cgroup's path as its argument. `setter` has set the agent. Returns at once;
        failures are logged.
        """
        who = setter.privileges()
        if not isinstance(who, Credentials) or who.view is None or who.view != self._view:
            self._log_failure(agent, path, "not run, as it was set by a process that sees another part of the machine")
            return
        self._runs.put((agent, path, who))
        if self._thread is None:
            thread = threading.Thread(target=self._pass_on, daemon=True)
            try:
                thread.start()
            except RuntimeError as error:  # no thread can be started: the run waits for the next one
                self._log_failure(agent, path, str(error))
                return
            self._thread = thread

    def _pass_on(self) -> None:
        starter: socket.socket | None = None
        while True:
            agent, path, who = self._runs.get()
            message = b"\0".join((os.fsencode(agent), os.fsencode(path), _limits(who)))
            if len(message) > _MESSAGE:  # cut off, the last group would be a wrong one
                self._log_failure(agent, path, "whoever set it has too many groups")
                continue
            try:
                starter = starter or _start(self._sandbox)
                starter.send(message)
                answer = starter.recv(_ANSWER)
            except OSError as error:
                answer = str(error).encode()
                starter = None
            if answer:
                self._log_failure(agent, path, answer.decode(errors="replace"))

    def _log_failure(self, agent: str, path: str, why: str) -> None:
        """Logs an agent's first failure. The kernel says nothing."""
        if agent != self._failed:
            self._failed = agent
            log.warning("release agent %r for cgroup %r: %s", agent, path, why)


def _limits(who: Credentials) -> bytes:
    """The rights of an agent for `starter`: uid, gid, capabilities, bounding set, no_new_privs, groups."""
    bounding = who.bounding if who.uid else who.held  # execve(2) gives root the whole bounding set
    return b"%d %d %d %d %d " % (who.uid, who.gid, who.held, bounding, who.no_new_privileges) + b" ".join(
        b"%d" % group for group in who.groups
    )


def _start(sandbox: AgentSandbox | None) -> socket.socket:
    """Starts a starter and returns the connection to it. Closing it ends the starter. Raises OSError."""
    if sandbox is None:
        return helper_process.start(_STARTER)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        if os.fork() == 0:
            try:
                _become_trapped_starter(theirs, sandbox)
            finally:
                os._exit(1)
    _, descriptors, _, _ = socket.recv_fds(ours, _ANSWER, 1)
    if not descriptors:
        raise OSError(EPERM, "it cannot be run in the sandbox")
    sandbox.answer(descriptors[0])
    ours.send(b"+")
    return ours


def _become_trapped_starter(daemon: socket.socket, sandbox: AgentSandbox) -> NoReturn:
    """Installs the sandbox's filter, then executes the starter. After execve(2), processes of the sandbox may trace it;
    so it must be trapped before, or they would get a process without the filter.
    """
    from fakecgroup_mount.seccomp.filter import install

    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for fd, number in ((daemon.fileno(), 0), (null, 1), (null, 2)):
        os.dup2(fd, number)
    close_all_but((0, 1, 2, sandbox.mounts))
    with socket.socket(fileno=0) as asked:
        listener = install(sandbox.code)
        socket.send_fds(asked, [b"+"], [listener])
        os.close(listener)
        if not asked.recv(1):
            os._exit(1)
        os.set_inheritable(sandbox.mounts, True)
        os.execv(sys.executable, [sys.executable, "-IS", _STARTER, str(sandbox.mounts)])
