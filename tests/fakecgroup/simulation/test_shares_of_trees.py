"""Who gets how much in random trees, computed a second time: all is divided anew whenever somebody's demand changes."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import NamedTuple

import pytest

from fakecgroup import Kernel, Workload
from fakecgroup.controllers.cpu.weight import shares_from_nice
from fakecgroup.effects.fair_share import NICE_0_LOAD, Share, distribute

_SECONDS = 9
_MS = 1000


class _Task(NamedTuple):
    """The cgroup, the share, the threads, ms before the first phase, and phases: ms and CPUs."""

    cgroup: str
    share: Share
    threads: int
    delay: int
    phases: list[tuple[int, float]]

    def ends(self) -> list[int]:
        """When its demand changes."""
        times = [self.delay]
        while times[-1] < _SECONDS * _MS:
            times += [times[-1] + sum(time for time, _ in self.phases[: n + 1]) for n in range(len(self.phases))]
        return [time for time in times if time < _SECONDS * _MS]

    def asks(self, at: int) -> float:
        """CPUs that it would use."""
        left = (at - self.delay) % sum(time for time, _ in self.phases)
        for time, cpus in self.phases:
            if left < time:
                return cpus if at >= self.delay else 0.0
            left -= time
        raise AssertionError


@pytest.mark.parametrize("seed", range(25))
def test_a_tree_is_divided_as_if_all_was_divided_anew_each_time(seed: int) -> None:
    chance = Random(seed)
    cpus = chance.choice((1, 2, 4))
    kernel = Kernel(cpus=cpus, memory="16Gi", clock=lambda: 0, seed=seed)
    root = Share(NICE_0_LOAD, float("inf"))
    tasks: list[_Task] = []
    _grow(kernel, chance, "", root, tasks)
    kernel.advance(_SECONDS)
    expected = _divided(root, tasks, cpus)
    seen = {path: int(kernel.read(f"{path}/cpu.stat").split()[1]) for path in expected}
    assert seen == pytest.approx(expected, rel=1e-6, abs=2)  # µs


def _divided(root: Share, tasks: list[_Task], cpus: int) -> dict[str, float]:
    """The µs of CPU time of each cgroup with tasks."""
    used = dict.fromkeys((task.cgroup for task in tasks), 0.0)
    times = sorted({0, _SECONDS * _MS, *(end for task in tasks for end in task.ends())})
    for begin, end in pairwise(times):
        for task in tasks:
            task.share.most = min(task.asks(begin), float(cpus))
            task.share.bound = task.share.most == min(task.threads, cpus)
        distribute(root, float(cpus))
        for task in tasks:
            used[task.cgroup] += task.share.rate * (end - begin) * 1000
    return used


def _grow(kernel: Kernel, chance: Random, above: str, share: Share, tasks: list[_Task]) -> None:
    """Make cgroups below one. Those without tasks have no part in it."""
    kernel.write(f"{above}/cgroup.subtree_control", "+cpu")
    for name in "abc"[: chance.randrange(1, 4)]:
        path = f"{above}/{name}"
        kernel.mkdir(path)
        weight = chance.choice((1, 5, 20, 100, 100, 300, 1000, 10000))
        kernel.write(f"{path}/cpu.weight", str(weight))
        part = Share(round(weight * NICE_0_LOAD / 100), float("inf"))
        if path.count("/") < 3 and chance.random() < 0.6:
            _grow(kernel, chance, path, part, tasks)
        else:
            part.parts = [_spawn(kernel, chance, path, tasks) for _ in range(chance.choice((0, 1, 1, 2, 3)))]
        if part.parts:
            share.parts.append(part)


def _spawn(kernel: Kernel, chance: Random, path: str, tasks: list[_Task]) -> Share:
    threads, nice, delay = chance.choice((1, 1, 2, 3)), chance.choice((0, 0, 5, -5)), chance.randrange(1500)
    phases = [
        (chance.choice((100, 333, 1000, 2500)), min(threads, chance.choice((0, 0.05, 0.3, 1, 1, 1.5, 2, 3))))
        for _ in range(chance.randrange(1, 5))
    ]
    said = [{"for": f"{time}ms", "cpu": cpus} for time, cpus in phases]
    kernel.spawn(path, Workload(said, threads=threads, nice=nice, delay=f"{delay}ms", loop="forever"))
    tasks.append(_Task(path, Share(shares_from_nice(nice) * threads, 0.0), threads, delay, phases))
    return tasks[-1].share
