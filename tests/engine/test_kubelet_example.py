"""The node in examples/kubelet, without a kubelet; with one it is a case of tests/mount/run/test_programs.py."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from cgroup_engine.cli import main

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "kubelet"


def test_its_pods_are_one_of_each_qos_class(capsys: pytest.CaptureFixture[str]) -> None:
    node = ["--config", str(EXAMPLE / "kubelet.yaml"), "--cpus", "2", "--memory", "8Gi"]
    assert main(["explain", *node, str(EXAMPLE / "pods")]) == 0
    shown = capsys.readouterr().out
    for name in ("Guaranteed", "Burstable", "BestEffort"):
        assert name in shown


def test_outside_of_a_sandbox_it_starts_nothing() -> None:
    done = subprocess.run(
        [EXAMPLE / "node"], env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: fakecgroup run --layout v2 -- ")
