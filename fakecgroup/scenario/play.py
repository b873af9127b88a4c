"""Plays a scenario: makes the cgroups, lets time pass, writes, looks, and samples what the cgroups used."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from ..kernel import Kernel
from ..simulation.kill import Kill
from .numbers import number_of
from .outcome import Checked, Mark, Outcome
from .read import ScenarioError
from .sampling import samples
from .scenario import Expectation, Scenario
from .stage import Stage, why

_DEFAULTS = {"cpus": "4", "memory": "8Gi"}


def play(
    scenario: Scenario,
    *,
    machine: Mapping[str, object] | None = None,
    until: int | None = None,
    every: int | None = None,
    seed: int | None = None,
    kernel: Kernel | None = None,
) -> Outcome:
    """Play a scenario until a time (ns; default: its last write or expectation), and sample it at intervals (ns).

    `machine` are options of a `Kernel` that win over the scenario's; with a `kernel` it is played there, whatever its
    machine. Raises ScenarioError for a write that the kernel refuses, for a machine that there is not, and for an
    endless scenario without an end.
    """
    until = scenario.ends if until is None else until
    if until is None:
        if scenario.endless:
            raise ScenarioError("a workload repeats for ever and nothing says when to stop: give --until or expect")
        raise ScenarioError("nothing says when to stop: give --until, at or expect")
    return play_on(kernel or kernel_of(scenario, machine, seed), scenario, until, every)


def kernel_of(scenario: Scenario, machine: Mapping[str, object] | None = None, seed: int | None = None) -> Kernel:
    """A new kernel for a scenario. `machine` are options that win over the scenario's. Raises ScenarioError."""
    options: dict[str, object] = {**_DEFAULTS, **scenario.machine}
    options.update({name: value for name, value in (machine or {}).items() if value is not None})
    chosen = seed if seed is not None else scenario.seed or 0
    try:
        return Kernel(clock=lambda: 0, seed=chosen, **options)  # type: ignore[arg-type]
    except ValueError as error:
        raise ScenarioError(str(error)) from None


class Watcher(Protocol):
    """Something that looks at the tree at times of its own and may change it, as an agent does."""

    def next(self) -> int | None:
        """When it looks next (ns since the start); None for never."""

    def look(self, now: int) -> Iterable[Mark]:
        """Look at the tree. Returns what it did."""


def play_on(
    kernel: Kernel,
    scenario: Scenario,
    until: int,
    every: int | None = None,
    watchers: Sequence[Watcher] = (),
    sampled: Collection[str] | None = None,
) -> Outcome:
    """Play a scenario in a kernel from now on; times are ns. Watchers look after writes, before `expect`.

    `sampled` are the paths of the cgroups to sample; None for all. Raises ScenarioError for what the kernel refuses.
    """
    return _Play(scenario, kernel, watchers, sampled).run(until, every)


class _Play:
    def __init__(
        self, scenario: Scenario, kernel: Kernel, watchers: Sequence[Watcher], sampled: Collection[str] | None
    ) -> None:
        self._scenario = scenario
        self._kernel = kernel
        self._begun = kernel.now
        self._killed = len(kernel.kills)
        self._watchers = watchers
        self._sampled = sampled

    def run(self, until: int, every: int | None) -> Outcome:
        stage = Stage(self._kernel)
        for setup in self._scenario.cgroups:
            stage.make(setup)
        for placed in self._scenario.workloads:
            stage.spawn(placed)
        outcome = Outcome(until)
        now = 0
        for time in self._times(until, every):
            self._kernel.advance_ns(time - now)
            now = time
            for at in self._scenario.at:
                if at.time == time:
                    for write in at.writes:
                        stage.write(write)
                        outcome.marks.append(Mark(time, "write", f"{write.text} > {write.path}"))
            for watcher in self._watchers:
                if watcher.next() == time:
                    outcome.marks += watcher.look(time)
            outcome.checked += [self._check(one) for one in self._scenario.expect if one.time == time]
            if every is not None and (time % every == 0 or time == until):
                outcome.samples += samples(self._kernel, time, self._sampled)
        kills = self._kernel.kills[self._killed :]
        outcome.marks += [Mark(kill.time - self._begun, "kill", _told(kill)) for kill in kills]
        outcome.marks.sort(key=lambda mark: mark.time)
        return outcome

    def _times(self, until: int, every: int | None) -> Iterator[int]:
        """When something is due: the stops, and whenever a watcher looks."""
        stops = sorted(self._stops(until, every))
        for stop in stops:
            while (looks := [at for one in self._watchers if (at := one.next()) is not None and at < stop]) != []:
                yield min(looks)
            yield stop

    def _stops(self, until: int, every: int | None) -> set[int]:
        stops = {one.time for one in self._scenario.at} | {one.time for one in self._scenario.expect} | {until}
        stops = {time for time in stops if time <= until}
        if every is not None:
            stops |= set(range(every, until + 1, every))
        return stops

    # -- looks --------------------------------------------------------------------------------------

    def _check(self, one: Expectation) -> Checked:
        if one.file is None:
            killed = self._kernel.killed(f"/{one.cgroup}" if one.cgroup else "/", since=self._killed)
            return Checked(one, str(killed), killed == one.killed)
        try:
            text = self._kernel.read(f"/{one.file}")
        except OSError as error:
            return Checked(one, why(error), False)
        if one.has is not None:
            holds = one.has in text.splitlines()
            return Checked(one, text.strip().replace("\n", "; ") or "an empty file", holds)
        number = number_of(text, one.key)
        if number is None:
            return Checked(one, f"no number {one.key}" if one.key else "no single number", False)
        assert one.between is not None
        return Checked(one, number, one.between[0] <= float(number) <= one.between[1])


def _told(kill: Kill) -> str:
    name = f" ({kill.workload})" if kill.workload else ""
    return f"process {kill.pid}{name} of {', '.join(path.lstrip('/') or 'the root' for path in kill.cgroups)} is killed"
