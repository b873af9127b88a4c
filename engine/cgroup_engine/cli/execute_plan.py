"""Executes a plan and prints a line for each step that was done or failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cgroup_engine.change.apply import Outcome, execute
from cgroup_engine.cli.messages import complain, warn_of
from cgroup_engine.plan.step import Plan, Step
from cgroup_engine.tree.fs import CgroupFs
from cgroup_engine.views.render import step_line

if TYPE_CHECKING:  # it imports the D-Bus library, which only the systemd driver needs
    from cgroup_engine.change.systemd.bus import Systemd


def execute_and_tell(plan: Plan, fs: CgroupFs, idle: str, systemd: Systemd | None) -> int:
    def tell(step: Step) -> None:
        print(step_line(step))

    outcome = execute(plan, fs, tell, systemd)
    for failure in outcome.failed:
        complain(str(failure))
    if outcome.skipped:
        complain(f"{len(outcome.skipped)} steps that depend on these were not attempted")
    warn_of(plan.kept)
    if not plan.steps and not plan.kept:
        print(idle)
    elif plan.steps:
        print(_summary(outcome))
    return 1 if outcome.failed or plan.kept else 0


_DONE = {
    "start": "started {} units",
    "set": "set {} units",
    "stop": "stopped {} units",
    "mkdir": "made {} directories",
    "write": "wrote {} values",
    "rmdir": "removed {} directories",
}


def _summary(outcome: Outcome) -> str:
    counts = {action: sum(step.action == action for step in outcome.done) for action in _DONE}
    by_systemd = any(counts[action] for action in ("start", "set", "stop"))
    shown = [action for action in _DONE if (counts[action] if by_systemd else action in ("mkdir", "write", "rmdir"))]
    text = ", ".join(_DONE[action].format(counts[action]) for action in shown)
    return f"{text}; {len(outcome.failed)} failed" if outcome.failed else text
