"""Random small trees of cgroups with busy processes, from a seed, as scenarios."""

from __future__ import annotations

import random
from collections.abc import Iterator

from fakecgroup.scenario import play, read_scenario

#: Seconds of a run, by the number of CPUs: on one CPU few long runs, on two CPUs many short ones.
SECONDS = {1: 8.0, 2: 2.0}
_MOST_TASKS = 7
#: Of all the CPUs: a group that gets less runs too seldom in a run to be measured.
_LEAST_SHARE = 0.03


def trees(cpus: int, count: int, seed: int) -> Iterator[tuple[str, str]]:
    """So many scenarios for a machine of so many CPUs, each with its name."""
    made = 0
    number = 0
    while made < count:
        text = _tree(cpus, random.Random(f"{seed}:{cpus}:{number}"))
        number += 1
        if text is not None and _measurable(text, cpus):
            yield f"tree-{cpus}-{made:02}", text
            made += 1


def _tree(cpus: int, chance: random.Random) -> str | None:
    groups: list[tuple[str, dict[str, str]]] = []
    tasks: list[str] = []
    _grow("", 0, cpus, chance, groups, tasks)
    busy = sum(int(line.partition("instances: ")[2].partition(",")[0]) for line in tasks)
    if not cpus < busy <= _MOST_TASKS:
        return None
    lines = [f"machine: {{cpus: {cpus}}}", "cgroups:"]
    for path, files in groups:
        lines.append(f"  {path}: {{{', '.join(f'{file}: {value}' for file, value in files.items())}}}")
    lines += ["workloads:", *tasks, "expect:"]
    seconds = SECONDS[cpus]
    most = f"{seconds * cpus * 1.01:g}e6"
    for path, _ in groups:
        lines.append(f"  - {{time: {seconds:g}s, file: {path}/cpu.stat, key: usage_usec, between: [0, {most}]}}")
    return "\n".join(lines) + "\n"


def _grow(
    above: str, depth: int, cpus: int, chance: random.Random, groups: list[tuple[str, dict[str, str]]], tasks: list[str]
) -> None:
    for number in range(chance.randint(2, 3 if depth == 0 else 2)):
        path = f"{above}{'abc'[number]}"
        files = {"cpu.weight": str(round(100 * 10 ** chance.uniform(-0.8, 0.8)))}
        if chance.random() < 0.2:
            period = chance.choice([20_000, 50_000, 100_000])
            files["cpu.max"] = f'"{round(period * chance.uniform(0.15, 0.7) * cpus)} {period}"'
        if cpus > 1 and chance.random() < 0.2:
            files["cpuset.cpus"] = str(chance.randrange(cpus))
        groups.append((path, files))
        if depth < 2 and chance.random() < 0.4:
            _grow(f"{path}/", depth + 1, cpus, chance, groups, tasks)
            continue
        nice = f", nice: {chance.choice([-3, -1, 1, 2, 4])}" if chance.random() < 0.25 else ""
        count = chance.choice([1, 1, 1, 2])
        phases = "phases: [{for: 10s, cpu: 1}]"
        tasks.append(f"  - {{cgroup: {path}, instances: {count}{nice}, loop: forever, {phases}}}")


def _measurable(text: str, cpus: int) -> bool:
    used = [float(one.seen) / 1e6 for one in play(read_scenario(text)).checked]
    return min(used) >= _LEAST_SHARE * cpus * SECONDS[cpus]
