"""A function that limits a container's memory and CPU, tested on cgroup v1 and v2 of several kernels.

pytest -n 4 test_example.py
"""

from __future__ import annotations

import errno
import subprocess
from pathlib import Path

import pytest

from fakecgroup import Kernel


def limit(root: Path, name: str, *, memory: int, cpus: float) -> list[Path]:
    """What is tested: makes the cgroup `name` with limits on bytes and CPUs; returns its directories."""
    quota = int(cpus * 100_000)
    if (root / "cgroup.controllers").exists():
        (root / "cgroup.subtree_control").write_text("+cpu +memory")
        group = root / name
        group.mkdir()
        (group / "memory.max").write_text(f"{memory}")
        (group / "cpu.max").write_text(f"{quota} 100000")
        return [group]
    groups = [root / "memory" / name, root / "cpu" / name]
    for group in groups:
        group.mkdir()
    (groups[0] / "memory.limit_in_bytes").write_text(f"{memory}")
    (groups[1] / "cpu.cfs_quota_us").write_text(f"{quota}")
    return groups


@pytest.mark.cgroupfs(layout=["v1", "v2"], kernel=["5.10", "6.1"], memory="8Gi")
def test_the_limits_are_in_force(cgroupfs: Path) -> None:
    limit(cgroupfs, "app", memory=512 << 20, cpus=1.5)
    if (cgroupfs / "cgroup.controllers").exists():
        assert (cgroupfs / "app/memory.max").read_text() == "536870912\n"
        assert (cgroupfs / "app/cpu.max").read_text() == "150000 100000\n"
    else:
        assert (cgroupfs / "memory/app/memory.limit_in_bytes").read_text() == "536870912\n"
        assert (cgroupfs / "cpu/app/cpu.cfs_quota_us").read_text() == "150000\n"


@pytest.mark.cgroupfs(layout=["v1", "v2"], kernel="6.1")
def test_no_cgroup_can_be_removed_with_a_process_in_it(cgroupfs: Path) -> None:
    groups = limit(cgroupfs, "app", memory=512 << 20, cpus=1)
    with subprocess.Popen(["sleep", "60"]) as process:
        for group in groups:
            (group / "cgroup.procs").write_text(f"{process.pid}")
            with pytest.raises(OSError) as refused:
                group.rmdir()
            assert refused.value.errno == errno.EBUSY
        process.kill()
    for group in groups:
        group.rmdir()


@pytest.mark.cgroupfs(kernel=["5.10", "6.1", "6.12", "7.2"])
def test_a_quota_below_a_millisecond_is_refused_and_leaves_the_limit(cgroup_kernel: Kernel) -> None:
    """Without a mount: the same model in this process."""
    cgroup_kernel.write("/cgroup.subtree_control", "+cpu")
    cgroup_kernel.mkdir("/app")
    with pytest.raises(OSError) as refused:
        cgroup_kernel.write("/app/cpu.max", "500 100000")
    assert refused.value.errno == errno.EINVAL
    assert cgroup_kernel.read("/app/cpu.max") == "max 100000\n"
