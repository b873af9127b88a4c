"""Looks at all nodes on a Dask cluster that is there already. Only the parts of the dump travel, as they are asked for.

The workers need this package in the same version.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from json import loads
from typing import TYPE_CHECKING

from cgroup_engine.errors import EngineError, InputError
from cgroup_engine.fleet.dump import Dump
from cgroup_engine.fleet.evaluate import Result, Task
from cgroup_engine.fleet.tasks import Question, evaluate_all, parts, tasks_of

if TYPE_CHECKING:
    from distributed import Client

_RETRIES = 3  # of a part whose worker was lost
_AHEAD = 4  # parts that are on their way for each thread of the cluster
_PATIENCE = 10  # seconds for the scheduler


def look_on_dask(dump: Dump, question: Question, address: str) -> Iterator[list[Result]]:
    """The results of all nodes, part by part as they come.

    :raises InputError: the library is missing, or there is no scheduler at the address.
    :raises EngineError: the cluster has no workers, or a part failed on all of its attempts.
    """
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise InputError("--dask: this needs pip install 'fakecgroup[fleet]'") from None
    try:
        client = Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError) as failed:
        raise InputError(f"--dask {address}: {failed}", value=address, todo="give a scheduler's address") from None
    with client:
        _check(client, address)
        waiting = iter(parts(dump))

        def submitted() -> Iterator[object]:
            for names in waiting:
                tasks = [_with_own_usage(task) for task in tasks_of(dump, names, question)]
                yield client.submit(evaluate_all, tasks, pure=False, retries=_RETRIES)

        coming = submitted()
        ahead = _AHEAD * max(1, sum(client.nthreads().values()))
        first = [future for _, future in zip(range(ahead), coming, strict=False)]
        running = as_completed(first, loop=client.loop)
        try:
            for future in running:
                result = future.result()
                future.release()
                if (further := next(coming, None)) is not None:
                    running.add(further)
                yield result
        except Exception as failed:
            raise EngineError(f"--dask {address}: a part failed: {failed}") from None


def _check(client: Client, address: str) -> None:
    """Checks that there are workers, and that they can look at nodes as we do.

    :raises EngineError: there are none, or they lack this package or have it in another version.
    """
    ours = _version()
    found = client.run(_version, on_error="return") if client.nthreads() else {}
    living = {worker: theirs for worker, theirs in found.items() if not isinstance(theirs, OSError)}
    if not living:
        raise EngineError(f"--dask {address}: the scheduler has no workers")
    for worker, theirs in living.items():  # one that was lost meanwhile gets nothing to do either
        if theirs != ours:
            what = theirs if isinstance(theirs, str) else "none"
            raise EngineError(f"--dask {address}: worker {worker} has fakecgroup {what}, and here it is {ours}")


def _version() -> str:
    from importlib.metadata import version

    return version("fakecgroup")


def _with_own_usage(task: Task) -> Task:
    """A task with what its own pods use, and not what all use."""
    if not task.usage:
        return task
    pods = {(meta.get("namespace", "default"), meta.get("name")) for meta in map(_metadata, task.pods)}
    return replace(task, usage={key: used for key, used in task.usage.items() if key[:2] in pods})


def _metadata(data: bytes) -> dict[str, str]:
    found = loads(data)["metadata"]
    return found if isinstance(found, dict) else {}
