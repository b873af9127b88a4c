"""Real programs in front of a tree, where they are installed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from .conftest import Sandboxed, said

RUN_LIMITS = {
    "memory": {"limit": 134217728, "reservation": 67108864, "swap": 268435456},
    "cpu": {"shares": 512, "quota": 50000, "period": 100000, "cpus": "0-1", "mems": "0"},
    "pids": {"limit": 64},
}
FILES = {
    "v2": {"memory.max": "134217728", "memory.low": "67108864", "cpu.max": "50000 100000", "pids.max": "64"},
    "v1": {
        "memory/memory.limit_in_bytes": "134217728",
        "memory/memory.soft_limit_in_bytes": "67108864",
        "cpu/cpu.cfs_quota_us": "50000",
        "cpu/cpu.shares": "512",
        "pids/pids.max": "64",
        "cpuset/cpuset.cpus": "0-1",
    },
}
UPDATED = {"v2": ("pids.max", "65"), "v1": ("pids/pids.max", "65")}


def needs(*programs: str) -> pytest.MarkDecorator:
    missing = [program for program in programs if shutil.which(program) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A container of busybox that sleeps."""
    for name in ("bin", "proc", "sys", "dev"):
        (tmp_path / "rootfs" / name).mkdir(parents=True)
    shutil.copy(shutil.which("busybox") or "", tmp_path / "rootfs" / "bin" / "busybox")
    mounts = [("/proc", "proc", []), ("/dev", "tmpfs", ["nosuid", "mode=755"]), ("/sys", "bind", ["rbind", "ro"])]
    mounts.append(("/sys/fs/cgroup", "cgroup", ["nosuid", "noexec", "nodev", "relatime", "ro"]))
    namespaces = ["pid", "mount", "ipc", "uts", "user", "cgroup"]
    everyone = [{"containerID": 0, "hostID": 0, "size": 1}]
    config = {
        "ociVersion": "1.0.2",
        "process": {"user": {"uid": 0, "gid": 0}, "args": ["/bin/busybox", "sleep", "60"], "cwd": "/"},
        "root": {"path": "rootfs"},
        "mounts": [
            {"destination": place, "type": kind, "source": "/sys" if kind == "bind" else kind, "options": options}
            for place, kind, options in mounts
        ],
        "linux": {
            "cgroupsPath": "/pod/c1",
            "namespaces": [{"type": kind} for kind in namespaces],
            "uidMappings": everyone,
            "gidMappings": everyone,
            "resources": RUN_LIMITS,
        },
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    return tmp_path


@needs("busybox")
@pytest.mark.parametrize("layout", ["v2", "v1"])
@pytest.mark.parametrize("runtime", [pytest.param(name, marks=needs(name)) for name in ("crun", "runc")])
def test_a_container_gets_its_limits_and_leaves_nothing(
    sandboxed: Sandboxed, bundle: Path, runtime: str, layout: str
) -> None:
    paths = [str(Path(name).parent / "pod/c1" / Path(name).name) for name in FILES[layout]]
    changed, value = UPDATED[layout]
    changed = str(Path(changed).parent / "pod/c1" / Path(changed).name)
    script = f"""
        cd {bundle}; runtime="{runtime} --root {bundle}/state"
        $runtime run --detach c1 </dev/null >/dev/null 2>&1 || exit 9
        cd /sys/fs/cgroup; cat {" ".join(paths)}
        cat /proc/$(head -1 {"pod" if layout == "v2" else "memory/pod"}/c1/cgroup.procs)/cgroup | grep -E "^0:|memory"
        $runtime update --pids-limit {value} c1; cat {changed}
        $runtime kill c1 KILL; for i in $(seq 100); do $runtime delete c1 2>/dev/null && break; sleep 0.05; done
        find . -name c1
    """
    shown = said(sandboxed(script, layout=layout, cpus="4")).splitlines()
    assert dict(zip(FILES[layout], shown, strict=False)) == FILES[layout]
    assert shown[len(paths) :] == ["0::/pod/c1" if layout == "v2" else "3:memory:/pod/c1", value]


@needs("cgcreate", "cgexec", "cgdelete")
@pytest.mark.parametrize(
    ("layout", "limit", "where"),
    [("v2", "memory.max", "0::/app"), ("v1", "memory.limit_in_bytes", "3:memory:/app")],
)
def test_cgroup_tools(sandboxed: Sandboxed, layout: str, limit: str, where: str) -> None:
    script = f"""
        cgcreate -g memory:app && cgset -r {limit}=64M app && cgget -nvr {limit} app
        cgexec -g memory:app grep -E "^0:|memory" /proc/self/cgroup; cgdelete memory:app; find /sys/fs/cgroup -name app
    """
    assert said(sandboxed(script, layout=layout)).splitlines() == ["67108864", where]


JOINED = {
    "v2": "echo +memory +cpu >cgroup.subtree_control; mkdir app; echo 512M >app/memory.max; echo 100000 >app/cpu.max\n"
    "echo $$ >app/cgroup.procs",
    "v1": "mkdir memory/app cpu/app; echo 512M >memory/app/memory.limit_in_bytes\n"
    "echo 100000 >cpu/app/cpu.cfs_quota_us; echo $$ >memory/app/cgroup.procs; echo $$ >cpu/app/cgroup.procs",
}


@needs("java")
@pytest.mark.parametrize("layout", ["v2", "v1"])
def test_java_sees_the_limits(sandboxed: Sandboxed, layout: str) -> None:
    script = f"cd /sys/fs/cgroup; {JOINED[layout]}; java -XshowSettings:system -version 2>&1"
    shown = said(sandboxed(script, layout=layout))
    assert f"Provider: cgroup{layout}" in shown
    assert "Effective CPU Count: 1\n" in shown
    assert "Memory Limit: 512.00M\n" in shown


@needs("node")
@pytest.mark.parametrize("layout", ["v2", "v1"])
def test_node_sees_the_memory_limit(sandboxed: Sandboxed, layout: str) -> None:
    script = f"cd /sys/fs/cgroup; {JOINED[layout]}; node -p 'process.constrainedMemory()'"
    assert said(sandboxed(script, layout=layout)) == f"{512 << 20}\n"
