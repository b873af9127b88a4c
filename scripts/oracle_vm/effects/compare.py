"""Holds what kernels did against what the model does in the same scenarios."""

from __future__ import annotations

from dataclasses import dataclass

from fakecgroup.scenario import play
from fakecgroup.scenario.scenario import Expectation

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
    scenario = recorded.entry.scenario
    seen = {one.expectation: float(one.seen) for one in play(scenario, machine={"kernel": kernel}).checked}
    found = []
    for one, runs in zip(scenario.expect, recorded.seen, strict=True):
        rule = rule_for(one, recorded.entry)
        agrees = rule.agrees(runs, seen[one])
        found.append(Compared(recorded.entry.name, one, rule.name, runs, seen[one], agrees))
    return found
