"""The systemd unit under a real systemd, in a virtual machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__)
SERIES = os.environ.get("FAKECGROUP_SYSTEMD", "")
UNIT = HERE.parents[2] / "deploy" / "systemd" / "cgroup-engine.service"
INSTALLED = "ExecStart=/opt/cgroup-engine/bin/"
# where the machine has the engine; it has no targets to wait for
THERE = "Environment=PYTHONPATH=/opt/python PYTHONDONTWRITEBYTECODE=1\nExecStart=/opt/bin/"
UNITS = "/etc/systemd/system"

pytestmark = [
    pytest.mark.skipif(
        not SERIES, reason="boots a machine: scripts/systemd fetch 6.1, then with FAKECGROUP_SYSTEMD=6.1"
    ),
    pytest.mark.timeout(400),
]
LAYOUTS = [layout for layout in ("v2", "v1") if layout == "v2" or SERIES == "6.1"]  # later ones have no v1 memory


@pytest.fixture(scope="module", params=LAYOUTS)
def answers(request, tmp_path_factory):
    """What the scenario printed: name of a step -> its exit code and output."""
    text = UNIT.read_text().replace(INSTALLED, THERE).replace("[Unit]\n", "[Unit]\nDefaultDependencies=no\n")
    script = tmp_path_factory.mktemp("unit") / "script"
    scenario = HERE.with_name("unit_scenario.sh").read_text()
    script.write_text(f"cat >{UNITS}/{UNIT.name} <<'UNIT'\n{text}UNIT\n{scenario}")
    systemd = HERE.parents[2] / "scripts" / "systemd"
    command = [sys.executable, str(systemd), "run", "--kernel", SERIES, "--layout", request.param, str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return {row["name"]: row for row in map(json.loads, done.stdout.splitlines())}


def test_it_starts_and_is_ready(answers):
    assert answers["start"]["code"] == 0
    assert answers["status"]["output"] == "3 pods: as wanted\n"
    assert answers["ready"]["output"].startswith("ok: ")


def test_it_makes_the_tree_in_spite_of_its_hardening(answers):
    assert answers["pods"]["output"] == "3\n"
    assert answers["mode"]["output"] == "755\n"
    assert "error failed" not in answers["journal"]["output"]


def test_it_repairs_drift_and_names_who_did_it(answers):
    assert answers["repair"]["code"] == 0
    assert "found 77, by bash (pid " in answers["journal"]["output"]


def test_a_stop_leaves_the_tree_in_force(answers):
    assert answers["stop"]["code"] == 0
    assert answers["result"]["output"] == "success\n"
    assert answers["pods after the stop"]["output"] == "3\n"
    assert "SIGTERM: the tree stays as it is" in answers["journal"]["output"]
