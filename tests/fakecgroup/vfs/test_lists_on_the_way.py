"""Lists of tasks that change between two reads go on as booted kernels' do.

`lists_on_the_way.json` has the kernels' answers, as `scripts/oracle ask` gives them.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fakecgroup import Kernel, ProcessTable
from fakecgroup.conformance.recording import RecordedCase
from fakecgroup.conformance.replay import replay
from fakecgroup.conformance.target_model import ModelTarget

from .lists_on_the_way import cases

ASKED = json.loads(Path(__file__).with_name("lists_on_the_way.json").read_text())


@pytest.mark.parametrize(("layout", "kernel"), [(one["layout"], series) for one in ASKED for series in one["kernels"]])
def test_a_list_goes_on_as_a_kernels(layout: str, kernel: str) -> None:
    answers = next(one["answers"] for one in ASKED if one["layout"] == layout and kernel in one["kernels"])
    target = ModelTarget(layout, kernel)
    asked = [RecordedCase("lists", case, tuple(map(tuple, answers[case.name]))) for case in cases(layout)]
    assert [str(difference) for one in asked for difference in replay(one, target).differences] == []


def test_a_process_that_is_gone_when_its_turn_comes_is_a_zero() -> None:
    """As booted 5.10, 6.1, 6.12 and 7.2 showed it. Recorded answers leave a 0 out, as any process without a name."""
    table = ProcessTable()
    kernel = Kernel("v2", "6.12", processes=table)
    kernel.mkdir("a")
    first, second, third = (kernel.fork(1) for _ in range(3))
    for pid in (first, second, third):
        kernel.write("a/cgroup.procs", str(pid))
    opened = kernel.open("a/cgroup.procs")
    assert opened.read(0, 1) == str(first).encode()[:1]
    table.exit(second)
    kernel.task_exited(second)
    table.reap(second)
    kernel.task_reaped(second)
    assert opened.read(1, 4096).decode() == f"{first}\n0\n{third}\n"[1:]
