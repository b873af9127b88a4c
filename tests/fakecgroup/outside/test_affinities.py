"""Which CPUs a task is told, and on which of another machine it runs."""

from __future__ import annotations

from errno import EINVAL

import pytest

from fakecgroup.outside import affinities


@pytest.mark.parametrize(("cpus", "given", "written"), [(4, 8, 8), (64, 128, 8), (65, 16, 16), (65, 4096, 16)])
def test_as_many_bytes_are_written_as_there_are_whole_longs_of_cpus(cpus: int, given: int, written: int) -> None:
    assert affinities.read_size(cpus, given) == written


@pytest.mark.parametrize(("cpus", "given"), [(64, 4), (65, 8), (4, 12)])
def test_too_few_bytes_or_half_a_long_are_refused(cpus: int, given: int) -> None:
    with pytest.raises(OSError) as refused:
        affinities.read_size(cpus, given)
    assert refused.value.errno == EINVAL


def test_a_mask_without_a_cpu_of_the_cpuset_is_refused() -> None:
    with pytest.raises(OSError) as refused:
        affinities.wanted(0b1100, 0b0011, 0b1111)
    assert refused.value.errno == EINVAL


def test_cpus_that_are_not_there_are_dropped() -> None:
    assert affinities.wanted(0b110001, 0b1111, 0b1111) == 0b0001


@pytest.mark.parametrize(
    ("told", "allowed", "shown"), [(None, 0b110, 0b110), (0b011, 0b110, 0b010), (0b001, 0b110, 0b110)]
)
def test_a_task_has_what_it_asked_for_of_its_cpuset_or_all_of_it(told: int | None, allowed: int, shown: int) -> None:
    assert affinities.shown(told, allowed) == shown


def test_cpus_are_mapped_around_and_back() -> None:
    assert affinities.mapped(0b100010, [4, 6, 7]) == {6, 7}
    assert affinities.mapped_back({6}, [4, 6, 7], 6) == 0b010010
