"""Calls that may never return, as those on a file system whose daemon does not answer.

A process that waits for the answer to a FUSE request cannot be killed (fs/fuse/dev.c, request_wait_answer). So a child
makes the call. The parent can give up and leave the child behind, and Ctrl-C ends the wait.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable

from fakecgroup_mount.errors import MountError
from fakecgroup_mount.host.shortage import explained

_RESULT, _ERROR = b"+", b"-"
_FIRST_LOOK, _LOOK = 0.2, 0.5  # seconds between two calls of `look`


class ChildCall:
    """A call in a child process. Raises MountError if no process can be started."""

    def __init__(self, call: Callable[[], bytes]) -> None:
        self._reading, writing = os.pipe()
        try:
            self._pid = os.fork()
        except OSError as error:
            os.close(self._reading)
            os.close(writing)
            raise MountError(f"cannot start a process: {explained(error) or error.strerror}") from None
        if self._pid == 0:
            _run(call, writing)
        os.close(writing)

    def answer(self, patience: float) -> bytes | None:
        """The result, or None if there is none within `patience` seconds. Raises the call's OSError."""
        poller = select.poll()
        poller.register(self._reading, select.POLLIN)
        if not poller.poll(patience * 1000):
            return None
        said = b"".join(iter(lambda: os.read(self._reading, 1 << 16), b""))
        if said.startswith(_RESULT):
            return said[1:]
        number = int(said[1:] or 5)
        raise OSError(number, os.strerror(number))

    def close(self) -> None:
        """Kills the child, without waiting for it."""
        os.close(self._reading)
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, os.WNOHANG)


def _run(call: Callable[[], bytes], writing: int) -> None:
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        try:
            said = _RESULT + call()
        except OSError as error:
            said = _ERROR + b"%d" % (error.errno or 5)
        while said:
            said = said[os.write(writing, said) :]
    finally:
        os._exit(0)


def call_in_child(call: Callable[[], bytes], patience: float, look: Callable[[], None] = lambda: None) -> bytes | None:
    """The result of a call, or None after `patience` seconds. Raises the call's OSError.

    `look` is called about twice a second during the wait. What it raises ends the wait.
    """
    child = ChildCall(call)
    try:
        deadline = time.monotonic() + patience
        wait = _FIRST_LOOK
        while (said := child.answer(wait)) is None:
            look()
            if time.monotonic() > deadline:
                return None
            wait = _LOOK
        return said
    finally:
        child.close()
