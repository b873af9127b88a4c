"""The v2 core files: subtree_control, limits on the tree, stat, events, kill, pressure switch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fakecgroup.conformance.case import Case
from fakecgroup.conformance.cases.file_sets import CONTROLLERS_V2
from fakecgroup.conformance.cases.place import child
from fakecgroup.conformance.cases.values import each_read_back, padded, parser_cases, short_parser_cases

SUBTREE = "cgroup.subtree_control"


def cases() -> Iterator[Case]:
    one = (("mkdir", "a"),)
    for name in ("max.depth", "max.descendants"):
        yield from parser_cases("v2", f"a/cgroup.{name}", one, "9", ["0", "1", "max", "2147483646", "2147483647", "-1"])
        values = ["5", "0", "max", "-1", "abc", "2147483647", "2147483648", "\n", ""]
        yield Case(
            f"cgroup.{name} of the root", "v2", (("read", f"cgroup.{name}"), *each_read_back(f"cgroup.{name}", values))
        )
    yield from parser_cases("v2", "a/cgroup.freeze", one, "1", ["0", "1", "2", "-1"])
    yield from parser_cases("v2", "a/cgroup.pressure", one, "1", ["0", "1", "2", "-1"])
    yield from parser_cases("v2", "a/cgroup.kill", one, "1", ["0", "1", "2", "-1"])
    for name in ("controllers", "events", "stat", "stat.local", "type"):
        yield from short_parser_cases(
            "v2", f"a/cgroup.{name}", one, ["domain", "threaded ", "Threaded", "domain threaded", "domain invalid"]
        )
    for name in ("controllers", "stat", "type", "events", "freeze", "kill", "stat.local"):
        yield Case(
            f"cgroup.{name} of the root",
            "v2",
            (("read", f"cgroup.{name}"), *each_read_back(f"cgroup.{name}", ["", "0", "1", "abc"])),
        )
    yield from _subtree_control()
    yield from _tree_limits()
    yield from _stat_and_events()
    yield from _pressure_switch()


def _subtree_control() -> Iterator[Case]:
    tokens: list[Any] = [
        "", " ", "\n", "\t", "  \n", "\0", "+pids", "-pids", "+pids\n", " +pids ", "\t-pids\n", "+pids +cpu",
        "+pids  +cpu", "-pids -cpu",
        "+pids\t+cpu", "+pids\n+cpu", "+pids,+cpu", "+pids -pids", "-pids +pids", "+pids +pids", "-pids -pids",
        "pids", "+", "-", "++pids",
        "--pids", "+-pids", "+ pids", "+PIDS", "+Pids", "+pid", "+pidss", "+nosuch", "+all", "+freezer", "+devices",
        "+net_cls", "+net_prio",
        "+perf_event", "-perf_event", "+cpuacct", "+blkio", "+cpu,cpuacct", "+debug", "+cgroup", "+misc", "-misc",
        "+dmem", "+rdma +nosuch",
        "+nosuch +rdma", "+io pids", "+pids\0", "+pids\0+cpu", "+pids\0junk", "+hugetlb -nosuch", "+cpu -cpu +cpu",
        "-cpu", "*", "0", "max", "+0",
        "'+pids'", "+pids;", "+pids #", "+pi ds", padded("+io", " ", 4096), padded("+rdma", " ", 4097),
        padded("-io", "\n", 4096),
        {"repeat": ["+cpu ", 819]}, {"repeat": ["+cpu -cpu ", 400]}, {"repeat": ["+cpu ", 820]},
        {"repeat": ["x", 4096]}, "-io -pids -cpu",
    ]  # fmt: skip
    yield Case(
        "subtree_control parses its words", "v2", (("mkdir", "a"), ("read", SUBTREE), *each_read_back(SUBTREE, tokens))
    )
    yield Case("subtree_control of a child without controllers", "v2", (
        ("mkdir", "a"), ("read", f"a/{SUBTREE}"), *each_read_back(f"a/{SUBTREE}", [
            "+pids", "-pids", "+nosuch", "+perf_event", "-perf_event", "+pids -pids", "-pids +pids", "", "\n",
            "+cpu +nosuch", "+misc"])))  # fmt: skip
    yield Case("subtree_control shows controllers in the kernel's order", "v2", (
        *(op for c in reversed(CONTROLLERS_V2) for op in (("write", SUBTREE, f"+{c}"), ("read", SUBTREE))),
        ("mkdir", "a"),
        ("read", "a/cgroup.controllers"), *(op for c in CONTROLLERS_V2 for op in
        (("write", SUBTREE, f"-{c}"), ("read", SUBTREE), ("read", "a/cgroup.controllers")))))  # fmt: skip
    yield Case("a write to subtree_control is all or nothing", "v2", (
        ("write", SUBTREE, "+pids"), ("mkdir", "a"), *each_read_back(f"a/{SUBTREE}",
        ["+pids +cpu", "+cpu +pids", "+pids -cpu", "-pids +memory",
        "+pids +nosuch", "-pids -nosuch", "-pids"])))  # fmt: skip
    nested = (
        ("write", SUBTREE, "+pids +cpu +memory"),
        ("mkdir", "a"),
        ("write", f"a/{SUBTREE}", "+pids +cpu"),
        ("mkdir", "a/b"),
    )
    yield Case("a controller in use below cannot be turned off", "v2", (
        *nested, ("write", f"a/b/{SUBTREE}", "+pids"), *each_read_back(f"a/{SUBTREE}",
        ["-pids", "-cpu", "-pids -cpu", "+cpu -pids"]),
        *each_read_back(SUBTREE, ["-pids", "-memory", "-cpu", "-pids -memory"]), ("write", f"a/b/{SUBTREE}", "-pids"),
        *each_read_back(f"a/{SUBTREE}", ["-pids"]), *each_read_back(SUBTREE, ["-pids", "-cpu"]),
        ("read", "a/cgroup.controllers"),
        ("read", "a/b/cgroup.controllers")))  # fmt: skip
    yield Case("files come and go with the controller", "v2", (
        *nested, ("listdir", "a/b"), ("write", f"a/{SUBTREE}", "-pids"), ("listdir", "a/b"), ("stat", "a/b/pids.max"),
        ("write", f"a/{SUBTREE}", "+pids +memory -cpu"), ("listdir", "a/b"), ("listdir", "a"), ("rmdir", "a/b"),
        ("listdir", "a")))  # fmt: skip
    for controller in CONTROLLERS_V2:
        yield Case(f"+{controller} with processes inside", "v2", (
            *child("v2", controller), ("fork", "w"), ("write", "a/cgroup.procs", "$w"),
            ("write", f"a/{SUBTREE}", f"+{controller}"),
            ("read", f"a/{SUBTREE}"), ("read", "a/cgroup.type"), ("mkdir", "a/b"), ("read", "a/b/cgroup.type"),
            ("write", "a/b/cgroup.procs", "$w"), ("write", "a/b/cgroup.threads", "$w"),
            ("write", f"a/{SUBTREE}", f"-{controller}"),
            ("read", "a/cgroup.type"), ("read", "a/b/cgroup.type"), ("write", "a/b/cgroup.procs", "$w"),
            ("read", "a/b/cgroup.procs"),
            ("write", f"a/{SUBTREE}", f"+{controller}"), ("read", "a/cgroup.type"), ("write", "a/cgroup.procs", "$w"),
            ("read", "a/cgroup.procs")))  # fmt: skip
    yield Case("a controller that is not there is told before processes are", "v2", (
        ("write", SUBTREE, "+memory"), ("mkdir", "a"), ("fork", "w"), ("write", "a/cgroup.procs", "$w"),
        *each_read_back(f"a/{SUBTREE}", [
            "+memory +pids", "+pids +memory", "+nosuch +memory", "+memory +nosuch", "+memory", "-memory", "+pids"]),
            ("kill", "w"),
        ("state", "w"), ("write", f"a/{SUBTREE}", "+memory"), ("read", f"a/{SUBTREE}"), ("wait", "w")))  # fmt: skip
    yield Case("processes in the root do not hinder it", "v2", (
        ("fork", "w"), ("write", "cgroup.procs", "$w"), *each_read_back(SUBTREE, ["+memory +io", "+cpu",
        "-memory"])))  # fmt: skip
    yield Case("turning all on at once", "v2", (
        ("mkdir", "a"), ("mkdir", "a/b"), *each_read_back(SUBTREE, ["+cpuset +cpu +io +memory +hugetlb +pids +rdma"]),
        *each_read_back(f"a/{SUBTREE}", ["+cpuset +cpu +io +memory +hugetlb +pids +rdma"]),
        ("read", "a/b/cgroup.controllers"),
        *each_read_back(SUBTREE, ["-cpuset -cpu -io -memory -hugetlb -pids -rdma"]),
        *each_read_back(f"a/{SUBTREE}", ["-cpuset -cpu -io -memory -hugetlb -pids -rdma"]),
        *each_read_back(SUBTREE, ["-cpuset -cpu -io -memory -hugetlb -pids -rdma"])))  # fmt: skip


def _tree_limits() -> Iterator[Case]:
    depth, descendants = "cgroup.max.depth", "cgroup.max.descendants"
    yield Case("mkdir deeper than cgroup.max.depth", "v2", (
        ("mkdir", "a"), ("write", f"a/{depth}", "0"), ("mkdir", "a/b"), ("mkdir", "a/cgroup.procs"),
        ("write", f"a/{depth}", "1"),
        ("mkdir", "a/b"), ("mkdir", "a/b/c"), ("mkdir", "a/x"), ("write", f"a/b/{depth}", "5"), ("mkdir", "a/b/c"),
        ("write", f"a/{depth}", "max"), ("mkdir", "a/b/c"), ("write", f"a/{depth}", "0"), ("mkdir", "a/b/d"),
        ("rmdir", "a/b/c"),
        ("write", depth, "1"), ("mkdir", "y"), ("mkdir", "y/z"), ("write", depth, "0"), ("mkdir", "z"),
        ("write", depth, "max")))  # fmt: skip
    yield Case("mkdir more than cgroup.max.descendants", "v2", (
        ("mkdir", "a"), ("write", f"a/{descendants}", "0"), ("mkdir", "a/b"), ("write", f"a/{descendants}", "2"),
        ("mkdir", "a/b"),
        ("mkdir", "a/b/c"), ("mkdir", "a/d"), ("mkdir", "a/b/c/d"), ("mkdir", "a/b"), ("mkdir", "a/cgroup.procs"),
        ("mkdir", "a/x\ny"),
        ("mkdir", "a/no/x"), ("rmdir", "a/b/c"), ("mkdir", "a/d"), ("write", f"a/{descendants}", "1"),
        ("read", f"a/{descendants}"),
        ("rmdir", "a/d"), ("mkdir", "a/e"), ("write", descendants, "1"), ("mkdir", "z"), ("write", descendants, "3"),
        ("mkdir", "z"),
        ("mkdir", "zz"), ("write", descendants, "max"), ("mkdir", "zz")))  # fmt: skip


def _stat_and_events() -> Iterator[Case]:
    yield Case("cgroup.stat counts descendants and controllers", "v2", (
        ("read", "cgroup.stat"), ("mkdir", "a"), ("read", "a/cgroup.stat"), ("mkdir", "a/b"), ("mkdir", "a/b/c"),
        ("mkdir", "a/d"),
        ("read", "a/cgroup.stat"), ("read", "cgroup.stat"), ("write", SUBTREE, "+pids +memory"),
        ("read", "a/cgroup.stat"),
        ("write", f"a/{SUBTREE}", "+pids"), ("read", "a/cgroup.stat"), ("read", "a/b/cgroup.stat"),
        ("read", "cgroup.stat"),
        ("rmdir", "a/d"), ("settle", 300), ("read", "a/cgroup.stat")))  # fmt: skip
    tree = (("mkdir", "a"), ("mkdir", "a/b"), ("fork", "w"))
    yield Case("populated goes up the tree", "v2", (
        *tree, ("read", "a/cgroup.events"), ("write", "a/b/cgroup.procs", "$w"), ("read", "a/cgroup.events"),
        ("read", "a/b/cgroup.events"),
        ("kill", "w"), ("until", "a/cgroup.events", "populated 0"), ("read", "a/b/cgroup.events"),
        ("read", "a/b/cgroup.procs"),
        ("rmdir", "a/b"), ("rmdir", "a"), ("proc", "w", "cgroup"), ("mkdir", "a"), ("proc", "w", "cgroup"),
        ("wait", "w")))  # fmt: skip
    rest = ("settle", 30)  # the kernel notifies at most every 10 ms and puts the rest off
    yield Case("cgroup.events can be polled", "v2", (
        *tree, ("open", "h", "a/cgroup.events"), ("poll", "h", "IN|PRI"), ("fread", "h", 100), ("poll", "h", "IN|PRI"),
        ("write", "a/b/cgroup.procs", "$w"), rest, ("poll", "h", "IN|PRI"), ("poll", "h", "IN|PRI"),
        ("fpread", "h", 100, 0), ("poll", "h", "IN|PRI"),
        ("write", "a/cgroup.procs", "$w"), rest, ("poll", "h", "IN|PRI"), ("write", "cgroup.procs", "$w"), rest,
        ("poll", "h", "IN|PRI"),
        ("lseek", "h", 0), ("poll", "h", "IN|PRI"), ("fread", "h", 100), ("poll", "h", "IN|PRI")))  # fmt: skip
    yield Case("inotify sees cgroup.events change", "v2", (
        *tree, ("inotify", "i"), ("watch", "i", "a/cgroup.events", 2), ("watch", "i", "a", 0x3C2),
        ("write", "a/b/cgroup.procs", "$w"), rest,
        ("events", "i"), ("write", "cgroup.procs", "$w"), rest, ("events", "i"), ("open", "f", "a/cgroup.freeze",
        "O_WRONLY"), ("events", "i"), ("fwrite", "f", "1"), rest, ("events", "i"),
        ("mkdir", "a/c"), ("events", "i"), ("rmdir", "a/c"), ("events", "i")))  # fmt: skip
    yield Case("cgroup.kill kills the subtree", "v2", (
        *tree, ("fork", "x"), ("write", "a/b/cgroup.procs", "$w"), ("write", "a/cgroup.procs", "$x"),
        ("write", "a/b/cgroup.kill", "2"),
        ("write", "a/b/cgroup.kill", "1"), ("until", "a/b/cgroup.events", "populated 0"), ("wait", "w"),
        ("state", "x"), ("read", "a/cgroup.events"),
        ("write", "a/cgroup.kill", " 0x1 "), ("until", "a/cgroup.events", "populated 0"), ("wait", "x"),
        ("write", "a/cgroup.kill", "1"),
        ("write", "cgroup.kill", "1")))  # fmt: skip


def _pressure_switch() -> Iterator[Case]:
    files = ("cpu.pressure", "memory.pressure", "io.pressure", "irq.pressure")
    yield Case("cgroup.pressure takes the pressure files away", "v2", (
        ("mkdir", "a"), ("mkdir", "a/b"), ("open", "h", "a/cpu.pressure"), ("fread", "h", 5),
        ("write", "a/cgroup.pressure", "0"),
        ("read", "a/cgroup.pressure"), ("listdir", "a"), *(("read", f"a/{f}") for f in files),
        *(("read", f"a/b/{f}") for f in files),
        ("fpread", "h", 100, 0), ("mkdir", "a/c"), ("read", "a/c/cgroup.pressure"), ("read", "a/c/cpu.pressure"),
        ("write", "a/cgroup.pressure", "0"), ("mkdir", "a/cpu.pressure"), ("write", "a/cgroup.pressure", "1"),
        ("listdir", "a"),
        ("read", "a/cgroup.pressure"), ("rmdir", "a/cpu.pressure"), ("write", "a/cgroup.pressure", "1"),
        ("listdir", "a"),
        ("write", "a/cgroup.pressure", "0"), ("write", "a/cgroup.pressure", "1"), ("listdir", "a"),
        ("fpread", "h", 100, 0), ("chmod", "a/cpu.pressure", "0600"), ("write", "a/cgroup.pressure", "0"),
        ("write", "a/cgroup.pressure", "1"),
        ("stat", "a/cpu.pressure")))  # fmt: skip
    yield Case("cgroup.pressure of the root", "v2", (
        ("read", "cgroup.pressure"), *each_read_back("cgroup.pressure", ["0"]), ("listdir", "."),
        *each_read_back("cgroup.pressure", ["2", "1"]),
        ("listdir", ".")))  # fmt: skip
