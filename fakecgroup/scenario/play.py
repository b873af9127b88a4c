"""Plays a scenario: makes the cgroups, lets time pass, writes, looks, and samples what the cgroups used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ..core.cgroup import Cgroup
from ..kernel import Kernel
from .read import ScenarioError
from .scenario import Expectation, Scenario
from .stage import Stage, why

SECOND = 1_000_000_000  # ns
_DEFAULTS = {"cpus": "4", "memory": "8Gi"}


@dataclass(frozen=True, slots=True)
class Sample:
    """What a cgroup had used by a `time` (ns since the start): CPU time in µs, periods, throttling, pressure.

    `pressure` is cpu.pressure's `some`: the average over 10 s in percent, and the total in µs; None on v1.
    """

    time: int
    cgroup: str
    usage: int
    nr_periods: int
    nr_throttled: int
    throttled: int
    pressure: tuple[float, int] | None


@dataclass(frozen=True, slots=True)
class Checked:
    """An expectation, what was `seen`, and whether that is what was expected."""

    expectation: Expectation
    seen: str
    holds: bool


@dataclass(slots=True)
class Outcome:
    """What happened until `time` (ns since the start)."""

    time: int = 0
    samples: list[Sample] = field(default_factory=list)
    checked: list[Checked] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """True if all expectations hold."""
        return all(one.holds for one in self.checked)


def play(
    scenario: Scenario,
    *,
    machine: Mapping[str, object] | None = None,
    until: int | None = None,
    every: int | None = None,
    seed: int | None = None,
) -> Outcome:
    """Play a scenario until a time (ns; default: its last write or expectation), and sample it at intervals (ns).

    `machine` are options of a `Kernel` that win over the scenario's. Raises ScenarioError for a write that the kernel
    refuses, for a machine that there is not, and for an endless scenario without an end.
    """
    until = scenario.ends if until is None else until
    if until is None:
        if scenario.endless:
            raise ScenarioError("a workload repeats for ever and nothing says when to stop: give --until or expect")
        raise ScenarioError("nothing says when to stop: give --until, at or expect")
    options: dict[str, object] = {**_DEFAULTS, **scenario.machine}
    options.update({name: value for name, value in (machine or {}).items() if value is not None})
    chosen = seed if seed is not None else scenario.seed or 0
    try:
        kernel = Kernel(clock=lambda: 0, seed=chosen, **options)  # type: ignore[arg-type]
    except ValueError as error:
        raise ScenarioError(str(error)) from None
    return _Play(scenario, kernel).run(until, every)


class _Play:
    def __init__(self, scenario: Scenario, kernel: Kernel) -> None:
        self._scenario = scenario
        self._kernel = kernel

    def run(self, until: int, every: int | None) -> Outcome:
        stage = Stage(self._kernel)
        for setup in self._scenario.cgroups:
            stage.make(setup)
        for placed in self._scenario.workloads:
            stage.spawn(placed)
        outcome = Outcome(until)
        now = 0
        for time in sorted(self._stops(until, every)):
            self._kernel.advance_ns(time - now)
            now = time
            for at in self._scenario.at:
                if at.time == time:
                    for write in at.writes:
                        stage.write(write)
            outcome.checked += [self._check(one) for one in self._scenario.expect if one.time == time]
            if every is not None and time % every == 0:
                outcome.samples += self._sample(time)
        return outcome

    def _stops(self, until: int, every: int | None) -> set[int]:
        stops = {one.time for one in self._scenario.at} | {one.time for one in self._scenario.expect} | {until}
        stops = {time for time in stops if time <= until}
        if every is not None:
            stops |= set(range(every, until + 1, every))
        return stops

    # -- looks --------------------------------------------------------------------------------------

    def _check(self, one: Expectation) -> Checked:
        if one.file is None:
            killed = self._kernel.killed(f"/{one.cgroup}" if one.cgroup else "/")
            return Checked(one, str(killed), killed == one.killed)
        try:
            text = self._kernel.read(f"/{one.file}")
        except OSError as error:
            return Checked(one, why(error), False)
        if one.has is not None:
            holds = one.has in text.splitlines()
            return Checked(one, text.strip().replace("\n", "; ") or "an empty file", holds)
        number = _number(text, one.key)
        if number is None:
            return Checked(one, f"no number {one.key}" if one.key else "no single number", False)
        assert one.between is not None
        return Checked(one, number, one.between[0] <= float(number) <= one.between[1])

    def _sample(self, time: int) -> Iterator[Sample]:
        hierarchy = next((one for one in self._kernel.hierarchies if "cpu" in one.controllers), None)
        if hierarchy is None:
            return
        for cgroup in sorted(hierarchy.root.descendants(), key=lambda cgroup: cgroup.path):
            stat = _numbers(self._kernel.read(f"{self._at(cgroup)}/cpu.stat"))
            if not hierarchy.dfl:
                stat["usage_usec"] = int(self._kernel.read(f"{self._at(cgroup)}/cpuacct.usage")) // 1000
                stat["throttled_usec"] = stat.get("throttled_time", 0) // 1000
            yield Sample(
                time,
                cgroup.path.lstrip("/"),
                stat["usage_usec"],
                stat.get("nr_periods", 0),
                stat.get("nr_throttled", 0),
                stat.get("throttled_usec", 0),
                self._pressure(cgroup) if hierarchy.dfl else None,
            )

    def _at(self, cgroup: Cgroup) -> str:
        prefix = {"v1": "/cpu", "hybrid": "/cpu"}.get(self._kernel.layout, "")
        return f"{prefix}{cgroup.path}"

    def _pressure(self, cgroup: Cgroup) -> tuple[float, int]:
        text = self._kernel.read(f"{self._at(cgroup)}/cpu.pressure")
        average, total = _number(text, "some.avg10"), _number(text, "some.total")
        return float(average or 0), int(total or 0)


def _numbers(text: str) -> dict[str, int]:
    return {line.split()[0]: int(line.split()[1]) for line in text.splitlines()}


def _number(text: str, key: str | None) -> str | None:
    """The number of a key (`nr_periods`; `some.total` of nested keys), or of a file that is one number."""
    if key is None:
        return text.strip() if len(text.split()) == 1 and _is_number(text.strip()) else None
    first, _, second = key.partition(".")
    for line in text.splitlines():
        words = line.split()
        if not second and words[:1] == [key] and len(words) == 2:
            return words[1] if _is_number(words[1]) else None
        if second and words[:1] == [first]:
            for word in words[1:]:
                name, _, value = word.partition("=")
                if name == second:
                    return value if _is_number(value) else None
    return None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
