"""scripts/endtoend: its report, and the scenario on this machine's cgroup v1 and, when told, on booted kernels."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from end_to_end import report

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
ROOT = Path("/sys/fs/cgroup")
KERNELS = os.environ.get("FAKECGROUP_END_TO_END", "").split()
HELD = {"part": "cpu", "what": "a: CPUs", "found": 0.497, "expected": 0.5, "tolerance": 0.1, "ok": True}
FAILED = {"part": "down", "what": "left", "found": 1, "expected": 0, "ok": False}


def endtoend(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPTS / "program.py"), "end_to_end", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def failures(done: subprocess.CompletedProcess[str]) -> list[object]:
    assert done.returncode in (0, 1) and done.stdout, done.stderr
    (run,) = json.loads(done.stdout)
    return [run["broken"]] * bool(run["broken"]) + [check for check in run["checks"] if not check["ok"]]


@pytest.mark.skipif(
    os.geteuid() != 0
    or not all((ROOT / name / "cgroup.procs").exists() for name in ("cpu", "cpuacct", "cpuset", "memory", "pids"))
    or not os.access(ROOT / "memory", os.W_OK),
    reason="needs root and cgroup v1 with cpu, cpuacct, cpuset, memory and pids",
)
@pytest.mark.timeout(240)  # ten seconds on an idle machine
def test_on_this_machine_the_hierarchy_holds_what_it_promises() -> None:
    # a short window on a machine with other things to do
    assert failures(endtoend("host", "--window", "2", "--tolerance", "25", "-o", "json")) == []
    assert not list(ROOT.glob("*/fcg-end-to-end-*"))


@pytest.mark.skipif(
    not KERNELS,
    reason="boots machines: with FAKECGROUP_END_TO_END='5.10 6.1'",
)
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kernel", KERNELS)
def test_on_a_booted_kernel_the_hierarchy_holds_what_it_promises(kernel: str) -> None:
    assert failures(endtoend(kernel, "-o", "json")) == []


def printed(*checks: dict[str, object]) -> str:
    return "\n".join(map(json.dumps, [{"kernel": "6.1.0", "layout": "v2"}, *checks]))


def test_a_run_holds_only_if_all_checks_do_and_it_came_to_its_end() -> None:
    assert report.read("6.1", printed(HELD), 0).held
    assert not report.read("6.1", printed(HELD, FAILED), 0).held
    assert not report.read("6.1", printed(), 0).held
    broken = report.read("6.1", printed(HELD) + "\nTraceback (most recent call last):\nOSError: no\n", 1)
    assert not broken.held
    assert broken.broken == "exit 1: OSError: no"


def test_the_table_shows_expected_and_found() -> None:
    lines = report.as_text(report.read("6.1", printed(HELD, FAILED), 0)).splitlines()
    assert lines[0] == "6.1: 6.1.0 v2"
    assert lines[2].split() == ["ok", "cpu", "a:", "CPUs", "0.500", "±10%", "0.497"]
    assert lines[3].startswith("FAILED")
    assert lines[-1].startswith("1 of 2 hold")


def test_in_markdown_each_target_is_a_column() -> None:
    runs = [report.read("6.1", printed(HELD, FAILED), 0), report.read("host", printed(HELD), 0)]
    rows = report.as_markdown(runs).splitlines()
    assert rows[0] == "| | | 6.1.0 v2 | 6.1.0 v2 |"
    assert rows[2] == "| cpu | a: CPUs | 0.497 (0.500 ±10%) | 0.497 (0.500 ±10%) |"
    assert rows[3] == "| down | left | **1 (0)** |  |"


def test_an_unknown_target_is_an_error_of_the_command_line() -> None:
    done = endtoend("4.19")
    assert done.returncode == 2
    assert "invalid choice" in done.stderr
