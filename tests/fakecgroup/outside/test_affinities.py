"""Which CPUs a task is told, and on which of another machine it runs."""

from __future__ import annotations

from errno import EINVAL

import pytest

from fakecgroup import Kernel
from fakecgroup.controllers.cpuset.css import Cpuset
from fakecgroup.outside import affinities
from fakecgroup.tasks.affinity import Affinity


@pytest.mark.parametrize(("cpus", "given", "written"), [(4, 8, 8), (64, 128, 8), (65, 16, 16), (65, 4096, 16)])
def test_as_many_bytes_are_written_as_there_are_whole_longs_of_cpus(cpus: int, given: int, written: int) -> None:
    assert affinities.read_size(cpus, given) == written


@pytest.mark.parametrize(("cpus", "given"), [(64, 4), (65, 8), (4, 12)])
def test_too_few_bytes_or_half_a_long_are_refused(cpus: int, given: int) -> None:
    with pytest.raises(OSError) as refused:
        affinities.read_size(cpus, given)
    assert refused.value.errno == EINVAL


def test_a_cpu_runs_on_the_one_below_that_is_counted_around() -> None:
    below = affinities.stand_ins(6, [4, 6, 7], same_machine=False)
    assert affinities.mapped(0b100010, below) == {6, 7}
    assert affinities.mapped_back({6}, below) == 0b010010


def test_a_cpu_of_the_same_machine_runs_on_itself_if_it_may() -> None:
    assert affinities.stand_ins(8, [3, 5], same_machine=True) == [3, 5, 3, 3, 3, 5, 3, 5]


def test_a_task_whose_last_cpu_has_gone_may_use_those_of_its_cpuset_or_all() -> None:
    kernel = Kernel(cpus=4)
    kernel.write("/cgroup.subtree_control", "+cpuset")
    kernel.mkdir("/a")
    kernel.write("/a/cpuset.cpus", "1-2")
    css = next(hierarchy.root.children["a"].csses["cpuset"] for hierarchy in kernel.hierarchies)
    assert isinstance(css, Cpuset)
    assert affinities.rescued(Affinity(0b1000), css, kernel.cpus) == Affinity(0b0110)
    assert affinities.rescued(Affinity(0b1000), None, kernel.cpus) == Affinity(0b1111)
