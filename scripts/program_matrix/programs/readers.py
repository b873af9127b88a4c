"""Programs that ask cgroups how much there is for them."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence

from ..program import Program, Step
from .tree import join, one

_LIMITS = {"memory": "512M", "quota": 150000, "shares": 512, "cpus": "0-1"}
_SAID = "512 MiB, 1.5 CPUs by quota and 512 shares"


def _java(layout: str) -> Sequence[Step]:
    shown = "Provider|Count|Quota|Shares|Memory Limit"
    return [
        Step(
            "java -XshowSettings:system -version",
            f"which cgroups, CPUs, quota, shares and memory, in a cgroup with {_SAID}",
            f"{join(layout, **_LIMITS)}; java -XshowSettings:system -version 2>&1 | grep -E '{shown}' | sed 's/^ *//'",
            f"Provider: cgroup{layout}\nEffective CPU Count: 2\nCPU Quota: 150000us\n"
            + one(layout, "CPU Shares: 1024us", "CPU Shares: 512us")  # of v2's weight it makes whole CPUs
            + "\nMemory Limit: 512.00M",
        ),
        Step(
            "java -XX:+PrintFlagsFinal -version",
            "the heap may have a quarter of the memory",
            "java -XX:+PrintFlagsFinal -version 2>/dev/null | awk '$2 == \"MaxHeapSize\" {print $4}'",
            "134217728",
        ),
    ]


def _node(layout: str) -> Sequence[Step]:
    return [
        Step(
            "node -p process.constrainedMemory()",
            f"the limit in bytes, in a cgroup with {_SAID}",
            f"{join(layout, **_LIMITS)}; node -p 'process.constrainedMemory()'",
            str(512 << 20),
        ),
    ]


def _ninja(layout: str) -> Sequence[Step]:
    limits = {**_LIMITS, "quota": 100000}
    return [
        Step(
            "ninja --help",
            "how many jobs it would start: one more than there are CPUs by quota, of which there is one",
            f"{join(layout, **limits)}; ninja --help 2>&1 | grep -o 'in parallel.*default=[0-9]*' | tail -c 2",
            "2",
        ),
    ]


_GO = shutil.which("go")  # that of PATH, as Debian 12 has 1.19
_GO_SINCE = (1, 25)  # that GOMAXPROCS follows the quota
_GO_PROGRAM = 'package main; import "runtime"; func main() { println(runtime.GOMAXPROCS(0)) }'


def _go_version() -> str:
    """Such as go1.25.4, or "" where it cannot be had."""
    if _GO is None:
        return ""
    done = subprocess.run([_GO, "env", "GOVERSION"], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _go_missing() -> str:
    found = re.match(r"go(\d+)\.(\d+)", _go_version())
    if found is None or tuple(map(int, found.groups())) < _GO_SINCE:
        return f"Go {'.'.join(map(str, _GO_SINCE))} or newer is not installed"
    return ""


def _go(layout: str) -> Sequence[Step]:
    return [
        Step(
            "go build, CGO_ENABLED=0",
            "a static program",
            f"""echo '{_GO_PROGRAM}' | tr ';' '\\n' >main.go
            export CGO_ENABLED=0 GOCACHE=/run/cache GOPATH=/run/go GOTOOLCHAIN=local
            {_GO} build main.go; ldd main 2>&1 | tr -d '\\t'""",
            "not a dynamic executable",
        ),
        Step(
            "runtime.GOMAXPROCS(0)",
            f"it reads the quota of its own cgroup, with {_SAID}, of which it makes 2",
            f"({join(layout, **_LIMITS)}; cd /run; strace -f -e trace=openat -o log ./main 2>&1); "
            "grep -o 'app/cpu[^\"]*' log | sort",
            "2\n" + one(layout, "app/cpu.max", "app/cpu.cfs_period_us\napp/cpu.cfs_quota_us"),
        ),
    ]


PROGRAMS = (
    Program("OpenJDK", "openjdk-17-jre-headless", ("java",), _java),
    Program("Go", "", ("strace", "ldd"), _go, also=("strace",), missing=_go_missing, version=_go_version),
    Program("ninja", "ninja-build", ("ninja",), _ninja, layouts=("v1",)),  # of v2 it reads nothing before 1.12
    Program("Node", "nodejs", ("node",), _node),
)
