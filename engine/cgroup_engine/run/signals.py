"""The signals of ``run``: SIGTERM and SIGINT end it, SIGHUP causes a reconcile at once."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Ended(Exception):  # noqa: N818 (nothing went wrong)
    """A signal to end came during work that only reads."""


class Signals:
    """The signals that came. ``ending``: the name of the one that ends ``run``, or "". ``hangup``: reset by its reader.

    Its descriptor is readable after a signal. Use it as a context in the main thread; the end restores the handlers.
    """

    def __init__(self) -> None:
        self.ending = ""
        self.hangup = False
        self._reading = False
        self._ours, self._kernels = socket.socketpair()
        for end in (self._ours, self._kernels):
            end.setblocking(False)

    def __enter__(self) -> Signals:
        self._former = {number: signal.signal(number, self._came) for number in (signal.SIGTERM, signal.SIGINT)}
        self._former[signal.SIGHUP] = signal.signal(signal.SIGHUP, self._hang_up)
        self._former_fd = signal.set_wakeup_fd(self._kernels.fileno(), warn_on_full_buffer=False)
        return self

    def __exit__(self, *_: object) -> None:
        signal.set_wakeup_fd(self._former_fd)
        for number, handler in self._former.items():
            signal.signal(number, handler)
        self._ours.close()
        self._kernels.close()

    def fileno(self) -> int:
        return self._ours.fileno()

    def quiet(self) -> None:
        """Empties the descriptor: it is not readable until the next signal."""
        try:
            while self._ours.recv(4096):
                pass
        except BlockingIOError:
            pass

    @contextmanager
    def reading(self) -> Iterator[None]:
        """A context for work that changes nothing; a signal to end raises ``Ended`` in it at any point."""
        if self.ending:
            raise Ended
        self._reading = True
        try:
            yield
        finally:
            self._reading = False

    def _came(self, number: int, frame: FrameType | None) -> None:
        self.ending = signal.Signals(number).name
        if self._reading:
            self._reading = False
            raise Ended

    def _hang_up(self, number: int, frame: FrameType | None) -> None:
        self.hangup = True
