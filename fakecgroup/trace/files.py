"""Traces in files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from ..machine import options
from .replay import Replay, all_kernels
from .trace_file import TraceReader


def replay_file(
    path: str | os.PathLike[str], kernels: Iterable[str] | None = None, layouts: Sequence[str] = ()
) -> Replay:
    """The calls of a trace on kernels, by default on all: `differs()` says whether one answers otherwise.

    `layouts` are the trace's own by default. A kernel may be a learnt one's file. Raises TraceError for a file that is
    no trace, OSError for one that cannot be read, ValueError for a kernel or layout that is unknown.
    """
    wanted = [options.read("kernel", kernel) for kernel in (all_kernels() if kernels is None else kernels)]
    with open(path, "rb") as file:
        reader = TraceReader(file, os.fspath(path))
        replay = Replay(reader.head, layouts or [reader.head.layout], wanted)
        for call in reader:
            replay.feed(reader.number, call)
    replay.end()
    return replay
