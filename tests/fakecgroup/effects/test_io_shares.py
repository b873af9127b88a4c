"""What io.max and io.weight leave of transfers."""

from __future__ import annotations

import pytest

from fakecgroup.effects.io_shares import Flow, Queue, share_out

_MI = 1 << 20
_COSTS = {"rbps": 100.0 * _MI, "wbps": 50.0 * _MI, "rseqiops": 25_600.0, "wseqiops": 12_800.0}


def _reader(rate: float, block: int = 64 << 10) -> Flow:
    return Flow({"r": rate * _MI}, block)


def test_without_limits_all_get_what_they_want() -> None:
    flow = _reader(1000)
    share_out(Queue(queues=[Queue(flows=[flow])]), None)
    assert flow.part == 1.0


def test_bytes_and_operations_are_limited_by_direction() -> None:
    flow = Flow({"r": 10.0 * _MI, "w": 10.0 * _MI}, 64 << 10)
    share_out(Queue(queues=[Queue({"wiops": 40.0}, flows=[flow])]), None)
    assert flow.part == pytest.approx(0.25)


def test_processes_share_a_limit_above_in_equal_parts() -> None:
    """As on a booted 6.12: a group of two has twice what a group of one has."""
    one, two, three = _reader(10), _reader(10), _reader(10)
    above = Queue({"rbps": 12.0 * _MI}, queues=[Queue(flows=[one, two]), Queue(flows=[three])])
    share_out(Queue(queues=[above]), None)
    assert [flow.bytes_of("r") / _MI for flow in (one, two, three)] == pytest.approx([4, 4, 4])


def test_weights_divide_a_disk_s_time_where_io_cost_is_on() -> None:
    heavy, light = _reader(200), _reader(200)
    share_out(Queue(queues=[Queue(weight=300, flows=[heavy]), Queue(weight=100, flows=[light])]), _COSTS)
    assert [flow.bytes_of("r") / _MI for flow in (heavy, light)] == pytest.approx([75, 25])


def test_a_write_takes_the_time_that_the_cost_model_says() -> None:
    flow = Flow({"w": 200.0 * _MI}, 64 << 10)
    share_out(Queue(queues=[Queue(flows=[flow])]), _COSTS)
    assert flow.bytes_of("w") / _MI == pytest.approx(50)
