"""Starts and ends the trace of a tree."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from fakecgroup import Kernel
from fakecgroup.core.cgroup import Cgroup
from fakecgroup.trace.call import Call
from fakecgroup.trace.trace_file import head_of
from fakecgroup_mount.record.callers import parent_of
from fakecgroup_mount.record.options import TraceFile
from fakecgroup_mount.record.recorder import Recorder
from fakecgroup_mount.record.tree_paths import TreePaths

_REMEMBERED = 10_000  # tasks


class Observed(Protocol):
    """A part of the tree that gives a recorder what is done."""

    def observe(self, recorder: Recorder | None) -> None:
        """From now on gives it to this one; None ends that. The caller holds the model's lock."""


class AlreadyTracedError(Exception):
    """A trace of the tree is being written."""


class Tracing:
    """Whether a tree is traced. `lock` is the model's, `source` is what serves it, such as "fakecgroup mount"."""

    def __init__(self, kernel: Kernel, lock: threading.Lock, source: str, parts: Sequence[Observed]) -> None:
        self._parts = list(parts)
        self._kernel = kernel
        self.lock = lock
        self._source = source
        self._recorder: Recorder | None = None
        self._paths = TreePaths(kernel.root)
        self._told: dict[int, str] = {}  # what was noted of a task last, as each hierarchy tells of it

    def start(self, fd: int, name: str, limit: int) -> None:
        """Writes a trace to a descriptor, which is closed at its end. The caller holds the lock.

        Raises AlreadyTracedError, and RuntimeError if no thread can be started; then the descriptor stays open.
        """
        if self._recorder is not None and not self._recorder.ended:
            raise AlreadyTracedError
        began = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        recorder = Recorder(fd, name, limit, head_of(self._kernel, self._source, began))
        recorder.start()
        self._recorder = recorder
        self._kernel.membership.on_task = self._note_task
        for part in self._parts:
            part.observe(recorder)

    def stop(self) -> Recorder | None:
        """Takes no more calls. The caller holds the lock, and then calls `Recorder.stop` without it."""
        recorder, self._recorder = self._recorder, None
        self._kernel.membership.on_task = None
        for part in self._parts:
            part.observe(None)
        return recorder

    def close(self) -> None:
        """Ends the trace, if there is one. The caller does not hold the lock."""
        with self.lock:
            recorder = self.stop()
        if recorder is not None:
            recorder.stop()

    def _note_task(self, what: str, tid: int, tgid: int, places: Sequence[Cgroup]) -> None:
        """`Membership.on_task`."""
        recorder = self._recorder
        if recorder is None or recorder.ended:
            return
        if what == "fork":
            self._told.pop(tid, None)
            parent, name = parent_of(tid)
            self._paths.forget()
            cgroups = [self._paths.of(place) for place in places if place.parent is not None]
            recorder.note(Call(0.0, parent, name, "fork", result=tid, more={"cgroups": cgroups}))
        elif what == "enter":
            if tid != tgid and self._remember(tid, "thread"):
                recorder.note(Call(0.0, tgid, "", "thread", result=tid))
        elif self._remember(tid, what):
            recorder.note(Call(0.0, tid, "", what))

    def _remember(self, tid: int, what: str) -> bool:
        """False if this was told of a task before, or that it is gone."""
        if self._told.get(tid) in (what, "reap"):
            return False
        self._told[tid] = what
        if len(self._told) > _REMEMBERED:
            del self._told[next(iter(self._told))]
        return True


@contextmanager
def traced(
    kernel: Kernel, lock: threading.Lock, source: str, parts: Sequence[Observed], file: TraceFile | None
) -> Iterator[Tracing]:
    """Writes a trace to a file from the beginning on, if there is one. Raises RuntimeError without a thread for it."""
    tracing = Tracing(kernel, lock, source, parts)
    if file is not None:
        with lock:
            tracing.start(*file)
    try:
        yield tracing
    finally:
        tracing.close()
