"""Takes what was done and writes it to a file, in a thread of its own."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from fakecgroup.trace.call import Call, line_of
from fakecgroup_mount.host.log import Log
from fakecgroup_mount.record.callers import Who, text_of
from fakecgroup_mount.record.order import Order

log = Log(__name__)

Record = tuple[Any, ...]
"""When it was done in ns, what makes calls of it, and what that needs."""

MOST_WAITING = 100_000
"""Records that may wait to be written. The queue is longest while the disk is slow."""

MOST_BYTES = 64 << 20
"""Bytes of data that may wait to be written."""

_SETTLED = 300_000_000  # ns after which what is known of a call is all
_PAUSE = 0.05  # seconds in which records are gathered
_PATIENCE = 0.5  # seconds for the file to take something of what is left at the end
_END_LINE = 512  # bytes that are kept free for the last line
_CHUNK = 1 << 20  # bytes that are written at once
_MANY = 256  # calls of which lines are made at once
_RECORD = 200  # bytes of one without data, roughly


class Recorder:
    """Writes a trace to the descriptor `fd`, which it closes at the end, and no more than `limit` bytes of it.

    `first` are its first lines. `name` is the file's in messages.

    `take` never waits and never fails. Where the queue is full, calls are lost, and a line of the trace says how many.
    Where the file takes no more, or the limit is reached, the trace ends with one line in the log, and `ended` is True.
    """

    def __init__(self, fd: int, name: str, limit: int, first: Sequence[Call]) -> None:
        self.name = name
        self._fd = fd
        self._first = first
        self._left = limit - _END_LINE
        self._began = time.monotonic_ns()
        self._queue: deque[Record] = deque()
        self._some = threading.Event()
        self._stopping = False
        self.ended = False
        self._lost = 0
        self._taken = self._written = 0  # bytes of data, of the queue's two ends
        self._put = 0  # bytes that the file has taken
        self._putting = False  # whether the file is to take some now
        self._order = Order()
        self._last = 0  # ns at which the last one was done
        self._lines: list[str] = []
        self._thread = threading.Thread(target=self._write, daemon=True)

    def start(self) -> None:
        """Raises RuntimeError if no thread can be started."""
        self._thread.start()

    def take(self, when: int, make: Callable[..., None], size: int, what: tuple[Any, ...]) -> None:
        """Takes a record, of so many bytes, of what was done at a time of time.monotonic_ns().

        In the writing thread `make(order, ns, *what)` puts its calls in order.
        """
        queue = self._queue
        if len(queue) >= MOST_WAITING or self._taken - self._written > MOST_BYTES or self.ended:
            self._lost += 1
            return
        self._taken += size
        queue.append((when, make, size, what))
        if not self._some.is_set():  # the thread clears it before it empties the queue
            self._some.set()

    def note(self, call: Call) -> None:
        """Takes a call that is ready."""
        self.take(time.monotonic_ns(), _ready, _RECORD, (call,))

    def meet(self, who: Who, told: dict[str, Any]) -> None:
        """Notes what is known of a thread that calls for the first time."""
        self.note(Call(0.0, who.tgid, text_of(who.name), "process", result=told, more=who.more))

    def wait(self) -> None:
        """Waits until all is written, but not for a file that takes nothing more."""
        put = -1
        while self._thread.is_alive() and not (self._putting and put == self._put):
            put = self._put
            self._thread.join(_PATIENCE)
        if self._thread.is_alive():
            log.warning("%s: the file takes nothing, so the end of the trace is lost", self.name)

    def end(self) -> None:
        """Has the trace end once what waits is written. `ended` is True then."""
        self._stopping = True
        self._some.set()

    # -- the thread -------------------------------------------------------------------------------

    def _write(self) -> None:
        try:
            self._write_all()
        except OSError as error:
            log.warning("%s: %s: the trace ends here", self.name, error.strerror)
        except Exception:
            log.exception("%s: the trace ends here", self.name)
        finally:
            self.ended = True
            self._queue.clear()
            with suppress(OSError):
                os.close(self._fd)

    def _write_all(self) -> None:
        self._order.ready += self._first
        self._first = ()
        self._make_lines()
        while True:
            self._flush()
            came = self._some.wait(_PAUSE if self._order else None)
            if came and not self._stopping:
                time.sleep(_PAUSE)
            self._some.clear()
            stopping = self._stopping
            self._take_in()
            self._order.settle(self._now() - (0 if stopping else _SETTLED))
            self._make_lines()
            if self._left < 0:
                self._end("limit")
                log.warning("%s: the trace has reached its limit and ends here", self.name)
                return
            if stopping:
                self._end("stopped")
                return

    def _take_in(self) -> None:
        """Puts what waits in order."""
        queue, order, began, last = self._queue, self._order, self._began, self._last
        ready = order.ready
        while queue and self._left >= 0:
            when, make, size, what = queue.popleft()
            self._written += size
            last = max(when - began, last)  # one that met a thread is after that
            make(order, last, *what)
            if len(ready) >= _MANY:
                self._make_lines()
                order.settle(last - _SETTLED)
        self._last = last
        if self._lost:
            lost, self._lost = self._lost, 0
            order.add(self._now(), Call(self._now() / 1e9, 0, "", "lost", result=lost))

    def _make_lines(self) -> None:
        """Makes lines of the calls that are ready."""
        for call in self._order.ready:
            line = line_of(call)
            self._left -= len(line)
            if self._left < 0:
                break
            self._lines.append(line)
        self._order.ready.clear()

    def _end(self, why: str) -> None:
        self._lines.append(line_of(Call(self._now() / 1e9, 0, "", "end", result=why)))
        self._flush()

    def _now(self) -> int:
        return time.monotonic_ns() - self._began

    def _flush(self) -> None:
        """Writes the lines. Raises OSError."""
        data = memoryview("".join(self._lines).encode())
        self._lines.clear()
        self._putting = True
        while data:
            put = os.write(self._fd, data[:_CHUNK])
            self._put += put
            data = data[put:]
        self._putting = False


def _ready(order: Order, when: int, call: Call) -> None:
    order.add(when, call._replace(t=when / 1e9))
