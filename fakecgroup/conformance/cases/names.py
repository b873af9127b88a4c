"""Names of cgroups: which bytes, how long, how deep."""

from __future__ import annotations

from collections.abc import Iterator

from fakecgroup.conformance.case import Case, bytes_data

_NAMES = [
    "plain", "with space", " leading", "trailing ", "tab\tin", "cr\rin", "back\\slash", "quote'", 'double"', "*", "?",
    "[a]", "#hash",
    "$dollar", "%s", "~", "-dash", "--", "+plus", "=", "a=b", "a:b", "a,b", "a;b", "a|b", "a&b", "a@b.service",
    "\u00e9", "\u4e2d\u6587",
    "\U0001f600", ".hidden", "...", "..x", ".x.", "cgroup.x", "cgroup.new", "cgroup.", "memory.max", "cpu.max", "cpu",
    "tasks2", "user.slice",
    "1", "0", "-1", bytes_data(b"\xff"), bytes_data(b"\xfe\xff"), bytes_data(b"\x01"), bytes_data(b"\x7f"), "\x1b[0m",
    "new\nline", "\n",
    "end\n", "\nstart",
]  # fmt: skip


def cases() -> Iterator[Case]:
    for layout, p in (("v2", ""), ("v1", "pids/"), ("v1", "cpu,cpuacct/")):
        where = f" ({p.rstrip('/')})" if p else ""
        yield Case(f"bytes in names{where}", layout, (
            *(op for name in _NAMES for op in (("mkdir", p + name), ("stat", f"{p}{name}/cgroup.procs"))),
            ("listdir", p or "."),
            *(("rmdir", p + name) for name in _NAMES)))  # fmt: skip
        yield Case(f"strange names in the order of readdir{where}", layout, (
            *(("mkdir", p + name) for name in _NAMES), ("listraw", p or ".")))  # fmt: skip
        yield Case(f"length of names{where}", layout, tuple(
            op for size in (1, 100, 254, 255, 256, 257, 1000, 4000) for name in ["n" * size]
            for op in (("mkdir", p + name), ("stat", p + name), ("read", f"{p}{name}/cgroup.procs"),
                ("rmdir", p + name))))  # fmt: skip
        yield Case(f"names with many bytes per letter{where}", layout, tuple(
            op for name in ("\u00e9" * 127, "\u00e9" * 128, "\U0001f600" * 63, "\U0001f600" * 64)
            for op in (("mkdir", p + name), ("rmdir", p + name))))  # fmt: skip
        deep = [p + "/".join(["d"] * depth) for depth in range(1, 41)]
        yield Case(f"forty levels deep{where}", layout, (
            *(("mkdir", path) for path in deep), ("read", f"{deep[-1]}/cgroup.procs"), ("stat", deep[-1]),
            ("fork", "w"),
            ("write", f"{deep[-1]}/cgroup.procs", "$w"), ("proc", "w", "cgroup"), ("kill", "w"), ("wait", "w"),
            *(("rmdir", path) for path in reversed(deep))))  # fmt: skip
        yield Case(f"a path longer than a path may be{where}", layout, (
            ("mkdir", p + "l" * 200), *(("mkdir", p + "/".join(["l" * 200] * n)) for n in range(2, 22)),
            *(("stat", p + "/".join(["l" * 200] * n)) for n in (18, 19, 20, 21))))  # fmt: skip
        yield Case(f"directories come before last names{where}", layout, (
            ("mkdir", f"{p}a"), *(op for way in ("no", "a", "a/cgroup.procs", "a/no") for last in (".", "..", "../x")
            for path in (f"{p}{way}/{last}",) for op in (
                ("mkdir", path), ("rmdir", path), ("unlink", path), ("creat", path), ("symlink", "t", path),
                ("link", f"{p}a", path), ("mknod", path, "0100644"), ("rename", path, f"{p}no/x"),
                ("rename", f"{p}a", path), ("rename", f"{p}no/x", path, 8), ("rename", path, f"{p}a/x", 3),
                ("rmdir", f"{p}x")))))  # fmt: skip
        yield Case(f"no way through a closed directory{where}", layout, (
            ("mkdir", f"{p}a"), ("mkdir", f"{p}a/b"), ("chmod", f"{p}a", "0700"), ("as", 1000, 1000),
            *(op for last in ("", "/", "/.", "/..", "/../a", "/b", "/no") for path in (f"{p}a{last}",) for op in (
                ("stat", path), ("mkdir", path), ("rmdir", path), ("unlink", path), ("creat", path), ("listdir", path),
                ("rename", path, f"{p}x"), ("rename", f"{p}x", path))), ("as", 0, 0)))  # fmt: skip
        yield Case(f"missing names of any length{where}", layout, tuple(
            (op, p + "n" * size) for size in (255, 256, 300, 4200) for op in ("stat", "rmdir", "read", "unlink",
            "creat", "listdir")))  # fmt: skip
        yield Case(f"rename to strange names{where}", layout, (
            ("mkdir", f"{p}a"), *(op for name in ("a b", "x\ny", "n" * 255, "n" * 256, "n" * 1000, "\u00e9", "...",
            "a:b")
            for op in (("rename", f"{p}a", p + name), ("rename", p + name, f"{p}a")))))  # fmt: skip
    yield Case("a name of a file that comes later", "v2", (
        ("mkdir", "a"), ("mkdir", "a/cpu.max"), ("mkdir", "a/pids.max"), ("write", "cgroup.subtree_control", "+cpu"),
        ("read", "cgroup.subtree_control"), ("listdir", "a"), ("write", "cgroup.subtree_control", "+memory +pids"),
        ("read", "cgroup.subtree_control"), ("rmdir", "a/cpu.max"), ("write", "cgroup.subtree_control", "+cpu"),
        ("read", "cgroup.subtree_control"), ("mkdir", "a/cpu.max"), ("listdir", "a"), ("rmdir", "a/pids.max"),
        ("write", "cgroup.subtree_control", "+pids"), ("listdir", "a")))  # fmt: skip
    yield Case("/proc shows names as they are", "v2", (
        ("fork", "w"), *(op for name in ("a b", "back\\slash", "\u00e9", bytes_data(b"\xff"), "tab\tin", "a:b",
        "(deleted)")
        for op in (("mkdir", name), ("write", f"{name}/cgroup.procs", "$w"), ("proc", "w", "cgroup")))))  # fmt: skip
