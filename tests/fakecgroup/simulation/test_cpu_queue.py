"""Who has had how much of too few CPUs, beside a division of the CPUs at each moment anew."""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

import pytest

from fakecgroup import Kernel, Workload
from fakecgroup.effects.fair_share import Share, distribute

_STEP = 0.125  # s: all phases begin at multiples
_STEPS = 80


@dataclass
class _Life:
    """A process in a cgroup: from which step on it would use how many CPUs."""

    cgroup: str
    share: Share
    wanted: list[float]
    used: float = 0.0


def _grow(kernel: Kernel, chance: Random, path: str, lives: list[_Life]) -> Share:
    """Make a random tree of groups and processes, and its shares."""
    weight = chance.choice((10, 50, 100, 100, 300))
    if path:
        kernel.mkdir(path)
        kernel.write(f"{path}/cpu.weight", str(weight))
    share = Share(round(weight * 1024 / 100), most=64.0)
    if path.count("/") < 3 and (not path or chance.random() < 0.6):
        kernel.write(f"{path}/cgroup.subtree_control", "+cpu")
        share.parts = [_grow(kernel, chance, f"{path}/{name}", lives) for name in "abcd"[: chance.randrange(2, 5)]]
    else:
        for _ in range(chance.randrange(1, 4)):
            lives.append(_live(kernel, chance, path))
            share.parts.append(lives[-1].share)
    return share


def _live(kernel: Kernel, chance: Random, path: str) -> _Life:
    """A process that wants something else now and then."""
    delay = chance.randrange(8)
    wanted = [0.0] * delay
    phases: list[dict[str, object]] = []
    while len(wanted) < _STEPS:
        steps, cpus = chance.randrange(1, 20), chance.choice((0.0, 0.1, 0.25, 0.5, 1.0))
        phases.append({"for": f"{steps * _STEP}s", "cpu": cpus})
        wanted += [cpus] * steps
    kernel.spawn(path, Workload(phases, delay=f"{delay * _STEP}s", threads=1))
    return _Life(path, Share(), wanted)


@pytest.mark.parametrize("seed", range(6))
def test_it_is_what_a_division_at_each_moment_comes_to(seed: int) -> None:
    chance = Random(seed)
    cpus = chance.choice((1, 2, 4))
    kernel = Kernel(cpus=cpus, clock=lambda: 0)
    lives: list[_Life] = []
    root = _grow(kernel, chance, "", lives)
    for step in range(_STEPS):
        for life in lives:
            life.share.most = life.wanted[step]
            life.share.bound = life.share.most == 1.0
        distribute(root, float(cpus))
        for life in lives:
            life.used += life.share.rate * _STEP
    kernel.advance(_STEPS * _STEP)
    for cgroup in {life.cgroup for life in lives}:
        found = re.search(r"usage_usec (\d+)", kernel.read(f"{cgroup}/cpu.stat"))
        assert found is not None
        expected = sum(life.used for life in lives if life.cgroup == cgroup)
        assert int(found[1]) / 1e6 == pytest.approx(expected, abs=1e-5)
