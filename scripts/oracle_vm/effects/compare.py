"""Holds what kernels did against what the model does in the same scenarios."""

from __future__ import annotations

from dataclasses import dataclass

from fakecgroup.core.cgroup_file import CgroupFile
from fakecgroup.scenario.play import kernel_of, play_on
from fakecgroup.scenario.scenario import Expectation

from .listeners import Hearing
from .recording import Recorded
from .rules import rule_for


@dataclass(frozen=True)
class Compared:
    """One number: what the kernel's runs gave, what the model gives, and whether they agree by the rule."""

    name: str
    expectation: Expectation
    rule: str
    kernel: list[float]
    model: float
    agrees: bool

    @property
    def what(self) -> str:
        """The number in short, as tables and known gaps have it."""
        one = self.expectation
        if one.file is None:
            return f"killed in {one.cgroup or 'all'}"
        return f"{one.file} {one.key or ''}".strip()

    def __str__(self) -> str:
        seen = f"{min(self.kernel):,.15g} to {max(self.kernel):,.15g}"
        return f"{self.name}: {self.what} at {self.expectation.time / 1e9:g} s: kernel {seen}, model {self.model:,.15g}"


def compare(kernel: str, recorded: Recorded) -> list[Compared]:
    """A scenario on the model as this kernel's, beside its recording."""
    entry = recorded.entry
    scenario, until = entry.scenario, entry.scenario.ends
    assert until is not None
    model = kernel_of(scenario, {"kernel": kernel})
    hearings = [Hearing(model, listener) for listener in entry.listeners]

    def notify(_: CgroupFile) -> None:
        for hearing in hearings:
            hearing.notified()

    model.on_notify = notify
    checked = play_on(model, scenario, until, watchers=hearings).checked
    seen = {one.expectation: float(one.seen) for one in checked}
    numbers = [(one, runs, seen[one]) for one, runs in zip(scenario.expect, recorded.seen, strict=True)]
    for listener, hearing, heard in zip(entry.listeners, hearings, recorded.heard, strict=True):
        runs = [listener.values(events) for events in heard]
        values = zip(*runs, strict=True)
        numbers += [
            (one, list(of_runs), of_model)
            for one, of_runs, of_model in zip(
                listener.numbers(until), values, listener.values(hearing.events), strict=True
            )
        ]
    found = []
    for one, of_runs, of_model in numbers:
        rule = rule_for(one, entry)
        found.append(Compared(entry.name, one, rule.name, of_runs, of_model, rule.agrees(of_runs, of_model)))
    return found
