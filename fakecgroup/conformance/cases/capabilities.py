"""What capabilities are asked for: of root without some, of a user with one, in another user namespace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fakecgroup.conformance.case import Case

Ops = tuple[tuple[Any, ...], ...]

_SINGLE = ("DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "CHOWN", "FSETID", "SYS_ADMIN", "SYS_RESOURCE", "SETFCAP")
_ROOT = ("as", 0, 0)
_USER = ("as", 1000, 1000)
_TREES = (("v2", ""), ("v1", "pids/"))


def cases() -> Iterator[Case]:
    for layout, p in _TREES:
        for who, change in _everyone():
            yield Case(f"{who} and the paths", layout, _paths(p, change))
            yield Case(f"{who} and attributes", layout, _attributes(p, change))
        yield from _opened(layout, p)
        yield from _user_namespaces(layout, p)
    yield from _v1()
    yield from _v2()


def _everyone() -> Iterator[tuple[str, Ops]]:
    """Who does it, and how to become that."""
    yield "root without capabilities", (("capabilities", ""),)
    for name in _SINGLE:
        yield f"root with {name} alone", (("capabilities", name),)
    yield "root without DAC_OVERRIDE", (("capabilities", "~DAC_OVERRIDE"),)
    yield "root without SYS_ADMIN", (("capabilities", "~SYS_ADMIN"),)
    for name in _SINGLE:
        yield f"a user with {name}", (_USER, ("capabilities", name))
    yield "a user with all capabilities", (_USER, ("capabilities", "~"))


def _paths(p: str, change: Ops) -> Ops:
    """What is whose: a is root's, b someone else's and closed, s sticky and open to all."""
    a, b, s = f"{p}a", f"{p}b", f"{p}s"
    return (
        *(("mkdir", path) for path in (a, b, s, f"{b}/c", f"{b}/d", f"{s}/root")),
        *(("chown", path, 2000, 2000) for path in (b, f"{b}/c", f"{b}/cgroup.procs", f"{b}/pids.max")),
        *(("chmod", f"{b}/{file}", mode) for file, mode in ((".", "0"), ("cgroup.procs", "0"))),
        ("chmod", s, "01777"), ("as", 2000, 2000), ("mkdir", f"{s}/other"), _ROOT, *change,
        *(("access", path, way) for path in (b, f"{b}/cgroup.procs", s) for way in ("R", "W", "X", "R|W", "F")),
        ("stat", b), ("stat", f"{b}/c"), ("stat", f"{b}/no"), ("listdir", b), ("listdir", f"{b}/c"),
        ("read", f"{b}/cgroup.procs"), ("open", "h", f"{b}/cgroup.procs", "O_RDWR"),
        ("open", "h", f"{b}/cgroup.procs", "O_WRONLY"), ("open", "h", f"{b}/c/cgroup.procs"),
        ("open", "h", f"{a}/cgroup.procs", "O_NOATIME"), ("open", "h", f"{s}/cgroup.procs", "O_NOATIME"),
        ("open", "h", f"{b}/c/cgroup.procs", "O_NOATIME"), ("mkdir", f"{p}new"), ("mkdir", f"{a}/new"),
        ("mkdir", f"{b}/new"), ("mkdir", f"{b}/c/new"),
        ("rmdir", f"{b}/d"), ("rmdir", f"{s}/root"), ("rmdir", f"{s}/other"), ("rename", f"{b}/c", f"{b}/e"),
        ("creat", f"{b}/x"), ("mknod", f"{b}/x", "020644"), ("symlink", "x", f"{b}/x"), ("unlink", f"{b}/cgroup.procs"),
        ("link", f"{a}/cgroup.procs", f"{a}/x"), ("link", f"{s}/cgroup.procs", f"{s}/x"),
        ("truncate", f"{b}/cgroup.procs", 0), ("truncate", f"{a}/cgroup.procs", 0),
        _ROOT, ("listdir", p or "."), ("listdir", b), ("listdir", s))  # fmt: skip


def _attributes(p: str, change: Ops) -> Ops:
    """r is root's, o someone else's, m one's own; files with the bits of setuid and setgid in each."""
    files = [f"{p}{d}/cgroup.procs" for d in "rom"]
    bits = [(f"{p}{d}/{file}", mode) for d in "rom" for file, mode in (
        ("cgroup.max.depth" if not p else "notify_on_release", "02644"), ("cgroup.procs", "06755"))]  # fmt: skip
    changed = [path for path, _ in bits]
    return (
        *(("mkdir", f"{p}{d}") for d in "rom"),
        *(("chown", f"{p}{d}{file}", who, who) for d, who in (("o", 2000), ("m", 1000)) for file in
        ("", *(path[len(p) + 1:] for path in changed[:2]))), *(("chmod", path, mode) for path, mode in bits), *change,
        *(op for path in changed for op in (("truncate", path, 0), ("stat", path))), _ROOT,
        *(("chmod", path, mode) for path, mode in bits), *change,
        *(op for path in changed for op in (("chown", path, -1, -1), ("stat", path))), _ROOT,
        *(("chmod", path, mode) for path, mode in bits), *change,
        *(op for path in changed for op in (("chmod", path, "06711"), ("stat", path), ("chown", path, -1, 1000),
        ("chown", path, 1000, -1), ("chown", path, 2000, 3000), ("stat", path), ("chmod", path, "02644"),
        ("stat", path), ("utimens", path, 1, 2))), ("chmod", f"{p}o", "02755"), ("chown", f"{p}o", 1000, 1000),
        ("stat", f"{p}o"),
        *(op for path in (f"{p}r", files[1], f"{p}m") for op in (("setxattr", path, "user.x", "1"),
        ("setxattr", path, "trusted.x", "1"), ("getxattr", path, "trusted.x"), ("getxattr", path, "trusted.y"),
        ("setxattr", path, "security.x", "1"), ("removexattr", path, "security.x"), ("listxattr", path),
        ("setxattr", path, "security.capability", ""), ("removexattr", path, "security.capability"),
        ("removexattr", path, "trusted.x"))), _ROOT, ("listxattr", files[1]))  # fmt: skip


def _opened(layout: str, p: str) -> Iterator[Case]:
    """Who opened a file, and who writes to it."""
    procs = f"{p}b/cgroup.procs"
    make: Ops = (("mkdir", f"{p}a"), ("mkdir", f"{p}a/c"), ("mkdir", f"{p}b"), ("fork", "w"))
    give: Ops = tuple(("chown", path, 1000, 1000) for path in (procs, f"{p}a/c/cgroup.procs"))
    for name in ("", "DAC_OVERRIDE", "DAC_READ_SEARCH", "SYS_ADMIN", "KILL", "SETUID"):
        caps = (("capabilities", name),)
        yield Case(f"moving tasks with {name or 'no capability'}", layout, (
            *make, *give, ("write", f"{p}a/cgroup.procs", "$w"), *caps, ("write", procs, "$w"),
            ("write", f"{p}a/c/cgroup.procs", "$w"), ("write", f"{p}cgroup.procs", "$w"), ("write", procs, "0"),
            _USER, *caps, ("write", procs, "$w"), ("write", f"{p}a/c/cgroup.procs", "$w"),
            ("write", f"{p}cgroup.procs", "$w"), ("write", procs, "0"), _ROOT, ("read", f"{p}a/c/cgroup.procs"),
            ("read", procs)))  # fmt: skip
        yield Case(f"starting in another cgroup with {name or 'no capability'}", layout, (
            *make, *give, *caps, ("clone_into", "x", f"{p}b"), _USER, *caps, ("clone_into", "y", f"{p}b"),
            ("clone_into", "z", f"{p}a/c"), ("clone_into", "q", f"{p}a"), _ROOT, ("read", procs)))  # fmt: skip
    yield Case("who opened cgroup.procs decides, not who writes", layout, (
        *make, *give, ("write", f"{p}a/cgroup.procs", "$w"), _USER, ("open", "plain", procs, "O_WRONLY"),
        ("capabilities", "DAC_OVERRIDE"), ("fwrite", "plain", "$w"), ("open", "able", procs, "O_WRONLY"),
        ("capabilities", ""), ("fwrite", "able", "$w"), _ROOT, ("fwrite", "plain", "$w"), ("read", procs),
        ("capabilities", ""), ("fwrite", "able", "$w"), ("read", procs)))  # fmt: skip


def _user_namespaces(layout: str, p: str) -> Iterator[Case]:
    own = ("in", "w", "user_namespace")
    files = ("", "/cgroup.procs", "/pids.max")
    make: Ops = (
        *(("mkdir", f"{p}{name}") for name in "romg"),
        *(("chown", f"{p}{name}{file}", *ids) for name, ids in (("o", (2000, 2000)), ("m", (1000, 1000)),
        ("g", (1000, 2000))) for file in files), *(("chmod", f"{p}{name}{file}", "0") for name in "romg"
        for file in files))  # fmt: skip
    do: Ops = tuple(("in", "w", *op) for name in "romg" for op in (
        ("listdir", f"{p}{name}"), ("read", f"{p}{name}/cgroup.procs"), ("mkdir", f"{p}{name}/x"),
        ("write", f"{p}{name}/cgroup.procs", "0"), ("stat", f"{p}{name}/x"), ("utimens", f"{p}{name}", 1, 1),
        ("setxattr", f"{p}{name}", "user.x", "1"), ("setxattr", f"{p}{name}", "trusted.x", "1"),
        ("chmod", f"{p}{name}", "02755"), ("stat", f"{p}{name}"), ("chown", f"{p}{name}", 0, 0),
        ("chown", f"{p}{name}/cgroup.procs", -1, 0), ("rmdir", f"{p}{name}/x")))  # fmt: skip
    for who, ids in (("a user", 1000), ("root", 0)):
        yield Case(f"{who} as root of a user namespace", layout, (
            *make, ("fork", "w"), ("in", "w", "as", ids, ids), own, *do, ("in", "w", "mkdir", f"{p}new"), *(
            ("stat", f"{p}{name}") for name in "romg")))  # fmt: skip
        yield Case(f"{who} without capabilities in a user namespace", layout, (
            *make, ("fork", "w"), ("in", "w", "as", ids, ids), own, ("in", "w", "capabilities", ""), *do))  # fmt: skip


def _v1() -> Iterator[Case]:
    agent, device = "pids/release_agent", ("devices/a/devices.deny", "c 1:3 rwm")
    for name in ("", "DAC_OVERRIDE", "SYS_ADMIN", "~SYS_ADMIN", "MKNOD", "SYS_RESOURCE", "~"):
        caps = (("capabilities", name),)
        yield Case(f"release_agent and devices with capabilities {name or 'none'}", "v1", (
            ("chown", agent, 1000, 1000), ("mkdir", "devices/a"), ("mkdir", "devices/a/b"),
            *(("chown", f"devices/a/devices.{file}", 1000, 1000) for file in ("allow", "deny")),
            *caps, ("write", agent, "/x"), ("write", *device), ("write", "devices/a/devices.allow", "c 1:3 rwm"),
            ("write", "devices/a/devices.deny", "a"), ("write", "devices/a/devices.deny", "no rule"),
            _USER, *caps, ("write", agent, "/y"), ("write", *device), ("write", "devices/a/devices.allow", "c 1:3 rwm"),
            ("write", "devices/a/b/devices.allow", "c 1:3 rwm"), _ROOT, ("read", agent),
            ("read", "devices/a/devices.list")))  # fmt: skip
    yield Case("who opened release_agent decides, not who writes", "v1", (
        ("open", "able", agent, "O_WRONLY"), ("capabilities", "DAC_OVERRIDE"), ("open", "plain", agent, "O_WRONLY"),
        ("fwrite", "able", "/able"), ("read", agent), _ROOT, ("fwrite", "plain", "/plain"), ("read", agent),
        _USER, ("fwrite", "able", "/user"), ("read", agent)))  # fmt: skip
    yield Case("who writes a device rule decides, not who opened", "v1", (
        ("mkdir", "devices/a"), ("open", "able", device[0], "O_WRONLY"), ("capabilities", ""),
        ("open", "plain", device[0], "O_WRONLY"), ("fwrite", "able", device[1]), _ROOT, ("fwrite", "plain", device[1]),
        ("read", "devices/a/devices.list")))  # fmt: skip
    for who, ids in (("a user", 1000), ("root", 0)):
        yield Case(f"release_agent and devices for {who} as root of a user namespace", "v1", (
            ("mkdir", "devices/a"), ("chown", agent, ids, ids), ("chown", device[0], ids, ids), ("fork", "w"),
            ("in", "w", "as", ids, ids), ("in", "w", "user_namespace"), ("in", "w", "write", agent, "/x"),
            ("in", "w", "write", *device), ("read", agent), ("read", "devices/a/devices.list")))  # fmt: skip
    for h in ("cpu,cpuacct", "systemd", "freezer"):
        yield Case(f"moving tasks asks for ids, not for capabilities ({h})", "v1", (
            *(("mkdir", f"{h}/{name}") for name in "ab"),
            *(("chmod", f"{h}/{name}/{file}", "0666") for name in "ab" for file in ("tasks", "cgroup.procs")),
            ("fork", "r"), ("fork", "u"), ("in", "u", "as", 1000, 1000), ("fork", "v"), ("in", "v", "as", 2000, 2000),
            ("capabilities", ""), *(("write", f"{h}/{name}/{file}", f"${who}") for name in "ab" for file in
            ("tasks", "cgroup.procs") for who in "ruv"), _USER, ("capabilities", "~"),
            *(("write", f"{h}/{name}/{file}", f"${who}") for name in "ab" for file in ("tasks", "cgroup.procs")
            for who in "ruv"), _ROOT, *(("read", f"{h}/{name}/tasks") for name in "ab")))  # fmt: skip
    yield from _tasks_with_more("v1", "cpuset/")
    yield Case("every file of v1 is root's without capabilities", "v1", (
        *(("mkdir", f"{h}/a") for h in dict.fromkeys(path.partition("/")[0] for path, _ in _V1_VALUES)),
        ("chown", "memory/a/memory.swappiness", 0, 0), ("capabilities", ""),
        *(("write", path, value) for path, value in _V1_VALUES), _USER, ("capabilities", "~"),
        *(("write", path, value) for path, value in _V1_VALUES)))  # fmt: skip
    yield Case("an event of memory asks for permission to read", "v1", (
        ("mkdir", "memory/a"), ("eventfd", "e"), ("open", "u", "memory/a/memory.usage_in_bytes"),
        ("chmod", "memory/a/memory.usage_in_bytes", "0"), ("capabilities", ""),
        ("write", "memory/a/cgroup.event_control", "$e $u 1M"), ("capabilities", "DAC_READ_SEARCH"),
        ("write", "memory/a/cgroup.event_control", "$e $u 1M"), ("capabilities", "DAC_OVERRIDE"),
        ("write", "memory/a/cgroup.event_control", "$e $u 1M")))  # fmt: skip


_V1_VALUES = (
    ("cpu,cpuacct/a/cpu.shares", "512"), ("cpu,cpuacct/a/cpu.cfs_period_us", "50000"),
    ("cpu,cpuacct/a/cpu.cfs_quota_us", "20000"), ("cpu,cpuacct/a/cpu.cfs_burst_us", "1000"),
    ("cpu,cpuacct/a/cpu.rt_period_us", "500000"), ("cpu,cpuacct/a/cpu.rt_runtime_us", "0"),
    ("cpu,cpuacct/a/cpu.idle", "1"), ("cpu,cpuacct/a/cpuacct.usage", "0"), ("memory/a/memory.limit_in_bytes", "1G"),
    ("memory/a/memory.soft_limit_in_bytes", "1G"), ("memory/a/memory.swappiness", "10"),
    ("memory/a/memory.oom_control", "1"), ("memory/a/memory.move_charge_at_immigrate", "1"),
    ("memory/a/memory.max_usage_in_bytes", "0"), ("memory/a/memory.kmem.limit_in_bytes", "1G"),
    ("memory/a/memory.kmem.tcp.limit_in_bytes", "1G"), ("memory/a/memory.force_empty", "0"), ("pids/a/pids.max", "9"),
    ("cpuset/a/cpuset.cpus", "0"), ("cpuset/a/cpuset.mems", "0"), ("cpuset/a/cpuset.cpu_exclusive", "1"),
    ("cpuset/a/cpuset.mem_exclusive", "1"), ("cpuset/a/cpuset.mem_hardwall", "1"),
    ("cpuset/a/cpuset.memory_migrate", "1"), ("cpuset/a/cpuset.memory_spread_page", "1"),
    ("cpuset/a/cpuset.sched_load_balance", "0"), ("cpuset/a/cpuset.sched_relax_domain_level", "0"),
    ("freezer/a/freezer.state", "THAWED"), ("blkio/a/blkio.throttle.read_bps_device", "259:0 1048576"),
    ("blkio/a/blkio.reset_stats", "1"), ("hugetlb/a/hugetlb.2MB.limit_in_bytes", "4M"),
    ("net_cls,net_prio/a/net_cls.classid", "65537"), ("net_cls,net_prio/a/net_prio.ifpriomap", "lo 5"),
    ("misc/a/misc.max", "sev 1"), ("pids/a/notify_on_release", "1"), ("pids/a/cgroup.clone_children", "1"),
)  # fmt: skip
_V2_VALUES = (
    ("cgroup.max.depth", "5"), ("cgroup.max.descendants", "5"), ("cgroup.freeze", "0"), ("cgroup.pressure", "1"),
    ("cgroup.subtree_control", "+pids"), ("cgroup.subtree_control", "-pids"), ("cpu.weight", "50"),
    ("cpu.max", "50000"), ("cpu.weight.nice", "5"), ("cpu.idle", "0"), ("cpu.max.burst", "1000"),
    ("memory.max", "1G"), ("memory.high", "1G"),
    ("memory.low", "1M"), ("memory.min", "1M"), ("memory.oom.group", "1"), ("memory.swap.max", "1G"),
    ("memory.swap.high", "1G"), ("memory.zswap.max", "1G"), ("memory.peak", "0"), ("memory.reclaim", "0"),
    ("pids.max", "9"), ("cpuset.cpus", "0-1"), ("cpuset.mems", "0"), ("cpuset.cpus.exclusive", "1"),
    ("cpuset.cpus.partition", "root"), ("cpuset.cpus.partition", "member"), ("io.max", "259:0 rbps=1048576"),
    ("io.weight", "50"), ("io.latency", "259:0 target=5000"), ("io.bfq.weight", "50"), ("hugetlb.2MB.max", "4M"),
    ("hugetlb.2MB.rsvd.max", "4M"), ("misc.max", "sev 1"), ("cpu.pressure", "some 100000 1000000"),
    ("memory.pressure", "some 100000 2000000"), ("cgroup.kill", "1"), ("cgroup.type", "threaded"),
)  # fmt: skip


def _v2() -> Iterator[Case]:
    on = ("write", "cgroup.subtree_control", "+cpuset +cpu +io +memory +hugetlb +pids +misc")
    yield Case("every file of v2 is root's without capabilities", "v2", (
        on, ("mkdir", "a"), ("capabilities", ""), *(("write", f"a/{file}", value) for file, value in _V2_VALUES),
        _ROOT, ("mkdir", "b"), _USER, ("capabilities", "~"),
        *(("write", f"b/{file}", value) for file, value in _V2_VALUES)))  # fmt: skip
    for name in ("", "SYS_RESOURCE", "SYS_ADMIN", "~SYS_RESOURCE"):
        triggers = tuple(("write", "a/cpu.pressure", f"some 100000 {window}") for window in (500000, 1000000, 2000000))
        yield Case(f"pressure triggers with capabilities {name or 'none'}", "v2", (
            ("mkdir", "a"), ("chown", "a/cpu.pressure", 1000, 1000), ("capabilities", name), *triggers, _USER,
            ("capabilities", name), *triggers))  # fmt: skip
    trigger = "some 100000 1000000"
    yield Case("who opened a pressure file decides, not who writes", "v2", (
        ("mkdir", "a"), ("open", "able", "a/cpu.pressure", "O_RDWR"), ("capabilities", ""),
        ("open", "plain", "a/cpu.pressure", "O_RDWR"), ("fwrite", "able", trigger), _ROOT,
        ("fwrite", "plain", trigger), ("chown", "a/cpu.pressure", 1000, 1000), ("fork", "w"),
        ("in", "w", "as", 1000, 1000), ("in", "w", "user_namespace"),
        ("in", "w", "write", "a/cpu.pressure", trigger)))  # fmt: skip
    for name in ("", "SYS_ADMIN", "~SYS_ADMIN"):
        for kind in ("root", "isolated"):
            yield Case(f"a remote {kind} partition with capabilities {name or 'none'}", "v2", (
                ("write", "cgroup.subtree_control", "+cpuset"), ("mkdir", "a"), ("mkdir", "a/b"), ("mkdir", "a/c"),
                ("write", "a/cpuset.cpus", "0-3"), ("write", "a/cgroup.subtree_control", "+cpuset"),
                ("write", "a/cpuset.cpus.exclusive", "1-3"), ("write", "a/b/cpuset.cpus.exclusive", "1"),
                ("capabilities", name), ("write", "a/b/cpuset.cpus.partition", kind),
                ("read", "a/b/cpuset.cpus.partition"), ("write", "a/c/cpuset.cpus.exclusive", "2"),
                ("write", "a/b/cpuset.cpus.exclusive", "1,3"), ("read", "a/b/cpuset.cpus.partition"), _ROOT,
                ("write", "a/b/cpuset.cpus.partition", kind), ("read", "a/b/cpuset.cpus.partition"),
                ("capabilities", name), ("write", "a/b/cpuset.cpus.exclusive", "1,3"),
                ("read", "a/b/cpuset.cpus.partition"), ("write", "a/b/cpuset.cpus.partition", "member")))  # fmt: skip
    yield from _tasks_with_more("v2", "")


def _tasks_with_more(layout: str, p: str) -> Iterator[Case]:
    """Only CAP_SYS_NICE moves a task that is permitted more than who moves it to other CPUs."""
    prepare: Ops = (("mkdir", f"{p}a"), ("mkdir", f"{p}b"), ("mkdir", f"{p}c"))
    if not p:
        prepare = (("write", "cgroup.subtree_control", "+cpuset"), *prepare)
    fill = tuple(("write", f"{p}{d}/cpuset.{file}", value) for d, cpus in (("a", "0-3"), ("b", "0-1"), ("c", "0-1"))
                 for file, value in (("cpus", cpus), ("mems", "0")))  # fmt: skip
    places = ("a", "b", "c", ".", "a")
    procs = tuple(("in", "m", "write", f"{p}{place}/cgroup.procs", who) for who in ("$t", "0") for place in places)
    for name in ("", "SYS_NICE", "DAC_OVERRIDE|SYS_NICE", "DAC_OVERRIDE"):
        for held in ("~", name):
            kept = "all" if held == "~" else name or "none"
            yield Case(f"cpusets: {name or 'no capability'} of {kept} moves a task with all", layout, (
                *prepare, *fill, ("fork", "t"), ("fork", "m"), ("in", "m", "capabilities", name, held), *procs,
                ("write", f"{p}b/cgroup.procs", "$t"), *procs[2:5],
                *(("read", f"{p}{place}/cgroup.procs") for place in ("a", "b", "c"))))  # fmt: skip
    yield Case("cpusets: one without capabilities moves one without", layout, (
        *prepare, *fill, ("fork", "t"), ("in", "t", "capabilities", "", ""), ("fork", "m"),
        ("in", "m", "capabilities", "", ""), *procs, ("in", "m", "write", f"{p}b/cgroup.threads", "$t")))  # fmt: skip
