"""A kernel with something in it: settings, processes, events."""

from __future__ import annotations

from fakecgroup import Kernel, Workload
from fakecgroup.core.cgroup import Cgroup
from fakecgroup.kernfs.inode import TopDirectory

WORK = Workload([{"for": "30s", "cpu": 1.4, "memory": {"start": "5Mi", "grow": "2Mi/s"}}], name="work", instances=2)


def tops(kernel: Kernel) -> list[str]:
    """The directories of the hierarchies."""
    if not isinstance(kernel.root, TopDirectory):
        return [""]
    return [f"/{name}" for name, inode in kernel.root.content.items() if isinstance(inode, Cgroup)]


def busy_kernel(layout: str, version: str, *, clock: int = 1_700_000_000_000_000_000) -> Kernel:
    """5 s of two processes that are throttled, in a tree with limits of all kinds."""
    kernel = Kernel(
        layout,
        version,
        cpus=4,
        numa_nodes=2,
        memory="4Gi",
        swap="1Gi",
        block_devices="259:0,8:0",
        hugepages="2Mi=4,1Gi=0",
        clock=lambda: clock,
    )
    for top in tops(kernel):
        kernel.mkdir(f"{top}/app", 0o750)
        kernel.mkdir(f"{top}/app/web")
        kernel.mkdir(f"{top}/idle")
        _settle(kernel, top)
        kernel.chown(f"{top}/app/web", 1000, 1000)
        kernel.chmod(f"{top}/app/web/cgroup.procs", 0o600)
    homes = [f"{top}/app/web" for top in tops(kernel)]
    kernel.spawn(homes, WORK)
    kernel.advance(5)
    return kernel


def _settle(kernel: Kernel, top: str) -> None:
    for path, text in _SETTINGS:
        if not path.startswith("cgroup.") and "/" not in path and path not in kernel.listdir(f"{top}/"):
            continue
        try:
            kernel.write(f"{top}/{path}", text)
        except OSError:
            pass  # another version's or another hierarchy's


_SETTINGS = (
    ("cgroup.subtree_control", "+cpu +memory +pids +io +cpuset +hugetlb"),
    ("app/cgroup.subtree_control", "+cpu +memory +pids +io"),
    ("app/cpuset.cpus", "0-2"),
    ("app/cpuset.mems", "0"),
    ("app/web/cpuset.cpus", "1-2"),
    ("app/web/cpuset.mems", "0"),
    ("idle/cpuset.cpus", "3"),
    ("idle/cpuset.mems", "0-1"),
    ("idle/cpuset.cpus.partition", "root"),
    ("app/web/cpu.max", "50000 100000"),
    ("app/web/cpu.weight", "50"),
    ("app/web/cpu.shares", "512"),
    ("app/web/cpu.cfs_quota_us", "50000"),
    ("app/web/memory.high", "200M"),
    ("app/web/memory.max", "300M"),
    ("app/web/memory.limit_in_bytes", "300M"),
    ("app/web/memory.memsw.limit_in_bytes", "500M"),
    ("app/memory.low", "10M"),
    ("app/pids.max", "77"),
    ("app/io.max", "259:0 rbps=1000000 wiops=max"),
    ("app/io.max", "8:0 wbps=5000"),
    ("app/blkio.throttle.read_bps_device", "8:0 5000"),
    ("app/io.weight", "default 300"),
    ("idle/hugetlb.2MB.max", "4M"),
    ("idle/hugetlb.2MB.limit_in_bytes", "4M"),
    ("idle/cgroup.max.depth", "0"),
    ("idle/cgroup.freeze", "1"),
    ("idle/freezer.state", "FROZEN"),
    ("idle/devices.deny", "a"),
    ("idle/devices.allow", "c 1:* rwm"),
    ("idle/devices.allow", "b 8:0 r"),
    ("idle/net_cls.classid", "1048577"),
    ("idle/net_prio.ifpriomap", "lo 5"),
    ("idle/notify_on_release", "1"),
    ("idle/memory.swappiness", "10"),
    ("idle/memory.oom_control", "1"),
    ("release_agent", "/sbin/agent"),
)
