"""Programs that ask cgroups how much there is for them."""

from __future__ import annotations

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


PROGRAMS = (
    Program("OpenJDK", "openjdk-17-jre-headless", ("java",), _java),
    Program("ninja", "ninja-build", ("ninja",), _ninja, layouts=("v1",)),  # of v2 it reads nothing before 1.12
    Program("Node", "nodejs", ("node",), _node),
)
