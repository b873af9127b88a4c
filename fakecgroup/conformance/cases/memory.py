"""memory: sizes, limits against each other, limits against usage, kills."""

from __future__ import annotations

from collections.abc import Iterator

from fakecgroup.conformance.case import Case
from fakecgroup.conformance.cases.place import child
from fakecgroup.conformance.cases.values import each_read_back, parser_cases, short_parser_cases

_SIZES = ["0", "1", "4095", "4096", "4097", "8191", "1000000", "123456789", "1k", "4k", "5K", "1023K", "1M", "1G",
    "1T", "1P", "1E",
          "7E", "8E", "0x2000", "020000", "0x2000K", "9223372036854767616", "9223372036854771711",
          "9223372036854771712",
          "9223372036854775807", "18446744073709547520", "18446744073709551615", "18014398509481983K",
          "18014398509481984K",
          "18014398509481985K", "1000000000000000000000K", "max", "-1", "-1\n", " -1 ", "-1 \n"]  # fmt: skip


def cases() -> Iterator[Case]:
    yield from _v2()
    yield from _v1()


def _v2() -> Iterator[Case]:
    setup = child("v2", "memory")
    for name in ("min", "low", "high", "max", "swap.max", "swap.high", "zswap.max"):
        yield from parser_cases("v2", f"a/memory.{name}", setup, "8192", _SIZES)
    for name in ("oom.group", "zswap.writeback"):
        yield from parser_cases("v2", f"a/memory.{name}", setup, "1", ["0", "1", "2"])
    for name in ("current", "events", "events.local", "numa_stat", "peak", "stat", "swap.current", "swap.events",
        "swap.peak",
                 "zswap.current", "pressure"):  # fmt: skip
        yield from short_parser_cases("v2", f"a/memory.{name}", setup)
    reclaim = ["", "0", "1", "4095", "4096", "\n", " ", "\0", "1M", "max", "-1", "abc", "4096 ", " 4096", "4096\n",
        "0 swappiness=0",
               "0 swappiness=60", "0 swappiness=200", "0 swappiness=201", "0 swappiness=-1", "0 swappiness=",
               "0 swappiness=max",
               "0 swappiness=max0", "0 swappiness", "0 swap=1", "0  swappiness=1", "0 swappiness=1 swappiness=2",
               "0 swappiness=0x10",
               "0 swappiness=1\n", "0\tswappiness=1", "swappiness=1", "0 swappiness=1 x", "16E",
               "18446744073709551616"]  # fmt: skip
    yield Case("memory.reclaim parses a size and a key", "v2", (
        *setup, ("read", "a/memory.reclaim"),
        *(("write", "a/memory.reclaim", value) for value in reclaim)))  # fmt: skip
    yield Case("memory.reclaim of the root", "v2", (
        ("read", "memory.reclaim"), *(("write", "memory.reclaim", v) for v in ("", "0", "abc", "-1",
        "0 swappiness=5"))))  # fmt: skip
    yield Case("memory knobs are not held to each other", "v2", (
        *child("v2", "memory", "a", "a/b"), *each_read_back("a/memory.max", ["1M"]),
        *each_read_back("a/memory.high", ["2M"]),
        *each_read_back("a/memory.low", ["3M"]), *each_read_back("a/memory.min", ["4M"]),
        *each_read_back("a/b/memory.max", ["8M", "max"]), *each_read_back("a/b/memory.min", ["16M", "max"]),
        *each_read_back("a/memory.max", ["0", "max"])))  # fmt: skip
    yield Case("memory settings are gone after the controller was off", "v2", (
        *setup, ("write", "a/memory.max", "1M"), ("write", "a/memory.oom.group", "1"),
        ("write", "cgroup.subtree_control", "-memory"),
        ("read", "a/memory.max"), ("write", "cgroup.subtree_control", "+memory"), ("read", "a/memory.max"),
        ("read", "a/memory.oom.group")))  # fmt: skip
    yield Case("children do not inherit memory settings", "v2", (
        *setup, ("write", "a/memory.max", "1M"), ("write", "a/memory.min", "1M"), ("write", "a/memory.oom.group", "1"),
        ("write", "a/memory.zswap.writeback", "0"), ("write", "a/cgroup.subtree_control", "+memory"), ("mkdir", "a/b"),
        *(("read", f"a/b/memory.{f}") for f in ("max", "min", "oom.group", "zswap.writeback", "high",
        "swap.max"))))  # fmt: skip
    yield Case("a process over memory.max is killed", "v2", (
        *setup, ("fork", "w"), ("write", "a/cgroup.procs", "$w"), ("write", "a/memory.max", "16M"),
        ("write", "a/memory.swap.max", "0"),
        ("in", "w", "alloc", 8 << 20), ("read", "a/memory.events"), ("in", "w", "alloc", 32 << 20), ("wait", "w"),
        ("read", "a/memory.events"), ("read", "a/memory.events.local"), ("read", "a/cgroup.events")))  # fmt: skip
    tree = child("v2", "memory", "a", "a/b")
    yield Case("a kill below the limit's cgroup is counted on the way", "v2", (
        *tree, ("fork", "w"), ("write", "a/b/cgroup.procs", "$w"), ("write", "a/memory.max", "16M"),
        ("in", "w", "alloc", 32 << 20),
        ("wait", "w"), ("read", "a/memory.events"), ("read", "a/memory.events.local"), ("read", "a/b/memory.events"),
        ("read", "a/b/memory.events.local")))  # fmt: skip
    yield Case("memory.oom.group kills all", "v2", (
        *setup, ("fork", "w"), ("fork", "x"), ("write", "a/cgroup.procs", "$w"), ("write", "a/cgroup.procs", "$x"),
        ("write", "a/memory.oom.group", "1"), ("write", "a/memory.max", "16M"), ("in", "w", "alloc", 32 << 20),
        ("wait", "w"),
        ("wait", "x"), ("read", "a/memory.events")))  # fmt: skip
    yield Case("memory.max below the usage", "v2", (
        *setup, ("fork", "w"), ("write", "a/cgroup.procs", "$w"), ("in", "w", "alloc", 24 << 20),
        ("write", "a/memory.max", "8M"),
        ("read", "a/memory.max"), ("wait", "w"), ("read", "a/memory.events")))  # fmt: skip
    yield Case("memory.events can be polled", "v2", (
        *setup, ("open", "h", "a/memory.events"), ("poll", "h", "IN|PRI"), ("fread", "h", 500), ("poll", "h", "IN|PRI"),
        ("fork", "w"), ("write", "a/cgroup.procs", "$w"), ("write", "a/memory.max", "8M"),
        ("in", "w", "alloc", 24 << 20),
        ("wait", "w"), ("settle", 30), ("poll", "h", "IN|PRI")))  # fmt: skip
    yield Case("memory.peak is reset by a write", "v2", (
        *setup, ("open", "h", "a/memory.peak", "O_RDWR"), ("fwrite", "h", "x"), ("fpread", "h", 50, 0),
        ("fwrite", "h", ""),
        ("fwrite", "h", "\n"), ("open", "r", "a/memory.peak"), ("fread", "r", 50)))  # fmt: skip
    yield Case("memory files of the root", "v2", (
        ("read", "memory.max"), ("write", "memory.max", "1M"), ("read", "memory.current"), ("read", "memory.stat"),
        ("read", "memory.numa_stat"), ("write", "memory.stat", "1"), *each_read_back("memory.zswap.writeback",
        ["0", "2", "1"])))  # fmt: skip


_LIMITS = (
    "limit_in_bytes",
    "memsw.limit_in_bytes",
    "soft_limit_in_bytes",
    "kmem.limit_in_bytes",
    "kmem.tcp.limit_in_bytes",
)


def _v1() -> Iterator[Case]:
    setup = child("v1", "memory")
    a = "memory/a/memory."
    for name in _LIMITS:
        before = (*setup, ("write", a + "limit_in_bytes", "0")) if name.startswith("memsw") else setup
        yield from parser_cases("v1", a + name, before, "8192", _SIZES)
    yield from parser_cases(
        "v1", a + "swappiness", setup, "10", ["0", "59", "60", "99", "100", "101", "199", "200", "201"]
    )
    yield from parser_cases("v1", a + "oom_control", setup, "1", ["0", "1", "2"])
    yield from parser_cases("v1", a + "use_hierarchy", setup, "1", ["0", "1", "2"])
    yield from parser_cases("v1", a + "move_charge_at_immigrate", setup, "1", ["0", "1", "2", "3", "4", "7",
        "4294967296", "4294967299",
                            "4294967300"])  # fmt: skip
    for name in ("failcnt", "max_usage_in_bytes", "memsw.failcnt", "memsw.max_usage_in_bytes", "kmem.failcnt",
        "kmem.max_usage_in_bytes",
                 "kmem.tcp.failcnt", "kmem.tcp.max_usage_in_bytes", "usage_in_bytes", "memsw.usage_in_bytes",
                 "kmem.usage_in_bytes",
                 "kmem.tcp.usage_in_bytes", "stat", "numa_stat", "kmem.slabinfo", "force_empty",
                 "pressure_level"):  # fmt: skip
        yield from short_parser_cases("v1", a + name, setup)
    for name in (
        *_LIMITS,
        "swappiness",
        "oom_control",
        "use_hierarchy",
        "move_charge_at_immigrate",
        "force_empty",
        "failcnt",
    ):
        path = f"memory/memory.{name}"
        yield Case(
            f"memory.{name} of the root",
            "v1",
            (("read", path), *each_read_back(path, ["", "\n", "-1", "0", "1", "8192", "60", "abc"])),
        )
    limit, memsw = a + "limit_in_bytes", a + "memsw.limit_in_bytes"
    both = (("read", limit), ("read", memsw))
    yield Case("memsw stays at or above the limit", "v1", (
        *setup, ("write", memsw, "10M"), ("write", limit, "10M"), ("write", memsw, "10M"), *both,
        ("write", limit, "10485761"),
        ("write", limit, "10489856"), ("write", limit, "11M"), ("write", limit, "-1"), ("write", memsw, "9M"), *both,
        ("write", memsw, "12M"),
        ("write", limit, "12M"), ("write", limit, "12582913"), ("write", limit, "5M"), ("write", memsw, "5M"),
        ("write", memsw, "5242879"),
        ("write", memsw, "-1"), ("write", limit, "-1"), *both, ("write", limit, "0"), ("write", memsw, "0"),
        ("write", memsw, "4095"),
        ("write", limit, "4095"), ("write", limit, "4096"), *both))  # fmt: skip
    tree = child("v1", "memory", "a", "a/b")
    yield Case("limits of parent and child are free of each other", "v1", (
        *tree, *each_read_back("memory/a/memory.limit_in_bytes", ["64M"]),
        *each_read_back("memory/a/b/memory.limit_in_bytes", ["128M", "1M"]),
        *each_read_back("memory/a/memory.limit_in_bytes", ["32M"]), ("read", "memory/a/b/memory.stat")))  # fmt: skip
    yield Case("what a child inherits of memory on v1", "v1", (
        *setup, ("write", a + "swappiness", "10"), ("write", a + "oom_control", "1"),
        ("write", a + "move_charge_at_immigrate", "3"),
        ("write", limit, "64M"), ("write", a + "soft_limit_in_bytes", "1M"), ("mkdir", "memory/a/b"),
        *(("read", f"memory/a/b/memory.{f}") for f in ("swappiness", "oom_control", "move_charge_at_immigrate",
        "limit_in_bytes",
                                                      "soft_limit_in_bytes", "use_hierarchy")),
        ("write", a + "oom_control", "0"), ("read", "memory/a/b/memory.oom_control"), ("write", a + "swappiness", "20"),
        ("read", "memory/a/b/memory.swappiness")))  # fmt: skip
    yield Case("memory.use_hierarchy with children", "v1", (
        *tree, *each_read_back("memory/a/memory.use_hierarchy", ["1", "0", "1"]),
        *each_read_back("memory/a/b/memory.use_hierarchy", ["0", "1"])))  # fmt: skip
    yield Case("memory.kmem.limit_in_bytes is set or ignored", "v1", (
        *setup, *each_read_back(a + "kmem.limit_in_bytes", ["10M", "0", "-1"])))  # fmt: skip
    yield Case("a v1 limit below what is in use", "v1", (
        *setup, ("fork", "w"), ("write", "memory/a/tasks", "$w"), ("in", "w", "alloc", 24 << 20),
        *each_read_back(limit, ["16M", "1M", "0", "64M"]),
        *each_read_back(memsw, ["16M", "64M"])))  # fmt: skip
    yield Case("a process over a v1 limit is killed", "v1", (
        *setup, ("fork", "w"), ("write", "memory/a/tasks", "$w"), ("write", limit, "16M"),
        ("in", "w", "alloc", 32 << 20), ("wait", "w"),
        ("read", a + "oom_control"), ("read", a + "failcnt"), ("read", a + "max_usage_in_bytes")))  # fmt: skip
    yield Case("a kill under the parent's v1 limit is counted at the victim", "v1", (
        *tree, ("fork", "w"), ("write", "memory/a/b/tasks", "$w"), ("write", limit, "16M"),
        ("in", "w", "alloc", 32 << 20), ("wait", "w"),
        ("read", a + "oom_control"), ("read", "memory/a/b/memory.oom_control"), ("read", a + "failcnt"),
        ("read", "memory/a/b/memory.failcnt")))  # fmt: skip
    yield Case("oom_kill_disable lets the process wait", "v1", (
        *setup, ("fork", "w"), ("write", "memory/a/tasks", "$w"), ("write", limit, "16M"),
        ("write", a + "oom_control", "1"),
        ("in", "w", "alloc", 32 << 20), ("read", a + "oom_control"), ("kill", "w"), ("wait", "w"),
        ("read", a + "oom_control")))  # fmt: skip
    yield Case("memory.force_empty with tasks and children", "v1", (
        *tree, ("fork", "w"), ("write", "memory/a/b/tasks", "$w"), ("write", a + "force_empty", "0"),
        ("write", "memory/a/b/memory.force_empty", "abc"), ("write", "memory/memory.force_empty", "0")))  # fmt: skip
    usage, control = a + "usage_in_bytes", "memory/a/cgroup.event_control"
    texts = ["$e $u 1M", "$e $u 0", "$e $u -1", "$e $u", "$e $u ", "$e $u abc", "$e $u 1M 2",
        "$e $u 99999999999999999999999", " $e $u 1M", "$e  $u 1M",
             "$e\t$u 1M", "$e $u\t1M", "$e\n$u 1M", "$e $u 1M\n", "$e $u  1M", "$e $o", "$e $o junk", "$e $p low",
             "$e $p medium", "$e $p critical", "$e $p LOW",
             "$e $p", "$e $p ", "$e $p bad", "$e $p low,", "$e $p low,default", "$e $p low,hierarchy",
             "$e $p low,local", "$e $p low,local,x", "$e $p low,bad", "$e $p ,low",
             "$e $p low ", "$e $p low\n", "$e $m 1M", "$e $l 1M", "$e $s", "$e $t", "$e $d", "$u $u 1M", "999 $u 1M",
             "$e 999 1M", "$e", "$e ", "-1 $u 1M", "abc", "0 0", "",
             "\n", " ", "0x3 $u 1M", "$e $b 1M", "$e $n 1M"]  # fmt: skip
    yield Case("cgroup.event_control parses two files and a text", "v1", (
        *tree, ("eventfd", "e"), ("open", "u", usage), ("open", "o", a + "oom_control"),
        ("open", "p", a + "pressure_level"),
        ("open", "m", a + "memsw.usage_in_bytes"), ("open", "l", limit), ("open", "s", a + "stat"),
        ("open", "t", "memory/a/tasks"),
        ("open", "d", "memory/a", "O_RDONLY|O_DIRECTORY"), ("open", "b", "memory/a/b/memory.usage_in_bytes"),
        ("open", "n", "/proc/uptime"),
        ("read", control), *(("write", control, text) for text in texts), ("eventcount", "e")))  # fmt: skip
    yield Case("rmdir signals what was registered", "v1", (
        *setup, ("eventfd", "e"), ("eventfd", "f"), ("open", "u", usage), ("open", "o", a + "oom_control"),
        ("write", control, "$e $u 1M"),
        ("write", control, "$f $o"), ("eventcount", "e"), ("eventcount", "f"), ("rmdir", "memory/a"), ("settle", 50),
        ("eventcount", "e"),
        ("eventcount", "f")))  # fmt: skip
    yield Case("a threshold that is crossed", "v1", (
        *setup, ("eventfd", "e"), ("open", "u", usage), ("write", control, "$e $u 8M"), ("fork", "w"),
        ("write", "memory/a/tasks", "$w"), ("eventcount", "e"),
        ("in", "w", "alloc", 16 << 20), ("eventcount", "e"), ("kill", "w"), ("wait", "w"), ("settle", 50),
        ("eventcount", "e")))  # fmt: skip
    yield Case("a kill for memory is signalled", "v1", (
        *setup, ("eventfd", "e"), ("open", "o", a + "oom_control"), ("write", control, "$e $o"), ("fork", "w"),
        ("write", "memory/a/tasks", "$w"),
        ("write", limit, "8M"), ("in", "w", "alloc", 24 << 20), ("wait", "w"), ("eventcount", "e")))  # fmt: skip
