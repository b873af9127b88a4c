"""Looks at all nodes with local processes."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool

from cgroup_engine.errors import EngineError
from cgroup_engine.fleet.dump import Dump
from cgroup_engine.fleet.evaluate import Result
from cgroup_engine.fleet.tasks import Question, evaluate_all, parts, tasks_of
from cgroup_engine.gc_pause import gc_paused

_shared: tuple[Dump, Question] | None = None  # in the processes that are forked, so that nothing is copied to them


def look(dump: Dump, question: Question, workers: int) -> Iterator[list[Result]]:
    """The results of all nodes, part by part as they come.

    :raises EngineError: a process was killed.
    """
    all_parts = parts(dump)
    if workers <= 1 or len(all_parts) <= 1:
        for names in all_parts:
            with gc_paused():
                results = evaluate_all(list(tasks_of(dump, names, question)))
            yield results
        return
    global _shared
    _shared = dump, question
    try:
        with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("fork")) as pool:
            for future in as_completed([pool.submit(_look_at, names) for names in all_parts]):
                yield future.result()
    except BrokenProcessPool:
        raise EngineError("a worker process was killed", todo="give --workers 1, or more memory") from None
    finally:
        _shared = None


def _look_at(names: list[str]) -> list[Result]:
    assert _shared is not None
    dump, question = _shared
    with gc_paused():
        return evaluate_all(list(tasks_of(dump, names, question)))
