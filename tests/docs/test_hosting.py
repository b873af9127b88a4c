"""What a hosting site reads: the workflow runs .ci/run, and a report asks for facts."""

from __future__ import annotations

from pathlib import Path

import yaml

HOSTING = Path(__file__).parents[2] / ".github"


def test_the_workflow_runs_what_must_pass() -> None:
    jobs = yaml.safe_load((HOSTING / "workflows" / "ci.yml").read_text())["jobs"]
    assert ".ci/run" in [step.get("run") for job in jobs.values() for step in job["steps"]]


def test_a_report_asks_for_facts() -> None:
    form = yaml.safe_load((HOSTING / "ISSUE_TEMPLATE" / "wrong-answer.yml").read_text())
    required = {one["id"] for one in form["body"] if one["validations"]["required"]}
    assert required == {"sequence", "expected", "version", "tree", "way", "doctor"}
