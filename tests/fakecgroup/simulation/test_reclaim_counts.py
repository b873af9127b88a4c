"""memory.stat counts what reclaim took from simulated processes."""

from __future__ import annotations

from fakecgroup import Kernel, Workload


def test_pages_that_reclaim_took_are_counted_here_and_above() -> None:
    kernel = Kernel(swap="1Gi")
    for path in ("/", "/top/", "/top/app/"):
        if path != "/":
            kernel.mkdir(path.rstrip("/"))
        if path != "/top/app/":
            kernel.write(f"{path}cgroup.subtree_control", "+memory")
    kernel.write("/top/app/memory.max", str(10 << 20))
    kernel.spawn("/top/app", Workload([{"for": "10s", "cpu": 1, "memory": "14Mi"}]))
    kernel.advance(5)
    swapped = int(kernel.read("/top/app/memory.swap.current")) // 4096
    assert swapped >= 4 << 8
    for cgroup in ("/top", "/top/app"):
        stat = dict(line.split() for line in kernel.read(f"{cgroup}/memory.stat").splitlines())
        assert int(stat["pgscan"]) == int(stat["pgsteal"]) == int(stat["pgsteal_direct"]) == swapped
