"""The v1 core files: notify_on_release, clone_children, release_agent, sane_behavior."""

from __future__ import annotations

from collections.abc import Iterator

from fakecgroup.conformance.case import Case
from fakecgroup.conformance.cases.file_sets import HIERARCHIES_V1
from fakecgroup.conformance.cases.values import each_read_back, padded, parser_cases


def cases() -> Iterator[Case]:
    for hierarchy in ("systemd", "cpu,cpuacct"):
        where = f" ({hierarchy})"
        make = (("mkdir", f"{hierarchy}/a"),)
        for name in ("notify_on_release", "cgroup.clone_children"):
            for case in parser_cases("v1", f"{hierarchy}/a/{name}", make, "1", ["0", "1", "2", "0"]):
                yield Case(case.name + where, "v1", case.ops)
            top, a, b, c = (f"{hierarchy}/{d}{name}" for d in ("", "a/", "a/b/", "a/c/"))
            yield Case(f"{name} is inherited once{where}", "v1", (
                ("read", top), *make, ("read", a), ("write", a, "1"), ("mkdir", f"{hierarchy}/a/b"), ("read", b),
                ("write", a, "0"), ("read", b),
                ("mkdir", f"{hierarchy}/a/c"), ("read", c), *each_read_back(top, ["1", "0", "5", "abc", "-1", "\n",
                "1"]),
                ("mkdir", f"{hierarchy}/z"), ("read", f"{hierarchy}/z/{name}")))  # fmt: skip
        agent, sane = f"{hierarchy}/release_agent", f"{hierarchy}/cgroup.sane_behavior"
        values = ["/bin/true", "", "\n", "  /a b  ", "/x\n", "/x\ny", "\t/x\t\n", "rel", "\0", "/x\0y", " ", "0",
            padded("/p", "q", 4094),
                  padded("/p", "q", 4095), padded("/p", "q", 4096), padded("/p", "q", 4097), padded("/p", " ", 4095),
                  padded("/p", " ", 4096),
                  "/caf\u00e9"]  # fmt: skip
        yield Case(f"release_agent takes any text{where}", "v1", (("read", agent), *each_read_back(agent, values)))
        yield Case(
            f"cgroup.sane_behavior is fixed{where}",
            "v1",
            (("read", sane), *each_read_back(sane, ["", "0", "1", "abc"])),
        )
        yield Case(f"release_agent and sane_behavior are the root's alone{where}", "v1", (
            *make, ("read", f"{hierarchy}/a/release_agent"), ("read", f"{hierarchy}/a/cgroup.sane_behavior"),
            ("write", f"{hierarchy}/a/release_agent", "/x"), ("write", agent, "/x"), ("read", "pids/release_agent"),
            ("stat", agent)))  # fmt: skip
        yield Case(f"cgroup.event_control outside memory{where}", "v1", (
            *make, ("stat", f"{hierarchy}/a/cgroup.event_control"), ("write", f"{hierarchy}/a/cgroup.event_control",
            "1 2")))  # fmt: skip
    yield Case("/proc names the controllers of every hierarchy", "v1", (
        ("fork", "w"), *(op for hierarchy in HIERARCHIES_V1 for op in (
            ("mkdir", f"{hierarchy}/a"), *((("write", "cpuset/a/cpuset.cpus", "0"), ("write", "cpuset/a/cpuset.mems",
            "0")) if hierarchy == "cpuset" else ()), ("write", f"{hierarchy}/a/tasks", "$w"))),
        ("proc", "w", "cgroup")))  # fmt: skip
    look = (("read", "pids/a/tasks"), ("read", "pids/b/tasks"), ("read", "pids/tasks"), ("read", "pids/a/pids.current"))
    yield Case("threads stay where they are when their leader moves alone", "v1", (
        ("mkdir", "pids/a"), ("mkdir", "pids/b"), ("fork", "w"), ("in", "w", "thread", "t"),
        ("write", "pids/a/tasks", "$w"), *look, ("in", "t", "thread", "u"), ("in", "w", "thread", "v"), *look,
        ("write", "pids/b/cgroup.procs", "$t"), *look, ("write", "pids/tasks", "$w"), ("in", "w", "thread", "x"), *look,
        ("in", "u", "exit"), ("settle", 20), *look))  # fmt: skip
    yield Case("renames between hierarchies and to no name", "v1", (
        ("mkdir", "pids/a"), *(("rename", source, target, flags) for source in ("pids/a", "pids/no", "pids/a/..")
        for target in ("pids/a/..", "pids/no/..", "devices/..", "devices/b", "pids/b/") for flags in (1, 2, 0)),
        ("listdir", "pids")))  # fmt: skip
