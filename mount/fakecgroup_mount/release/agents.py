"""Runs the release agents of a mounted v1 tree, as the kernel does (cgroup1_release_agent, call_usermodehelper).

A kernel runs them with all that it may do itself. Here an agent has the ids of whoever set it and no capability that
they had not; and what was set by someone who sees another part of the machine, as in a container, is not run at all.

A process of its own starts them (`starter`): it has none of the daemon's descriptors and signals, and it may
wait for a path that leads into the tree itself, which only the daemon can answer for. It is there from the first run on
and ends with the daemon.
"""

from __future__ import annotations

import logging
import os
import queue
import socket
import sys
import threading
from collections.abc import Callable
from errno import EPERM
from pathlib import Path
from typing import NamedTuple, NoReturn

from fakecgroup import Caller
from fakecgroup_mount.host import helper_process
from fakecgroup_mount.host.credentials import Credentials, View

log = logging.getLogger(__name__)

_STARTER = Path(__file__).with_name("starter.py")
_ANSWER = 4096  # bytes, at most
_MESSAGE = 16384  # bytes, which the starter takes


class AgentSandbox(NamedTuple):
    """Where agents are run that shall see what a command sees: in the mount namespace that `mounts` is a descriptor of,
    under the seccomp filter `code`, whose listener is given to `answer`.
    """

    mounts: int
    code: bytes
    answer: Callable[[int], None]


class ReleaseAgents:
    """Starts agents in the order in which they are asked for, as children of the daemon or in a sandbox."""

    def __init__(self, view: View | None, sandbox: AgentSandbox | None = None) -> None:
        """`view` is what those see of the machine whose agents are run."""
        self._view = view
        self._sandbox = sandbox
        self._runs: queue.SimpleQueue[tuple[str, str, Credentials]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._failed = ""

    def run(self, agent: str, path: str, setter: Caller) -> None:
        """Has `agent` told the path of a cgroup below its hierarchy's root. Returns at once, whatever comes of it."""
        who = setter.privileges()
        if not isinstance(who, Credentials) or who.view is None or who.view != self._view:
            self._tell(agent, path, "not run, as it was set by a process that sees another part of the machine")
            return
        self._runs.put((agent, path, who))
        if self._thread is None:
            thread = threading.Thread(target=self._pass_on, daemon=True)
            try:
                thread.start()
            except RuntimeError as error:  # no more threads: with the next one, if there are by then
                self._tell(agent, path, str(error))
                return
            self._thread = thread

    def _pass_on(self) -> None:
        starter: socket.socket | None = None
        while True:
            agent, path, who = self._runs.get()
            message = b"\0".join((os.fsencode(agent), os.fsencode(path), _limits(who)))
            if len(message) > _MESSAGE:  # cut off, its last group would be another
                self._tell(agent, path, "whoever set it has too many groups")
                continue
            try:
                starter = starter or _start(self._sandbox)
                starter.send(message)
                answer = starter.recv(_ANSWER)
            except OSError as error:
                answer = str(error).encode()
                starter = None
            if answer:
                self._tell(agent, path, answer.decode(errors="replace"))

    def _tell(self, agent: str, path: str, why: str) -> None:
        """The kernel is silent; the log hears of each agent's first failure."""
        if agent != self._failed:
            self._failed = agent
            log.warning("release agent %r for cgroup %r: %s", agent, path, why)


def _limits(who: Credentials) -> bytes:
    """What `starter` takes: uid, gid, capabilities, those to be had, whether no more are, and the groups."""
    bounding = who.bounding if who.uid else who.held  # root would have all of the former
    return b"%d %d %d %d %d " % (who.uid, who.gid, who.held, bounding, who.no_new_privileges) + b" ".join(
        b"%d" % group for group in who.groups
    )


def _start(sandbox: AgentSandbox | None) -> socket.socket:
    """The connection to a new starter, which ends when it is closed. Raises OSError."""
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
    """System calls are asked about as the command's are before anybody can trace it, as once it is executed others of
    the sandbox may: they get no process without the filter.
    """
    from fakecgroup_mount.seccomp.filter import install

    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for fd, number in ((daemon.fileno(), 0), (null, 1), (null, 2)):
        os.dup2(fd, number)
    for fd in map(int, os.listdir("/proc/self/fd")):
        if fd > 2 and fd != sandbox.mounts:
            try:
                os.close(fd)
            except OSError:
                pass  # the one that listed the others
    with socket.socket(fileno=0) as asked:
        listener = install(sandbox.code)
        socket.send_fds(asked, [b"+"], [listener])
        os.close(listener)
        if not asked.recv(1):
            os._exit(1)
        os.set_inheritable(sandbox.mounts, True)
        os.execv(sys.executable, [sys.executable, "-IS", str(_STARTER), str(sandbox.mounts)])
