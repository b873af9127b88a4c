"""Which files there are, their modes and first contents: root, child, with and without each controller."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fakecgroup.conformance.case import Case
from fakecgroup.conformance.cases.place import at, child, root

#: Files by controller, over all kernels; what a kernel does not have answers ENOENT.
CORE_V2 = (
    "controllers", "events", "freeze", "kill", "max.depth", "max.descendants", "pressure", "procs", "stat",
    "stat.local",
    "subtree_control", "threads", "type",
)  # fmt: skip
CORE_V1 = (
    "cgroup.clone_children",
    "cgroup.procs",
    "cgroup.sane_behavior",
    "notify_on_release",
    "release_agent",
    "tasks",
)
FILES_V2: dict[str, tuple[str, ...]] = {
    "cgroup": CORE_V2,
    "cpu": ("max", "max.burst", "weight", "weight.nice", "idle", "stat", "stat.local", "pressure", "uclamp.min",
    "uclamp.max",
            "rt.max", "rt_period_us"),
    "cpuset": ("cpus", "mems", "cpus.effective", "mems.effective", "cpus.partition", "cpus.exclusive",
    "cpus.exclusive.effective",
               "cpus.isolated", "cpus.subpartitions"),
    "io": ("max", "weight", "stat", "pressure", "cost.qos", "cost.model", "latency", "prio.class", "bfq.weight"),
    "memory": ("current", "events", "events.local", "high", "low", "max", "min", "numa_stat", "oom.group", "peak",
    "pressure", "reclaim",
               "stat", "swap.current", "swap.events", "swap.high", "swap.max", "swap.peak", "zswap.current",
               "zswap.max",
               "zswap.writeback"),
    "hugetlb": tuple(f"{size}.{name}" for size in ("2MB", "1GB") for name in ("current", "events", "events.local",
    "max", "numa_stat",
                     "rsvd.current", "rsvd.max")),
    "pids": ("current", "events", "events.local", "max", "peak"),
    "rdma": ("current", "max", "peak", "events", "events.local"),
    "misc": ("capacity", "current", "max", "events", "events.local", "peak"),
    "irq": ("pressure",),
    "dmem": ("capacity", "current", "max", "min", "low"),
}  # fmt: skip
CONTROLLERS_V2 = ("cpuset", "cpu", "io", "memory", "hugetlb", "pids", "rdma", "misc")
HIERARCHIES_V1 = (
    "systemd", "cpu,cpuacct", "memory", "pids", "cpuset", "devices", "freezer", "blkio", "hugetlb",
    "net_cls,net_prio", "perf_event",
    "rdma", "misc",
)  # fmt: skip


def _look(prefix: str, names: tuple[str, ...]) -> list[tuple[Any, ...]]:
    return [op for name in names for op in (("stat", prefix + name), ("read", prefix + name))]


def cases() -> Iterator[Case]:
    for controller, names in FILES_V2.items():
        files = tuple(f"{controller}.{name}" for name in names)
        yield Case(f"files of {controller} in the root", "v2", tuple(_look("", files)))
        yield Case(f"files of {controller} in a child without controllers", "v2", (("mkdir", "a"), *_look("a/", files)))
        if controller in CONTROLLERS_V2:
            yield Case(
                f"files of {controller} in a child with it", "v2", (*child("v2", controller), *_look("a/", files))
            )
            yield Case(f"list of a child with {controller}", "v2", (
                *child("v2", controller), ("listdir", "a"), ("listraw", "a"), ("read",
                "a/cgroup.controllers")))  # fmt: skip
    yield Case("lists without controllers", "v2", (
        ("listdir", "."), ("listraw", "."), ("read", "cgroup.controllers"), ("read", "cgroup.subtree_control"),
        ("mkdir", "a"),
        ("listdir", "a"), ("listraw", "a"), ("read", "a/cgroup.controllers"), ("read", "a/cgroup.subtree_control"),
        ("listdir", "nosuch"),
        ("listdir", "a/cgroup.procs")))  # fmt: skip
    every = " ".join(f"+{c}" for c in CONTROLLERS_V2 if c != "misc")
    yield Case("lists with all controllers", "v2", (
        ("write", "cgroup.subtree_control", every), ("write", "cgroup.subtree_control", "+misc"),
        ("read", "cgroup.subtree_control"),
        ("mkdir", "a"), ("listdir", "a"), ("listraw", "a"), ("listdir", "."), ("read",
        "a/cgroup.controllers")))  # fmt: skip
    yield Case("a listing holds children among the files", "v2", (
        *(("mkdir", name) for name in ("a", "b", "kubepods.slice", "system.slice", "x" * 200, "a b", ".hidden",
        "zz")), ("listraw", "."),
        ("listdir", "."), ("mkdir", "a/cgroup.x"), ("mkdir", "a/memory.max"), ("listraw", "a"),
        ("rmdir", "a/memory.max"),
        ("listraw", "a")))  # fmt: skip
    yield Case(
        "nothing of the file system but cgroups", "v2", (("stat", "."), ("statfs", "."), ("stat", "cgroup.procs"))
    )
    for hierarchy in HIERARCHIES_V1:
        yield Case(f"files of {hierarchy}", "v1", (
            ("stat", hierarchy), ("statfs", hierarchy), ("listdir", hierarchy), ("listraw", hierarchy),
            ("mkdir", f"{hierarchy}/a"),
            ("listdir", f"{hierarchy}/a"), ("listraw", f"{hierarchy}/a"), *_look(f"{hierarchy}/", CORE_V1),
            *_look(f"{hierarchy}/a/", CORE_V1)))  # fmt: skip
    for controller, names in FILES_V1.items():
        files = tuple(f"{controller}.{name}" for name in names)
        yield Case(f"{controller} files in the root", "v1", tuple(_look(root("v1", controller) + "/", files)))
        yield Case(f"{controller} files in a child", "v1", (
            *child("v1", controller), *_look(at("v1", controller, "a/"), files)))  # fmt: skip


_SIZES = ("failcnt", "limit_in_bytes", "max_usage_in_bytes", "usage_in_bytes")
FILES_V1: dict[str, tuple[str, ...]] = {
    "cpu": ("cfs_burst_us", "cfs_period_us", "cfs_quota_us", "idle", "shares", "stat", "stat.local", "rt_period_us",
    "rt_runtime_us",
            "uclamp.min", "uclamp.max"),
    "cpuacct": ("stat", "usage", "usage_all", "usage_percpu", "usage_percpu_sys", "usage_percpu_user", "usage_sys",
    "usage_user"),
    "memory": (*_SIZES, *(f"memsw.{s}" for s in _SIZES), *(f"kmem.{s}" for s in _SIZES),
    *(f"kmem.tcp.{s}" for s in _SIZES),
               "kmem.slabinfo", "force_empty", "move_charge_at_immigrate", "numa_stat", "oom_control", "pressure_level",
               "soft_limit_in_bytes", "stat", "swappiness", "use_hierarchy", "high", "low"),
    "pids": ("current", "events", "events.local", "max", "peak"),
    "cpuset": ("cpu_exclusive", "cpus", "effective_cpus", "effective_mems", "mem_exclusive", "mem_hardwall",
    "memory_migrate",
               "memory_pressure", "memory_pressure_enabled", "memory_spread_page", "memory_spread_slab", "mems",
               "sched_load_balance",
               "sched_relax_domain_level"),
    "devices": ("allow", "deny", "list"),
    "freezer": ("parent_freezing", "self_freezing", "state"),
    "blkio": ("reset_stats", *(f"throttle.{name}" for name in ("io_service_bytes", "io_service_bytes_recursive",
    "io_serviced",
              "io_serviced_recursive", "read_bps_device", "read_iops_device", "write_bps_device",
              "write_iops_device")), "weight",
              "bfq.weight"),
    "hugetlb": tuple(f"{size}.{name}" for size in ("2MB", "1GB") for name in (*_SIZES, *(f"rsvd.{s}" for s in _SIZES),
    "numa_stat")),
    "net_cls": ("classid",),
    "net_prio": ("ifpriomap", "prioidx"),
    "rdma": ("current", "max", "peak", "events", "events.local"),
    "misc": ("capacity", "current", "max", "events", "events.local", "peak"),
}  # fmt: skip
