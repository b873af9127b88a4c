"""cpu (and cpuacct on v1): weights, shares, bandwidth, burst, idle."""

from __future__ import annotations

from collections.abc import Iterator

from fakecgroup.conformance.case import Case
from fakecgroup.conformance.cases.place import at, child
from fakecgroup.conformance.cases.values import each_read_back, parser_cases, short_parser_cases


def cases() -> Iterator[Case]:
    yield from _v2()
    yield from _v1()


_US = ["0", "1", "999", "1000", "1001", "50000", "99999", "100000", "100001", "999999", "1000000", "1000001",
    "17592186044414",
       "17592186044415", "17592186044416", "17592186044417", "18446744073709551", "18446744073709552"]  # fmt: skip


def _v2() -> Iterator[Case]:
    setup = child("v2", "cpu")
    weight, nice, quota, burst, idle = (f"a/cpu.{f}" for f in ("weight", "weight.nice", "max", "max.burst", "idle"))
    yield from parser_cases(
        "v2", weight, setup, "200", ["0", "1", "2", "3", "99", "100", "101", "9999", "10000", "10001"]
    )
    yield from parser_cases("v2", nice, setup, "5", ["-21", "-20", "-19", "-1", "0", "1", "18", "19", "20"])
    yield from parser_cases(
        "v2", quota, setup, "20000 50000", [*_US, *(f"20000 {p}" for p in _US), *(f"{q} 1000000" for q in _US)]
    )
    yield from parser_cases("v2", burst, (*setup, ("write", quota, "20000 50000")), "100", _US)
    unlimited = Case("cpu.max.burst without a quota", "v2", (*setup, *each_read_back(burst, [*_US, "17592186044416000",
                     "18446744073709550", "18446744073709551", "9223372036854775", "9223372036854776"])))  # fmt: skip
    yield unlimited
    yield from parser_cases("v2", idle, setup, "1", ["0", "1", "2", "-1"])
    for file in ("a/cpu.uclamp.min", "a/cpu.uclamp.max"):
        edges = ["0", "0.00", "0.001", "0.01", "0.1", ".5", "5.", "12.3", "12.34", "12.345", "12.349", "50", "50.",
            "99.98", "99.99",
                 "99.991", "100", "100.0", "100.00", "100.001", "100.01", "101", "-0.1", "max", "max\n", "1,5",
                 "12.-5", "12.5.5"]  # fmt: skip
        yield from parser_cases("v2", file, setup, "25", edges)
    for file in ("a/cpu.stat", "a/cpu.stat.local"):
        yield from short_parser_cases("v2", file, setup)

    pairs = ["max", "max 50000", "max 1000", "max 999", "max 1000001", "max max", "1000 max", "20000", "20000\t50000",
        "20000\n50000",
             "20000  50000", " 20000 50000 ", "\t20000 50000\n", "20000,50000", "20000 50000 7", "20000 50000x",
             "20000 x", "20000 -1",
             "20000 -50000", "20000 0", "20000 +60000", "20000 0x186a0", "20000 0100000", "20000 1e5", "max\t70000",
             "maxx 50000",
             "max50000", "MAX 50000", "20000max", "20000x 30000", "20000 50000\0", "20000\00050000", "20000 \n",
             "\n20000 50000",
             "-1 50000", "-1", "0 50000", "2000 18446744073709551615", "2000 18446744073709551616",
             "2000 4294967396000",
             "18446744073709551615 50000", "max 100000 max", {"join": ["20000 ", {"repeat": ["5", 30]}]},
             {"join": [{"repeat": ["0", 25]}, "20000"]}, {"join": [{"repeat": ["0", 19]}, "20000"]},
             {"join": [{"repeat": ["x", 30]}, " 20000"]}, {"join": [{"repeat": [" ", 40]}, "20000"]}]  # fmt: skip
    yield Case("cpu.max parses quota and period", "v2", (*setup, ("read", quota), *each_read_back(quota, pairs)))
    yield Case("cpu.max keeps the period that is not written", "v2", (
        *setup, *each_read_back(quota, ["10000 20000", "30000", "max", "5000", "max 40000", "6000"])))  # fmt: skip

    every_weight = [*range(1, 121), *range(125, 1100, 25), *range(1100, 10001, 100)]
    yield Case("cpu.weight shows as cpu.weight.nice", "v2", (*setup, *(
        op for w in every_weight for op in (("write", weight, w), ("read", nice)))))  # fmt: skip
    yield Case("cpu.weight.nice shows as cpu.weight", "v2", (*setup, *(
        op for n in range(-20, 20) for op in (("write", nice, n), ("read", weight), ("read", nice)))))  # fmt: skip
    yield Case("cpu.idle takes over the weight", "v2", (
        *setup, ("write", weight, "300"), ("write", idle, "1"), ("read", weight), ("read", nice), ("read", idle),
        ("write", weight, "200"), ("write", weight, "0"), ("write", weight, "abc"), ("write", nice, "1"),
        ("write", nice, "50"),
        ("write", idle, "1"), ("read", weight), ("write", idle, "0"), ("read", weight), ("read", nice),
        ("write", weight, "200"),
        ("write", idle, "0"), ("read", weight), ("write", nice, "3"), ("write", idle, "1"), ("write", idle, "0"),
        ("read", nice),
        ("mkdir", "a/b"), ("write", "a/cgroup.subtree_control", "+cpu"), ("write", idle, "1"), ("read", "a/b/cpu.idle"),
        ("read", "a/b/cpu.weight"), ("mkdir", "a/c"), ("read", "a/c/cpu.idle")))  # fmt: skip
    yield Case("cpu.max.burst and cpu.max hold each other", "v2", (
        *setup, ("write", burst, "50000"), ("read", burst), ("write", quota, "40000"), ("read", quota),
        ("write", quota, "50000"),
        ("read", quota), ("write", burst, "50001"), ("write", burst, "50000"), ("write", quota, "49999"),
        ("write", burst, "49999"),
        ("write", quota, "49999"), ("write", quota, "max"), ("read", burst), ("write", burst, "100000"),
        ("write", quota, "60000"),
        ("write", quota, "60000 70000"), ("write", quota, "100000 100000"), ("write", burst, "0"),
        ("write", quota, "1000"),
        ("write", burst, "1000"), ("write", burst, "1001"), ("read", quota), ("read", burst)))  # fmt: skip
    yield Case("quota plus burst has an upper end", "v2", (
        *setup, *each_read_back(quota, ["17592186044415"]), *each_read_back(burst, ["0", "1", "17592186044415"]),
        *each_read_back(quota, ["8796093022208"]), *each_read_back(burst, ["8796093022207", "8796093022208",
        "8796093022206"]),
        *each_read_back(quota, ["8796093022209", "8796093022210"])))  # fmt: skip
    nested = child("v2", "cpu", "a", "a/b", "a/b/c")
    yield Case("a child's bandwidth is not held to its parent's", "v2", (
        *nested, ("write", "a/cpu.max", "10000 100000"), ("write", "a/b/cpu.max", "20000 100000"),
        ("read", "a/b/cpu.max"),
        ("write", "a/b/c/cpu.max", "max"), ("write", "a/b/c/cpu.max", "90000 100000"),
        ("write", "a/cpu.max", "1000 1000000"),
        ("write", "a/cpu.weight", "10"), ("read", "a/b/cpu.weight"), ("read", "a/b/cpu.max"),
        ("read", "a/b/c/cpu.max")))  # fmt: skip
    yield Case("cpu settings are gone after the controller was off", "v2", (
        *setup, ("write", weight, "300"), ("write", quota, "20000 50000"), ("write", burst, "100"),
        ("chmod", weight, "0600"),
        ("write", "cgroup.subtree_control", "-cpu"), ("read", weight), ("stat", weight), ("read", "a/cpu.stat"),
        ("write", "cgroup.subtree_control", "+cpu"), ("read", weight), ("read", quota), ("read", burst),
        ("stat", weight)))  # fmt: skip
    yield Case("idle is refused nowhere in the tree", "v2", (
        *nested, ("write", "a/b/cpu.idle", "1"), ("write", "a/cpu.idle", "1"), ("write", "a/b/c/cpu.idle", "1"),
        ("read", "a/cpu.weight"), ("read", "a/b/cpu.weight"), ("write", "a/b/cpu.idle", "0"),
        ("read", "a/b/cpu.weight"),
        ("read", "a/cpu.weight")))  # fmt: skip
    yield Case("cpu files with processes inside", "v2", (
        *setup, ("fork", "w"), ("write", "a/cgroup.procs", "$w"), *each_read_back(quota,
        ["1000 1000000", "max 100000", "50000"]),
        *each_read_back(weight, ["1", "10000"]), *each_read_back(idle, ["1", "0"])))  # fmt: skip
    yield Case("uclamp.min may be above uclamp.max", "v2", (
        *setup, ("write", "a/cpu.uclamp.max", "20"), ("write", "a/cpu.uclamp.min", "50"), ("read", "a/cpu.uclamp.min"),
        ("read", "a/cpu.uclamp.max"), ("mkdir", "b"), ("read", "b/cpu.uclamp.min"),
        ("read", "b/cpu.uclamp.max")))  # fmt: skip
    yield Case("the root has no cpu knobs", "v2", (
        ("read", "cpu.max"), ("write", "cpu.max", "max"), ("read", "cpu.weight"), ("read", "cpu.idle"),
        ("read", "cpu.stat")))  # fmt: skip


def _v1() -> Iterator[Case]:
    setup = child("v1", "cpu")
    here = "cpu,cpuacct"
    shares, period, quota, burst, idle = (
        f"{here}/a/cpu.{f}" for f in ("shares", "cfs_period_us", "cfs_quota_us", "cfs_burst_us", "idle")
    )
    yield from parser_cases(
        "v1", shares, setup, "512", ["0", "1", "2", "3", "1023", "1024", "1025", "262143", "262144", "262145"]
    )
    yield from parser_cases("v1", period, setup, "50000", _US)
    yield from parser_cases("v1", quota, setup, "50000", ["-1", "-2", *_US])
    yield from parser_cases("v1", burst, (*setup, ("write", quota, "50000")), "100", _US)
    yield Case("cpu.cfs_burst_us without a quota", "v1", (*setup, *each_read_back(burst, [*_US, "9223372036854775",
               "9223372036854776", "18446744073709550"])))  # fmt: skip
    yield from parser_cases("v1", idle, setup, "1", ["0", "1", "2", "-1"])
    yield from parser_cases("v1", f"{here}/a/cpuacct.usage", setup, "0")
    for file in ("cpu.stat", "cpu.stat.local", "cpuacct.stat", "cpuacct.usage_all", "cpuacct.usage_percpu",
        "cpuacct.usage_percpu_sys",
                 "cpuacct.usage_percpu_user", "cpuacct.usage_sys", "cpuacct.usage_user"):  # fmt: skip
        yield from short_parser_cases("v1", f"{here}/a/{file}", setup)
    for file in (
        "cpu.shares",
        "cpu.cfs_period_us",
        "cpu.cfs_quota_us",
        "cpu.cfs_burst_us",
        "cpu.idle",
        "cpuacct.usage",
    ):
        values = ["", "\n", "0", "1", "-1", "1024", "100000", "18446744073709551616", "abc"]
        yield Case(f"{file} of the root", "v1", (("read", f"{here}/{file}"), *each_read_back(f"{here}/{file}", values)))
    for file in ("cpu.uclamp.min", "cpu.uclamp.max"):
        edges = ["0", "0.01", "12.34", "12.345", "99.99", "100", "100.01", "-1", "max", "max\n", " 5", "5 ", "abc"]
        yield from parser_cases("v1", f"{here}/a/{file}", setup, "25", edges)

    yield Case("quota and period are each held to their own limits", "v1", (
        *setup, *each_read_back(quota, ["50000"]), *each_read_back(period, ["1000", "1000000", "999"]),
        *each_read_back(quota, ["1000", "10000000", "-1", "999"]), *each_read_back(period, ["1000"]),
        *each_read_back(quota, ["17592186044415"])))  # fmt: skip
    yield Case("cpu.idle takes over the shares", "v1", (
        *setup, ("write", shares, "2048"), ("write", idle, "1"), ("read", shares), ("write", shares, "2"),
        ("write", shares, "x"),
        ("write", idle, "0"), ("read", shares), ("write", shares, "2048"), ("write", idle, "0"), ("read", shares),
        ("write", idle, "1"), ("mkdir", f"{here}/a/b"), ("read", f"{here}/a/b/cpu.idle"),
        ("read", f"{here}/a/b/cpu.shares")))  # fmt: skip
    yield Case("cpu.cfs_burst_us and the quota hold each other", "v1", (
        *setup, ("write", burst, "50000"), ("read", burst), ("write", quota, "40000"), ("read", quota),
        ("write", quota, "50000"),
        ("write", burst, "50001"), ("write", burst, "50000"), ("write", quota, "49999"), ("write", quota, "-1"),
        ("read", burst),
        ("write", burst, "100000"), ("write", quota, "60000"), ("write", burst, "0"), ("write", quota, "60000"),
        ("write", period, "10000"), ("write", burst, "60000"), ("read", quota), ("read", burst)))  # fmt: skip

    a, b, c = (f"{here}/{name}" for name in ("a", "a/b", "a/b/c"))
    tree = child("v1", "cpu", "a", "a/b", "a/b/c", "a/d")

    def q(where: str, value: object) -> tuple[str, str, str]:
        return ("write", f"{where}/cpu.cfs_quota_us", str(value))

    def p(where: str, value: object) -> tuple[str, str, str]:
        return ("write", f"{where}/cpu.cfs_period_us", str(value))

    def r(where: str) -> tuple[tuple[str, str], tuple[str, str]]:
        return (("read", f"{where}/cpu.cfs_quota_us"), ("read", f"{where}/cpu.cfs_period_us"))

    yield Case("a child's quota ratio stays below its parent's", "v1", (
        *tree, q(a, 50000), q(b, 50001), *r(b), q(b, 50000), q(c, 50000), q(c, 60000), q(a, 49999), q(a, 40000),
        *r(a), q(a, 60000),
        q(b, 60000), q(b, 50000), q(a, 50000), q(f"{here}/a/d", 50000), q(f"{here}/a/d", -1),
        *r(f"{here}/a/d")))  # fmt: skip
    yield Case("an unlimited child is held to what its ancestors have", "v1", (
        *tree, q(c, 50000), q(a, 40000), *r(a), q(a, 50000), q(c, 50001), q(b, 60000), q(b, -1), q(c, -1), q(a, 1000),
        q(c, 1001),
        q(c, 1000), q(a, -1), q(c, 90000), q(b, 80000), q(b, 90000), *r(a), *r(b), *r(c)))  # fmt: skip
    yield Case("periods count in the quota ratio", "v1", (
        *tree, q(a, 50000), q(b, 50000), p(b, 50000), *r(b), p(b, 200000), p(a, 200000), *r(a), p(a, 50000),
        p(b, 100000), p(b, 99999),
        p(b, 100001), q(b, 100000), p(a, 25000), q(b, 100000), p(b, 50000), *r(a), *r(b)))  # fmt: skip
    yield Case("quota ratios are compared after rounding down", "v1", (
        *tree, p(a, 999999), q(a, 1000001), p(b, 1000000), q(b, 1000002), *r(b), q(b, 1000003), *r(b), q(b, -1),
        p(a, 1000000), q(a, 333333), p(b, 3000), q(b, 1000), p(b, 100000), q(b, 33333), q(b, 33334),
        *r(b)))  # fmt: skip
    yield Case("siblings are not added up", "v1", (
        *tree, q(a, 50000), q(b, 50000), q(f"{here}/a/d", 50000), ("mkdir", f"{here}/a/e"), q(f"{here}/a/e", 50000),
        *r(f"{here}/a/e")))  # fmt: skip
    yield Case("bandwidth set while no period is left at its default", "v1", (
        *tree, p(a, 10000), q(a, 10000), q(b, 100000), q(b, 100001), p(b, 1000000), q(b, 1000000), q(b, 1000001),
        p(b, 1000),
        q(b, 1000), p(b, 1000), *r(a), *r(b)))  # fmt: skip
    yield Case("removing the child frees the parent", "v1", (
        *tree, q(a, 50000), q(c, 50000), q(a, 40000), ("rmdir", c), ("settle", 300), q(a, 40000), *r(a)))  # fmt: skip
    yield from _realtime(here)
    yield Case("nothing of cpu is inherited on v1", "v1", (
        *setup, ("write", shares, "2048"), ("write", quota, "50000"), ("write", period, "50000"),
        ("write", burst, "10"),
        ("mkdir", f"{here}/a/b"), *((("read", f"{here}/a/b/{f}")) for f in ("cpu.shares", "cpu.cfs_quota_us",
        "cpu.cfs_period_us",
        "cpu.cfs_burst_us", "cpu.idle", "cpu.stat"))))  # fmt: skip
    yield Case("cpu.cfs_quota_us with processes inside", "v1", (
        *setup, ("fork", "w"), ("write", f"{here}/a/tasks", "$w"), *each_read_back(quota, ["1000", "-1", "50000"]),
        *each_read_back(shares, ["2", "1024"])))  # fmt: skip
    yield Case("the links cpu and cpuacct lead to the same place", "v1", (
        ("mkdir", "cpu/x"), ("stat", "cpuacct/x"), ("readlink", "cpu"), ("readlink", "cpuacct"),
        ("rmdir", at("v1", "cpu", "x"))))  # fmt: skip


def _realtime(here: str) -> Iterator[Case]:
    """RT_GROUP_SCHED's files.  A kernel without it answers ENOENT."""
    setup = child("v1", "cpu")
    runtime, period = f"{here}/a/cpu.rt_runtime_us", f"{here}/a/cpu.rt_period_us"
    yield from short_parser_cases("v1", runtime, setup, ["950000", "950001", "949999", "1000000", "10", "-2", "0"])
    yield from short_parser_cases("v1", period, setup, ["1000000", "1", "1000", "999999999", "0"])
    yield Case("real-time runtime and period hold each other", "v1", (
        *setup, ("stat", runtime), ("stat", period), *each_read_back(runtime, ["500000"]),
        *each_read_back(period, ["500000", "526315", "526316", "600000", "2000000", "17592186045", "18446744073709551",
        "18446744073709552"]), *each_read_back(runtime, ["900000", "1900000", "1900001", "17592186", "17592187",
        "9223372036854775", "9223372036854775807"]), *each_read_back(period, ["100"]),
        *each_read_back(runtime, ["95", "96", "0"]), *each_read_back(period, ["1"]),
        *each_read_back(runtime, ["1", "0"])))  # fmt: skip
    a, b, c, d = (f"{here}/{name}/cpu.rt_runtime_us" for name in ("a", "a/b", "a/b/c", "a/d"))
    yield Case("real-time runtime is given from parent to children", "v1", (
        *child("v1", "cpu", "a", "a/b", "a/b/c", "a/d"), *each_read_back(b, ["1"]), *each_read_back(a, ["500000"]),
        *each_read_back(b, ["300000"]), *each_read_back(d, ["200001", "200000"]), *each_read_back(b, ["300001"]),
        *each_read_back(a, ["499999", "500001", "0"]), *each_read_back(c, ["300000", "300001", "-1"]),
        *each_read_back(b, ["299999", "0"]), *each_read_back(c, ["0"]), *each_read_back(b, ["0"]),
        ("rmdir", f"{here}/a/d"), ("settle", 300), *each_read_back(a, ["0"])))  # fmt: skip
    yield Case("real-time runtime is not inherited", "v1", (
        *setup, ("write", runtime, "500000"), ("write", period, "2000000"), ("mkdir", f"{here}/a/b"),
        ("read", f"{here}/a/b/cpu.rt_runtime_us"), ("read", f"{here}/a/b/cpu.rt_period_us"), ("fork", "w"),
        ("write", f"{here}/a/b/tasks", "$w"), *each_read_back(runtime, ["0", "-1"])))  # fmt: skip
    yield Case("real-time files of the root", "v1", (
        ("stat", f"{here}/cpu.rt_runtime_us"), ("read", f"{here}/cpu.rt_runtime_us"),
        ("stat", f"{here}/cpu.rt_period_us"), ("read", f"{here}/cpu.rt_period_us")))  # fmt: skip
