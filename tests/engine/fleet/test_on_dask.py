"""What the workers of a Dask cluster tell of themselves before they are given something to do."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Any

import pytest

from cgroup_engine.errors import EngineError
from cgroup_engine.fleet import on_dask

SAME = version("fakecgroup")
LOST = OSError("Timed out trying to connect")


class Cluster:
    """A client's answers; `told` is each worker's, as `run` gives it with on_error="return"."""

    def __init__(self, **told: object) -> None:
        self._told = told

    def nthreads(self) -> dict[str, int]:
        return dict.fromkeys(self._told, 1)

    def run(self, function: object, on_error: str) -> dict[str, object]:
        assert on_error == "return"
        return self._told


def check(**told: object) -> None:
    client: Any = Cluster(**told)
    on_dask._check(client, "tcp://there")


def test_a_worker_that_is_lost_while_it_is_asked_is_no_worker_any_more() -> None:
    check(one=SAME, two=LOST)


@pytest.mark.parametrize("told", [{}, {"one": LOST}])
def test_without_workers_nothing_begins(told: dict[str, object]) -> None:
    with pytest.raises(EngineError, match="--dask tcp://there: the scheduler has no workers"):
        check(**told)


@pytest.mark.parametrize(("theirs", "what"), [("0.0.1", "0.0.1"), (PackageNotFoundError("fakecgroup"), "none")])
def test_a_worker_with_another_version_is_named(theirs: object, what: str) -> None:
    with pytest.raises(EngineError, match=f"worker two has fakecgroup {what}, and here it is {SAME}"):
        check(one=SAME, two=theirs)
