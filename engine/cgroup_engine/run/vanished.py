"""Steps that failed because somebody removed their cgroup: no failures, as the next reconcile makes it again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from errno import ENODEV, ENOENT

from cgroup_engine.change.apply import Outcome
from cgroup_engine.errors import StepFailedError
from cgroup_engine.plan.step import Step
from cgroup_engine.tree.fs import CgroupFs


def without_vanished(outcome: Outcome, fs: CgroupFs) -> tuple[Outcome, Sequence[Step]]:
    """The outcome with these steps as skipped ones instead of failures, and the steps."""
    pairs = list(zip(outcome.refused, outcome.failed, strict=True))
    vanished = [step for step, failure in pairs if _is_vanished(step, failure, fs)]
    if not vanished:
        return outcome, ()
    stay = [(step, failure) for step, failure in pairs if step not in vanished]
    refused, failed = [step for step, _ in stay], [failure for _, failure in stay]
    return replace(outcome, refused=refused, failed=failed, skipped=[*outcome.skipped, *vanished]), vanished


def _is_vanished(step: Step, failure: StepFailedError, fs: CgroupFs) -> bool:
    """Is the directory of a file or of a new cgroup gone? ENODEV comes from a file that was open then (kernfs)."""
    return (
        step.action in ("write", "mkdir")
        and failure.errno in (ENODEV, ENOENT)
        and not fs.is_dir(step.path.rpartition("/")[0])
    )
