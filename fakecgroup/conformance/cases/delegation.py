"""What uid 1000 may do: with nothing, with a delegated subtree, across subtrees."""

from __future__ import annotations

from collections.abc import Iterator

from fakecgroup.conformance.case import Case


def cases() -> Iterator[Case]:
    for layout, p, files in (
        ("v2", "", ("cgroup.procs", "cgroup.threads", "cgroup.subtree_control")),
        ("v1", "pids/", ("cgroup.procs", "tasks")),
        ("v1", "systemd/", ("cgroup.procs", "tasks")),
    ):
        where = f" ({p.rstrip('/')})" if p else ""
        yield from _everywhere(layout, p, files, where)
    yield from _v2()
    yield from _v1()


def _everywhere(layout: str, p: str, files: tuple[str, ...], where: str) -> Iterator[Case]:
    a, f = f"{p}a", f"{p}a/cgroup.procs"
    make = (("mkdir", a), ("mkdir", f"{p}a/c"))
    user = ("as", 1000, 1000)
    yield Case(f"a stranger may only look{where}", layout, (
        *make, user, ("mkdir", f"{p}x"), ("mkdir", f"{p}a/x"), ("mkdir", a), ("mkdir", f"{p}no/x"),
        ("rmdir", f"{p}a/c"), ("rmdir", f"{p}no"),
        ("unlink", f), ("unlink", f"{p}no"), ("rename", a, f"{p}x"), ("rename", a, a), ("rename", f, f),
        ("rename", f"{p}no", f"{p}x"),
        ("creat", f"{p}a/x"), ("creat", f), ("mknod", f"{p}a/x", "0100644"), ("mknod", f"{p}a/x", "020644"),
        ("symlink", "y", f"{p}a/x"),
        ("link", f, f"{p}a/x"), ("read", f), ("listdir", a), ("write", f, "0"), ("open", "h", f, "O_RDWR"),
        ("chmod", a, "0777"), ("chmod", f, "0777"),
        ("chown", a, 1000, 1000), ("chown", f, 1000, -1), ("chown", f, -1, -1), ("utimens", f, 1, 1),
        ("truncate", f, 0), ("access", f, "R"),
        ("access", f, "W"), ("access", a, "X"), ("access", a, "W"), ("stat", a), ("mkdir", f"{p}a/x\ny")))  # fmt: skip
    yield Case(f"a closed directory{where}", layout, (
        *make, ("chmod", a, "0700"), user, ("listdir", a), ("stat", f), ("read", f), ("mkdir", f"{p}a/x"),
        ("stat", f"{p}a/c"), ("stat", a), ("as", 0, 0),
        ("chmod", a, "0711"), user, ("listdir", a), ("read", f), ("as", 0, 0), ("chmod", a, "0744"), user,
        ("listdir", a), ("read", f)))  # fmt: skip
    yield Case(f"root is held by no mode{where}", layout, (
        *make, ("chmod", a, "0"), ("chmod", f, "0"), ("listdir", a), ("read", f), ("write", f, "0"),
        ("mkdir", f"{p}a/x"), ("write", f"{p}cgroup.procs", "0"),
        ("rmdir", f"{p}a/x")))  # fmt: skip
    yield Case(f"an owner below{where}", layout, (
        *make, ("chown", a, 1000, 1000), user, ("mkdir", f"{p}a/u"), ("stat", f"{p}a/u"),
        ("stat", f"{p}a/u/cgroup.procs"), ("listdir", f"{p}a/u"),
        ("chmod", f"{p}a/u", "0700"), ("chmod", f"{p}a/u/cgroup.procs", "0600"), ("chown", f"{p}a/u", 1001, -1),
        ("chown", f"{p}a/u", -1, 1000),
        ("chown", f"{p}a/u", -1, 1001), ("rmdir", f"{p}a/c"), ("rmdir", f"{p}a/u"), ("rmdir", a), ("write", f, "0"),
        ("stat", f), ("creat", f"{p}a/n"),
        ("mknod", f"{p}a/n", "010644"), ("symlink", "x", f"{p}a/n"), ("unlink", f), ("rename", f"{p}a/c", f"{p}a/d"),
        ("mkdir", f"{p}a/v"),
        ("rename", f"{p}a/v", f"{p}a/w"), ("as", 1000, 1001), ("mkdir", f"{p}a/g"), ("stat", f"{p}a/g"), ("as", 0, 0),
        ("mkdir", f"{p}a/r"),
        ("stat", f"{p}a/r"), user, ("rmdir", f"{p}a/r")))  # fmt: skip
    yield Case(f"a group that may write{where}", layout, (
        *make, ("chown", a, 0, 1000), ("chmod", a, "0775"), ("chown", f, 0, 1000), ("chmod", f, "0664"), user,
        ("mkdir", f"{p}a/u"), ("stat", f"{p}a/u"),
        ("open", "h", f, "O_WRONLY"), ("as", 1000, 2000), ("mkdir", f"{p}a/v"), ("open", "h", f,
        "O_WRONLY")))  # fmt: skip
    yield Case(f"a sticky directory{where}", layout, (
        *make, ("chmod", a, "01777"), user, ("mkdir", f"{p}a/u"), ("rmdir", f"{p}a/c"),
        ("rename", f"{p}a/c", f"{p}a/d"), ("as", 1001, 1001),
        ("rmdir", f"{p}a/u"), ("rename", f"{p}a/u", f"{p}a/v"), ("mkdir", f"{p}a/w"), user, ("rmdir", f"{p}a/u"),
        ("as", 0, 0), ("rmdir", f"{p}a/w")))  # fmt: skip
    own = tuple(("chown", f"{p}{d}/{file}", 1000, 1000) for d in ("a", "a/c", "b") for file in files)
    two = (
        *make,
        ("mkdir", f"{p}a/d"),
        ("mkdir", f"{p}b"),
        *(("chown", f"{p}{d}", 1000, 1000) for d in ("a", "a/c", "b")),
        *own,
    )
    for file in files[:2]:
        yield Case(f"moving a process of one's own with {file}{where}", layout, (
            *two, user, ("fork", "w"), ("write", f"{p}a/{file}", "$w"), ("write", f"{p}a/c/{file}", "$w"),
            ("as", 0, 0), ("write", f"{p}a/cgroup.procs", "$w"),
            user, ("write", f"{p}a/c/{file}", "$w"), ("read", f"{p}a/c/cgroup.procs"),
            ("write", f"{p}a/{file}", "$w"), ("write", f"{p}b/{file}", "$w"),
            ("write", f"{p}a/d/{file}", "$w"), ("write", f"{p}{file}", "$w"), ("read", f"{p}a/cgroup.procs"),
            ("write", f"{p}a/c/{file}", "999999"),
            ("write", f"{p}a/c/{file}", "abc"), ("write", f"{p}b/{file}", "999999"),
            ("in", "w", "write", f"{p}a/c/{file}", "0"),
            ("in", "w", "write", f"{p}b/{file}", "0")))  # fmt: skip
        yield Case(f"moving a process of someone else with {file}{where}", layout, (
            *two, ("fork", "w"), ("write", f"{p}a/cgroup.procs", "$w"), user, ("write", f"{p}a/c/{file}", "$w"),
            ("read", f"{p}a/c/cgroup.procs"),
            ("write", f"{p}a/c/{file}", "1"), ("write", f"{p}a/c/{file}", "0"), ("as", 0, 0),
            ("write", f"{p}a/cgroup.procs", "0"), user,
            ("write", f"{p}a/c/{file}", "0"), ("read", f"{p}a/c/cgroup.procs")))  # fmt: skip
    yield Case(f"a handle that root opened{where}", layout, (
        *two, ("fork", "w"), ("open", "h", f"{p}b/cgroup.procs", "O_WRONLY"), user, ("fwrite", "h", "$w"),
        ("read", f"{p}b/cgroup.procs"),
        ("open", "u", f"{p}a/c/cgroup.procs", "O_WRONLY"), ("as", 0, 0), ("fwrite", "u", "$w"),
        ("read", f"{p}a/c/cgroup.procs"),
        ("fwrite", "h", "$w")))  # fmt: skip
    yield Case(f"starting in another cgroup as a user{where}", layout, (
        *two, user, ("clone_into", "x", f"{p}a"), ("as", 0, 0), ("write", f"{p}a/cgroup.procs", "0"), user,
        ("clone_into", "y", f"{p}a/c"),
        ("clone_into", "z", f"{p}b"), ("clone_into", "q", f"{p}a/d")))  # fmt: skip


def _v2() -> Iterator[Case]:
    user = ("as", 1000, 1000)
    delegated = (
        ("write", "cgroup.subtree_control", "+pids +memory +cpu"), ("mkdir", "a"), ("chown", "a", 1000, 1000),
        ("chown", "a/cgroup.procs", 1000, 1000),
        ("chown", "a/cgroup.subtree_control", 1000, 1000), ("chown", "a/cgroup.threads", 1000, 1000), ("fork", "w"),
        ("write", "a/cgroup.procs", "$w"),
    )  # fmt: skip
    yield Case("a delegated subtree", "v2", (
        *delegated, user, ("write", "a/pids.max", "5"), ("write", "a/cgroup.freeze", "1"),
        ("write", "a/cgroup.type", "threaded"), ("write", "a/cgroup.kill", "1"),
        ("write", "a/memory.reclaim", "0"), ("read", "a/memory.reclaim"), ("mkdir", "a/u"),
        ("write", "a/u/cgroup.procs", "$w"),
        ("write", "a/cgroup.subtree_control", "+pids +memory"), ("read", "a/cgroup.subtree_control"),
        ("write", "a/u/pids.max", "5"), ("stat", "a/u/pids.max"),
        ("write", "a/u/memory.max", "1G"), ("write", "a/u/cgroup.freeze", "1"), ("write", "a/u/cgroup.freeze", "0"),
        ("write", "a/cgroup.subtree_control", "+io"),
        ("write", "a/u/cgroup.subtree_control", "+pids"), ("write", "cgroup.procs", "$w"), ("rmdir", "a/u"),
        ("write", "a/u/cgroup.kill", "1"),
        ("until", "a/u/cgroup.events", "populated 0"), ("rmdir", "a/u"), ("rmdir", "a")))  # fmt: skip
    yield Case("files of a controller belong to the directory's maker", "v2", (
        ("mkdir", "a"), ("chown", "a", 1000, 1000), user, ("mkdir", "a/u"), ("as", 0, 0), ("mkdir", "a/r"),
        ("write", "cgroup.subtree_control", "+pids"),
        ("stat", "a/pids.max"), ("write", "a/cgroup.subtree_control", "+pids"), ("stat", "a/u/pids.max"),
        ("stat", "a/r/pids.max"),
        ("chown", "a/u", 7, 7), ("write", "a/cgroup.subtree_control", "-pids"), ("write", "a/cgroup.subtree_control",
        "+pids"), ("stat", "a/u/pids.max"),
        ("stat", "a/u/cgroup.procs")))  # fmt: skip
    yield Case("the common ancestor's cgroup.procs decides", "v2", (
        ("mkdir", "p"), ("mkdir", "p/x"), ("mkdir", "p/y"), ("fork", "w"), ("write", "p/x/cgroup.procs", "$w"),
        ("chown", "p/y/cgroup.procs", 1000, -1), user,
        ("write", "p/y/cgroup.procs", "$w"), ("as", 0, 0), ("chown", "p/cgroup.procs", 1000, -1), user,
        ("write", "p/y/cgroup.procs", "$w"), ("as", 0, 0),
        ("write", "p/x/cgroup.procs", "$w"), ("chown", "p/cgroup.procs", 0, -1), ("chmod", "p/cgroup.procs", "0666"),
        user, ("write", "p/y/cgroup.procs", "$w"),
        ("as", 0, 0), ("write", "p/x/cgroup.procs", "$w"), ("chmod", "p/cgroup.procs", "0422"), user,
        ("write", "p/y/cgroup.procs", "$w"), ("as", 0, 0),
        ("chmod", "p/cgroup.procs", "0644"), ("chmod", "p", "0"), user, ("write", "p/y/cgroup.procs",
        "$w")))  # fmt: skip


def _v1() -> Iterator[Case]:
    user = ("as", 1000, 1000)
    yield Case("files of a v1 group keep their own owner", "v1", (
        ("mkdir", "pids/a"), ("chown", "pids/a", 1000, 1000), user, ("write", "pids/a/pids.max", "5"),
        ("mkdir", "pids/a/u"), ("write", "pids/a/u/pids.max", "5"),
        ("stat", "pids/a/u/pids.max"), ("stat", "pids/a/pids.max"), ("write", "pids/a/u/tasks", "0"),
        ("write", "pids/a/u/notify_on_release", "1")))  # fmt: skip
    yield Case("release_agent and users", "v1", (
        ("chown", "systemd/release_agent", 1000, 1000), user, ("write", "systemd/release_agent", "/x"),
        ("read", "systemd/release_agent"), ("as", 0, 0),
        ("write", "systemd/release_agent", "/y"), ("read", "systemd/release_agent")))  # fmt: skip
