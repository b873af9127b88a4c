"""Starts and ends the trace of a tree."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from fakecgroup import Kernel
from fakecgroup.core.cgroup import Cgroup
from fakecgroup_mount.record.options import TraceFile
from fakecgroup_mount.seccomp.process import identity

if TYPE_CHECKING:
    from fakecgroup.trace.tree_paths import TreePaths
    from fakecgroup_mount.record.recorder import Recorder

_REMEMBERED = 10_000  # tasks


class Observed(Protocol):
    """A part of the tree that gives a recorder what is done."""

    def observe(self, recorder: Recorder | None) -> None:
        """From now on gives it to this one; None ends that. The caller holds the model's lock."""


class AlreadyTracedError(Exception):
    """A trace of the tree is being written; the text is its file."""


class OwnFileError(Exception):
    """A trace would go into its own tree, where each line would be a call."""


class Tracing:
    """Whether a tree is traced. `lock` is the model's, `source` is what serves it, such as "fakecgroup mount".

    `device` is the tree's mount ("0:42").
    """

    _paths: TreePaths  # since the beginning of a trace

    def __init__(
        self, kernel: Kernel, lock: threading.Lock, source: str, parts: Sequence[Observed], device: str
    ) -> None:
        self.lock = lock
        self._kernel = kernel
        self._source = source
        self._parts = list(parts)
        self._late: list[Callable[[], Observed]] = []
        self._device = device
        self._recorder: Recorder | None = None
        self._ending: Recorder | None = None
        self._told: dict[int, str] = {}  # what was noted of a task last, as each hierarchy tells of it

    def vet(self, fd: int) -> None:
        """Raises AlreadyTracedError, and OwnFileError for a descriptor that no trace can be written to.

        Nobody who holds the lock closes a file of the tree: the server answers that, and takes the lock.
        """
        if self._recorder is not None and not self._recorder.ended:
            raise AlreadyTracedError(self._recorder.name)
        if identity(f"/proc/self/fd/{fd}")[0] == _number(self._device):
            raise OwnFileError

    def start(self, fd: int, name: str, limit: int) -> None:
        """Writes a trace to a descriptor that `vet` has let pass. It is closed at the trace's end.

        The caller holds the lock. Raises RuntimeError if no thread can be started; then the descriptor stays open.
        """
        # these take a while to load
        from fakecgroup.trace.assumed import assumed_calls
        from fakecgroup.trace.trace_file import head_of
        from fakecgroup.trace.tree_paths import TreePaths
        from fakecgroup_mount.record.recorder import Recorder

        began = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        head = head_of(self._kernel, self._source, began)
        recorder = Recorder(fd, name, limit, [head.as_call(), *assumed_calls(self._kernel)])
        recorder.start()
        self._recorder = recorder
        self._paths = TreePaths(self._kernel.root)
        self._told.clear()
        self._kernel.membership.on_task = self._note_task
        self._parts += [make() for make in self._late]
        self._late.clear()
        for part in self._parts:
            part.observe(recorder)

    def add(self, make: Callable[[], Observed]) -> None:
        """A further part of the tree, which is made when there is a trace. The caller holds the lock."""
        if self._recorder is None or self._recorder.ended:
            self._late.append(make)
        else:
            self._parts.append(make())
            self._parts[-1].observe(self._recorder)

    def stop(self) -> str | None:
        """Takes no more calls, and writes what it has. The caller holds the lock. Returns the file; None for no trace.

        `state` is "ending" until all is written.
        """
        recorder, self._recorder = self._recorder, None
        if recorder is None:
            return None
        self._kernel.membership.on_task = None
        for part in self._parts:
            part.observe(None)
        if recorder.ended:
            return None
        self._ending = recorder
        recorder.end()
        return recorder.name

    @property
    def state(self) -> str:
        """ "none", "written" or "ending"."""
        if self._recorder is not None and not self._recorder.ended:
            return "written"
        return "ending" if self._ending is not None and not self._ending.ended else "none"

    @property
    def name(self) -> str:
        """The file of the trace that is written, or was written last; empty for none."""
        recorder = self._recorder or self._ending
        return "" if recorder is None else recorder.name

    def close(self) -> None:
        """Ends the trace, if there is one, and waits for its end. The caller does not hold the lock."""
        with self.lock:
            self.stop()
        if self._ending is not None:
            self._ending.wait()

    def _note_task(self, what: str, tid: int, tgid: int, places: Sequence[Cgroup]) -> None:
        """`Membership.on_task`."""
        recorder = self._recorder
        if recorder is None or recorder.ended:
            return
        from fakecgroup.trace.call import Call
        from fakecgroup_mount.record.callers import parent_of

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


def _number(device: str) -> int:
    """st_dev of a mount; -1 for no mount."""
    major, _, minor = device.partition(":")
    return os.makedev(int(major), int(minor)) if minor else -1


@contextmanager
def traced(tracing: Tracing, file: TraceFile | None) -> Iterator[Tracing]:
    """Writes a trace to a file from the beginning on, if there is one. Raises RuntimeError without a thread for it."""
    if file is not None:
        with tracing.lock:
            tracing.start(*file)
    try:
        yield tracing
    finally:
        tracing.close()
