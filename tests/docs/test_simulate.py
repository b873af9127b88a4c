"""The table of what was simulated beside a kernel says what is simulated."""

from __future__ import annotations

from pathlib import Path

from fakecgroup import Kernel, Workload

_GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "simulate.md").read_text()
_BUSY = [{"for": "10s", "cpu": 1}]


def _played(quota: int, seconds: int, phases: list[dict[str, object]], instances: int = 1) -> dict[str, int]:
    """cpu.stat of a cgroup with a quota in percent of a CPU."""
    kernel = Kernel(cpus=2, clock=lambda: 0)
    kernel.write("/cgroup.subtree_control", "+cpu")
    kernel.mkdir("/app")
    kernel.write("/app/cpu.max", f"{quota}000 100000")
    kernel.spawn("/app", Workload(phases, loop="forever", instances=instances))
    kernel.advance(seconds)
    return {line.split()[0]: int(line.split()[1]) for line in kernel.read("/app/cpu.stat").splitlines()}


def test_the_table_of_the_guide_has_what_is_simulated() -> None:
    rows = _GUIDE.partition("| simulated |\n|---|---|---|\n")[2].splitlines()
    one = _played(20, 6, _BUSY)
    two = _played(50, 6, _BUSY, instances=2)
    bits = _played(20, 8, [{"run": "30ms"}, {"sleep": "900ms"}])
    assert [row.strip("| ").split(" | ")[-1] for row in rows] == [
        f"{one['usage_usec'] / 1e6:.2f} s",
        f"{one['nr_periods']}, {one['nr_throttled']}",
        f"{one['throttled_usec'] / 1e6:.2f} s",
        f"{two['throttled_usec'] / 1e6:.2f} s",
        f"{bits['nr_periods']}, {bits['nr_throttled']}",
    ]
