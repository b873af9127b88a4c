"""The command line on this machine's own cgroup v1, in a cgroup of the test's own that is removed again."""

from __future__ import annotations

import os
import secrets
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cgroup_engine.cli import main

ROOT = Path("/sys/fs/cgroup")
NODE = ["--cpus", "3", "--memory", "8Gi", "--max-pids", "32768", "--kubelet-version", "1.28"]


def _hierarchies() -> list[Path]:
    return [ROOT / name for name in ("cpu,cpuacct", "cpu", "memory", "pids") if (ROOT / name / "cgroup.procs").exists()]


pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or len(_hierarchies()) < 3 or not os.access(ROOT / "memory", os.W_OK),
    reason="needs root and cgroup v1 with cpu, memory and pids",
)


@pytest.fixture
def config(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """A KubeletConfiguration with a cgroupRoot of its own; whatever is left of it is removed."""
    name = f"fcg-test-{secrets.token_hex(4)}"
    path = tmp_path / "kubelet.yaml"
    path.write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
        f"cgroupRoot: /{name}\nfailCgroupV1: false\npodPidsLimit: 100\n"
    )
    yield str(path), name
    for hierarchy in ROOT.iterdir():
        for directory, _, _ in os.walk(hierarchy / name, topdown=False):
            os.rmdir(directory)


def _trees(name: str) -> list[Any]:
    return [hierarchy / name for hierarchy in ROOT.iterdir() if (hierarchy / name).exists()]


def test_apply_status_and_down_on_a_real_kernel(
    config: tuple[str, str], example: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, name = config
    arguments = ["--root", str(ROOT), "--config", path, *NODE]
    pods = str(example / "three-pods.yaml")
    assert main(["apply", *arguments, pods]) == 0
    pod = "kubepods/burstable/pod0aa1a5e2-0b3f-4d0e-8f31-000000000002"
    cpu = next(tree for tree in _hierarchies() if tree.name.startswith("cpu"))
    assert (cpu / name / pod / "cpu.cfs_quota_us").read_text() == "300000\n"
    assert (ROOT / "memory" / name / pod / "memory.limit_in_bytes").read_text() == "3221225472\n"
    capsys.readouterr()
    assert main(["apply", *arguments, pods]) == 0
    assert "nothing to do" in capsys.readouterr().out
    assert main(["status", "--check", *arguments, pods]) == 0
    assert "as wanted" in capsys.readouterr().out
    assert main(["down", *arguments]) == 0
    assert _trees(name) == []


def test_a_quota_that_a_stranger_lowered_is_raised_again(
    config: tuple[str, str], example: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, name = config
    arguments = ["--root", str(ROOT), "--config", path, *NODE]
    pods = str(example / "three-pods.yaml")
    main(["apply", *arguments, pods])
    cpu = next(tree for tree in _hierarchies() if tree.name.startswith("cpu"))
    pod = cpu / name / "kubepods/burstable/pod0aa1a5e2-0b3f-4d0e-8f31-000000000002"
    for quota in sorted(pod.rglob("cpu.cfs_quota_us"), key=lambda file: -len(file.parts)):
        quota.write_text("1000")
    assert main(["apply", *arguments, pods]) == 0
    assert (pod / "cpu.cfs_quota_us").read_text() == "300000\n"


def test_down_refuses_while_a_process_lives_there(
    config: tuple[str, str], example: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, name = config
    arguments = ["--root", str(ROOT), "--config", path, *NODE]
    main(["apply", *arguments, str(example / "three-pods.yaml")])
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        try:
            procs = ROOT / "memory" / name / "kubepods" / "besteffort" / "cgroup.procs"
            procs.write_text(str(sleeper.pid))
            capsys.readouterr()
            assert main(["down", *arguments]) == 1
            assert f"process {sleeper.pid} lives in it" in capsys.readouterr().err
        finally:
            sleeper.kill()
    assert main(["down", *arguments]) == 0
    assert _trees(name) == []


def test_a_process_that_one_hierarchy_refuses_stays_where_it_was(
    config: tuple[str, str], example: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, name = config
    main(["apply", "--root", str(ROOT), "--config", path, *NODE, str(example / "three-pods.yaml")])
    pod = ROOT / "cpuset" / name / "kubepods/besteffort/pod0aa1a5e2-0b3f-4d0e-8f31-000000000003"
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        try:
            places = Path(f"/proc/{sleeper.pid}/cgroup")
            before = places.read_text()
            [container] = (each for each in pod.iterdir() if each.is_dir())
            (container / "cpuset.cpus").write_text("\n")
            capsys.readouterr()
            attach = ["attach", "--root", str(ROOT), "pod-besteffort-1", str(sleeper.pid)]
            assert main(attach) == 1
            assert f"process {sleeper.pid} cannot enter: ENOSPC; its cpuset has no CPUs" in capsys.readouterr().err
            assert places.read_text() == before
            (container / "cpuset.cpus").write_text((pod / "cpuset.cpus").read_text())
            assert main(attach) == 0
            assert f"cpuset:/{container.relative_to(ROOT / 'cpuset')}\n" in places.read_text()
        finally:
            sleeper.kill()
