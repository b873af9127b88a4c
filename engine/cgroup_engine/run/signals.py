"""The signals that ``run`` listens to: SIGTERM and SIGINT end it, SIGHUP makes it look at once."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Ended(Exception):  # noqa: N818 (nothing went wrong)
    """A signal to end has come while nothing but reading was going on."""


class Signals:
    """``ending``: the name of the signal that came, or "". ``hangup``: has SIGHUP come? (whoever acts on it resets it)

    Readable when a signal has come. A context in the main thread: the former handlers are put back at its end.
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
        """Not readable any more until the next signal."""
        try:
            while self._ours.recv(4096):
                pass
        except BlockingIOError:
            pass

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Work that changes nothing and may be left at any point: a signal to end raises ``Ended`` in it."""
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
