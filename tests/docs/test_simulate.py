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


def _rows(number: int) -> list[str]:
    """The rows of a table of kernels beside the model."""
    return _GUIDE.split("| simulated |\n|---|---|---|\n")[number].partition("\n\n")[0].splitlines()


def _simulated(rows: list[str]) -> list[str]:
    return [row.strip("| ").split(" | ")[-1] for row in rows]


def _limited(limit: str, version: str = "6.12") -> Kernel:
    """A kernel with a limit of memory in /app."""
    kernel = Kernel(kernel=version, cpus=2, clock=lambda: 0)
    kernel.write("/cgroup.subtree_control", "+memory")
    kernel.mkdir("/app")
    file, _, size = limit.partition("=")
    kernel.write(f"/app/memory.{file}", size)
    return kernel


def _grown(limit: str, seconds: float, version: str = "6.12") -> Kernel:
    """A kernel after a process has grown in /app by 40 MiB/s under a limit of memory."""
    kernel = _limited(limit, version)
    kernel.spawn("/app", Workload([{"for": "1h", "memory": {"grow": "40Mi/s"}}]))
    kernel.advance(seconds)
    return kernel


def _waiting_on_v1() -> str:
    """under_oom and failcnt where a process waits for room."""
    kernel = Kernel("v1", "6.1", clock=lambda: 0)
    kernel.mkdir("/memory/app")
    kernel.write("/memory/app/memory.limit_in_bytes", "50M")
    kernel.write("/memory/app/memory.oom_control", "1")
    kernel.spawn("/memory/app", Workload([{"for": "1h", "memory": "80Mi"}]))
    kernel.advance(4)
    control = dict(line.split() for line in kernel.read("/memory/app/memory.oom_control").splitlines())
    return f"{control['under_oom']}, {kernel.read('/memory/app/memory.failcnt').strip()}"


def _events(kernel: Kernel) -> dict[str, str]:
    return dict(line.split() for line in kernel.read("/app/memory.events").splitlines())


def test_the_table_of_memory_has_what_is_simulated() -> None:
    high, full = _grown("high=60M", 8.38), _grown("max=50M", 4)
    old = _grown("high=60M", 8.07, "5.10")
    group = _limited("max=60M")
    group.write("/app/memory.oom.group", "1")
    for size, adj in (("10Mi", 0), ("10Mi", -1000), ("80Mi", 0)):
        group.spawn("/app", Workload([{"for": "1h", "memory": size}], oom_score_adj=adj))
        group.advance(1)
    stalled = int(high.read("/app/memory.pressure").splitlines()[0].rpartition("=")[2])
    maxed, together = _events(full), _events(group)
    assert _simulated(_rows(2)) == [
        f"{int(high.read('/app/memory.current')):,}",
        _events(high)["high"],
        f"{stalled / 1e6:.2f} s",
        f"{int(old.read('/app/memory.current')):,}; {_events(old)['high']}",
        f"{maxed['max']}, {maxed['oom']}, {maxed['oom_kill']}; {int(full.read('/app/memory.peak')) >> 20}M",
        f"{together['oom']}, {together['oom_kill']}, {together['oom_group_kill']}",
        _waiting_on_v1(),
    ]


def test_the_table_of_the_guide_has_what_is_simulated() -> None:
    rows = _rows(1)
    one = _played(20, 6, _BUSY)
    two = _played(50, 6, _BUSY, instances=2)
    bits = _played(20, 8, [{"run": "30ms"}, {"sleep": "900ms"}])
    assert _simulated(rows) == [
        f"{one['usage_usec'] / 1e6:.2f} s",
        f"{one['nr_periods']}, {one['nr_throttled']}",
        f"{one['throttled_usec'] / 1e6:.2f} s",
        f"{two['throttled_usec'] / 1e6:.2f} s",
        f"{bits['nr_periods']}, {bits['nr_throttled']}",
    ]
