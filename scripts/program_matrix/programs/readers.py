"""Programs that ask cgroups how much there is for them."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence

from ..program import Program, Step
from ..release import this_release
from .cgroup_commands import Limits, by_layout, enter_cgroup

_LIMITS = Limits(memory="512M", quota=150000, shares=512, cpus="0-1")
_SAID = "512 MiB, 1.5 CPUs by quota and 512 shares"

_JDK, _JDK_SHARES = (17, 1024) if this_release() == "Debian 12" else (25, 126)
"""The release of OpenJDK, and the shares that it makes of v2's weight: 17 makes whole CPUs of it."""


def _java(layout: str) -> Sequence[Step]:
    shown = "Provider|Count|Quota|Shares|Memory Limit"
    return [
        Step(
            "java -XshowSettings:system -version",
            f"which cgroups, CPUs, quota, shares and memory, in a cgroup with {_SAID}",
            f"{enter_cgroup(layout, _LIMITS)}; "
            f"java -XshowSettings:system -version 2>&1 | grep -E '{shown}' | sed 's/^ *//'",
            f"Provider: cgroup{layout}\nEffective CPU Count: 2\nCPU Quota: 150000us\n"
            + by_layout(layout, f"CPU Shares: {_JDK_SHARES}us", "CPU Shares: 512us")
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
            f"{enter_cgroup(layout, _LIMITS)}; node -p 'process.constrainedMemory()'",
            str(512 << 20),
        ),
    ]


def _ninja(layout: str) -> Sequence[Step]:
    limits = _LIMITS._replace(quota=100000)
    return [
        Step(
            "ninja --help",
            "how many jobs it would start: one more than there are CPUs by quota, of which there is one",
            f"{enter_cgroup(layout, limits)}; ninja --help 2>&1 | grep -o 'in parallel.*default=[0-9]*' | tail -c 2",
            "2",
        ),
    ]


_GO_PACKAGES = ("strace", "golang-go") if this_release() == "Debian sid" else ("strace",)
_GO_SINCE = (1, 25)  # that GOMAXPROCS follows the quota
_NODE_SINCE = (20, 0)  # that it looks at more than the root of cgroup v1
_GO_PROGRAM = 'package main; import "runtime"; func main() { println(runtime.GOMAXPROCS(0)) }'


def _go_command() -> str:
    """That of PATH, as Debian 12 has 1.19 and Debian 13 has 1.24; "" for none."""
    return shutil.which("go") or ""


def _go_version() -> str:
    """Such as go1.25.4, or "" where it cannot be had."""
    return _printed(_go_command(), "env", "GOVERSION")


def _go_missing() -> str:
    return "" if _is_since(_go_version(), _GO_SINCE) else "Go 1.25 or newer is not installed"


def _node_missing() -> str:
    return "" if _is_since(_printed("node", "--version"), _NODE_SINCE) else "Node 20 or newer is not installed"


def _printed(*command: str) -> str:
    """What a command prints, or "" where it is not there."""
    if not shutil.which(command[0]):
        return ""
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def _is_since(version: str, since: tuple[int, int]) -> bool:
    found = re.search(r"(\d+)\.(\d+)", version)
    return found is not None and tuple(map(int, found.groups())) >= since


def _go(layout: str) -> Sequence[Step]:
    return [
        Step(
            "go build, CGO_ENABLED=0",
            "a static program",
            f"""echo '{_GO_PROGRAM}' | tr ';' '\\n' >main.go
            export CGO_ENABLED=0 GOCACHE=/run/cache GOPATH=/run/go GOTOOLCHAIN=local
            {_go_command()} build main.go; ldd main 2>&1 | tr -d '\\t'""",
            "not a dynamic executable",
        ),
        Step(
            "runtime.GOMAXPROCS(0)",
            f"it reads the quota of its own cgroup, with {_SAID}, of which it makes 2",
            f"({enter_cgroup(layout, _LIMITS)}; cd /run; strace -f -e trace=openat -o log ./main 2>&1); "
            "grep -o 'app/cpu[^\"]*' log | sort",
            "2\n" + by_layout(layout, "app/cpu.max", "app/cpu.cfs_period_us\napp/cpu.cfs_quota_us"),
        ),
    ]


PROGRAMS = (
    Program("OpenJDK", f"openjdk-{_JDK}-jre-headless", ("java",), _java),
    Program("Go", "", ("strace", "ldd"), _go, also=_GO_PACKAGES, missing=_go_missing, version=_go_version),
    Program("ninja", "ninja-build", ("ninja",), _ninja),
    Program("Node", "nodejs", ("node",), _node, missing=_node_missing),
)
