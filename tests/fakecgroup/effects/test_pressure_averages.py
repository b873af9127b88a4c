"""Averages of pressure against what booted kernels showed, digit by digit.

pressure-VERSION.jsonl: cpu.pressure of a cgroup under a quota, read about every 5 ms for 60 s by `scripts/oracle
effects averages`. A line is a change of
the averages: the times of the reads before and after it (ns), the totals at both (µs, of some and of full), the
averages after it (percent).
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fakecgroup.effects.pressure_averages import Averages, interval
from fakecgroup.effects.stalls import Stalls

_INTERVAL = interval(250)
_JIFFY = 4_000_000


@pytest.mark.parametrize("kernel", ["5.10", "6.1", "6.12", "7.2"])
def test_averages_are_those_of_the_kernel(kernel: str) -> None:
    lines = Path(__file__).with_name(f"pressure-{kernel}.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    for state in range(len(rows[0]["shown"])):
        possible: set[tuple[tuple[int, ...], int]] = {((0, 0, 0), 0)}
        before = {"from": rows[0]["from"] - _INTERVAL, "to": rows[0]["from"] - _INTERVAL}
        for row in rows:
            shown = tuple(f"{value:.2f}" for value in row["shown"][state])
            possible = {
                (after.percent, total)
                for percent, old in sorted(possible)[:20]
                for total in _range(*row["total"][state])
                for period in range(row["from"] - before["to"], row["to"] - before["from"] + _JIFFY, _JIFFY // 2)
                for after in [_updated(percent, old, total, period)]
                if after.shown() == shown
            }
            assert possible, f"no total gives {shown} at {row['from']}"
            before = row


def test_an_update_before_it_is_due_changes_nothing() -> None:
    averages = Averages(_INTERVAL, 0, _INTERVAL)
    averages.update(_INTERVAL - 1, _INTERVAL)
    assert averages.percent == (0, 0, 0)


def test_a_share_is_cut_to_whole_percent() -> None:
    averages = Averages(_INTERVAL, 0, _INTERVAL)
    averages.update(_INTERVAL, _INTERVAL * 199 // 20_000)
    assert averages.shown() == ("0.00", "0.00", "0.00")


def test_missed_intervals_count_as_idle() -> None:
    often, once = Averages(_INTERVAL, 0, _INTERVAL), Averages(_INTERVAL, 0, _INTERVAL)
    for averages in (often, once):
        averages.update(_INTERVAL, _INTERVAL)
    for number in range(2, 6):
        often.update(number * _INTERVAL, _INTERVAL)
    once.update(5 * _INTERVAL, _INTERVAL)
    assert [round(float(a) - float(b), 1) for a, b in zip(often.shown(), once.shown(), strict=True)] == [0, 0, 0]


def _updated(percent: tuple[int, ...], before: int, total: int, period: int) -> Averages:
    """The averages after `period` ns, with totals in µs."""
    missed = round(period / _INTERVAL) - 1
    averages = Averages(period - missed * _INTERVAL, 0, _INTERVAL, before * 1000, percent)
    averages.update(period, total * 1000)
    return averages


def _range(least: int, most: int) -> range:
    return range(least, most + 1, max(1, (most - least) // 20))


def test_a_long_steady_stall_gives_the_averages_of_many_short_ones() -> None:
    at_once, bit_by_bit = Stalls(0, _INTERVAL), Stalls(0, _INTERVAL)
    hour = 3600 * 1_000_000_000
    at_once.add(hour, hour, hour * 0.4, hour * 0.1)
    for second in range(1, 3601):
        bit_by_bit.add(second * hour // 3600, hour // 3600, hour // 3600 * 0.4, hour // 3600 * 0.1)
    assert at_once.lines(hour) == bit_by_bit.lines(hour)
