"""The parts of the cases: together the whole, alike in size, and the same everywhere."""

from __future__ import annotations

import random
from functools import cache

import pytest

from fakecgroup.conformance import recording
from fakecgroup.conformance.case import Case
from fakecgroup.conformance.recording import RecordedCase
from fakecgroup.conformance.shard import Shard


@cache
def cases() -> tuple[RecordedCase, ...]:
    return recording.load("v2", "6.12").cases


def parts(of: tuple[RecordedCase, ...], count: int) -> list[list[RecordedCase]]:
    return [Shard(number, count).of(of) for number in range(1, count + 1)]


@pytest.mark.parametrize("count", [1, 2, 4, 8, 61])
def test_each_case_is_in_one_part(count: int) -> None:
    names = [one.case.name for part in parts(cases(), count) for one in part]
    assert sorted(names) == sorted(one.case.name for one in cases())


@pytest.mark.parametrize("count", [2, 4, 8])
def test_no_part_has_much_more_to_do_than_its_share(count: int) -> None:
    sizes = [sum(len(one.case.ops) + 5 for one in part) for part in parts(cases(), count)]
    assert max(sizes) <= sum(sizes) / count * 1.03


def test_more_parts_than_cases_leave_some_empty() -> None:
    few = cases()[:3]
    assert sorted(map(len, parts(few, 5))) == [0, 0, 1, 1, 1]


def test_the_order_of_the_cases_does_not_matter() -> None:
    mixed = random.Random(1).sample(cases(), len(cases()))
    assert {one.case.name for one in Shard(2, 8).of(mixed)} == {one.case.name for one in Shard(2, 8).of(cases())}


def test_a_part_keeps_the_order_of_the_cases() -> None:
    part = Shard(3, 4).of(cases())
    assert part == [one for one in cases() if one in part]


def test_a_new_case_moves_few_others() -> None:
    new = RecordedCase("pids", Case("a case that nobody asked yet", "v2", (("read", "pids.max"),) * 50), ())
    before = {one.case.name: number for number, part in enumerate(parts(cases(), 8)) for one in part}
    after = {one.case.name: number for number, part in enumerate(parts((*cases(), new), 8)) for one in part}
    moved = [name for name, number in before.items() if after[name] != number]
    assert len(moved) < len(before) / 20


@pytest.mark.hostile("--shard with anything but I/N", times=8)
@pytest.mark.parametrize("text", ["", "1", "0/4", "5/4", "1/0", "-1/4", "a/b", "1/2/3"])
def test_anything_else_is_no_shard(text: str) -> None:
    with pytest.raises(ValueError, match="is no shard: 2/8 is the second of eight"):
        Shard.parse(text)


def test_a_shard_is_read_as_it_is_written() -> None:
    assert Shard.parse("2/8") == Shard(2, 8)
