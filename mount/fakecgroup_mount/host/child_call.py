"""Questions to a file system whose daemon may never answer.

Who waits for an answer that the daemon has begun with cannot even be killed (fs/fuse/dev.c, request_wait_answer). So
another process asks, which is left to itself when it takes too long, and Ctrl-C ends the wait.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable

from fakecgroup_mount.errors import MountError
from fakecgroup_mount.host.shortage import explained

_GIVEN, _FAILED = b"+", b"-"


class ChildCall:
    """What `ask` returns in a process of its own. Raises MountError where no process can be started."""

    def __init__(self, ask: Callable[[], bytes]) -> None:
        self._reading, writing = os.pipe()
        try:
            self._pid = os.fork()
        except OSError as error:
            os.close(self._reading)
            os.close(writing)
            raise MountError(f"cannot start a process: {explained(error) or error.strerror}") from None
        if self._pid == 0:
            _answer(ask, writing)
        os.close(writing)

    def answer(self, patience: float) -> bytes | None:
        """The answer, or None if there is none within so many seconds. Raises OSError as `ask` did."""
        poller = select.poll()
        poller.register(self._reading, select.POLLIN)
        if not poller.poll(patience * 1000):
            return None
        said = b"".join(iter(lambda: os.read(self._reading, 1 << 16), b""))
        if said.startswith(_GIVEN):
            return said[1:]
        number = int(said[1:] or 5)
        raise OSError(number, os.strerror(number))

    def close(self) -> None:
        """The process is left to itself."""
        os.close(self._reading)
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, os.WNOHANG)


def _answer(ask: Callable[[], bytes], writing: int) -> None:
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        try:
            said = _GIVEN + ask()
        except OSError as error:
            said = _FAILED + b"%d" % (error.errno or 5)
        while said:
            said = said[os.write(writing, said) :]
    finally:
        os._exit(0)


def call_in_child(
    question: Callable[[], bytes], patience: float, look: Callable[[], None] = lambda: None
) -> bytes | None:
    """The answer to a question, or None after so many seconds; `look` is called from time to time, and may raise what
    ends the wait. Raises OSError as the question did.
    """
    asked = ChildCall(question)
    try:
        deadline = time.monotonic() + patience
        wait = 0.2
        while (said := asked.answer(wait)) is None:
            look()
            if time.monotonic() > deadline:
                return None
            wait = 0.5
        return said
    finally:
        asked.close()
