"""When a v1 hierarchy's release_agent runs, and with what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fakecgroup.conformance.case import Case
from fakecgroup.conformance.cases.file_sets import HIERARCHIES_V1

Ops = tuple[tuple[Any, ...], ...]


def cases() -> Iterator[Case]:
    for hierarchy in ("systemd", "pids"):
        for name, ops in _everywhere(hierarchy):
            yield Case(f"{name} ({hierarchy})", "v1", ops)
    for hierarchy in HIERARCHIES_V1:
        fill = ("cpuset.cpus", "cpuset.mems") if hierarchy == "cpuset" else ()
        yield Case(f"a release agent of {hierarchy}", "v1", (
            *_watched(hierarchy), *(("write", f"{hierarchy}/a/{file}", "0") for file in fill), ("fork", "w"),
            ("write", f"{hierarchy}/a/tasks", "$w"), ("kill", "w"), ("releases", 1)))  # fmt: skip
    yield from _several_hierarchies()
    yield Case("releases are v1's", "hybrid", (
        *_watched("pids"), ("mkdir", "unified/a"), ("stat", "unified/a/notify_on_release"),
        ("stat", "unified/release_agent"), ("fork", "w"), ("write", "unified/a/cgroup.procs", "$w"),
        ("write", "pids/a/tasks", "$w"), ("write", "unified/cgroup.procs", "$w"), ("releases", 0),
        ("write", "unified/a/cgroup.procs", "$w"), ("kill", "w"), ("releases", 1)))  # fmt: skip


def _watched(hierarchy: str, name: str = "a") -> Ops:
    """A cgroup whose release the agent is told."""
    return (
        ("mkdir", f"{hierarchy}/{name}"),
        ("write", f"{hierarchy}/{name}/notify_on_release", "1"),
        ("write", f"{hierarchy}/release_agent", "$agent"),
    )


def _everywhere(h: str) -> Iterator[tuple[str, Ops]]:
    watched = _watched(h)
    agent, a, b = f"{h}/release_agent", f"{h}/a", f"{h}/a/b"
    enter, leave = ("write", f"{a}/tasks", "$w"), ("write", f"{h}/tasks", "$w")

    yield "the release agent runs when the last task leaves", (
        *watched, ("releases", 0), ("fork", "w"), ("fork", "v"), enter, ("write", f"{a}/cgroup.procs", "$v"),
        ("releases", 0), leave, ("releases", 0), ("write", f"{h}/cgroup.procs", "$v"), ("releases", 1),
        enter, leave, ("releases", 1), enter, enter, ("releases", 0), leave, leave, ("releases", 1))  # fmt: skip
    yield "the release agent runs when the last task exits", (
        *watched, ("fork", "w"), ("fork", "v"), enter, ("write", f"{a}/tasks", "$v"), ("in", "w", "exit"),
        ("releases", 0), ("wait", "w"), ("releases", 0), ("kill", "v"), ("releases", 1), ("state", "v"), ("wait", "v"),
        ("releases", 0), ("fork", "w"), enter, ("kill", "w"), ("releases", 1), ("rmdir", a), ("releases", 0),
        ("wait", "w"), ("releases", 0))  # fmt: skip
    yield "what the release agent is", (
        *watched, ("fork", "w"), ("in", "w", "umask", "077"), enter, leave, ("releases", 1, "process"),
        ("in", "w", "as", 1000, 1000), enter, ("in", "w", "exit"), ("releases", 1, "process"))  # fmt: skip
    yield "notify_on_release decides when the last task leaves", (
        ("mkdir", a), ("write", agent, "$agent"), ("fork", "w"), enter, leave, ("releases", 0),
        ("write", f"{a}/notify_on_release", "1"), ("releases", 0), enter, ("write", f"{a}/notify_on_release", "0"),
        leave, ("releases", 0), enter, ("write", f"{a}/notify_on_release", "1"), leave, ("releases", 1),
        ("write", f"{a}/notify_on_release", "1"), ("releases", 0), ("write", agent, "$agent"),
        ("releases", 0))  # fmt: skip
    yield "a cgroup is released with its last child", (
        *watched, ("mkdir", b), ("rmdir", b), ("releases", 1), ("mkdir", b), ("mkdir", f"{a}/c"), ("rmdir", b),
        ("releases", 0), ("rmdir", f"{a}/c"), ("releases", 1), ("fork", "w"), enter, ("mkdir", b), ("rmdir", b),
        ("releases", 0), leave, ("releases", 1), ("write", f"{a}/notify_on_release", "0"), ("mkdir", b),
        ("write", f"{b}/notify_on_release", "1"), ("rmdir", b), ("releases", 0), ("rmdir", a),
        ("releases", 0))  # fmt: skip
    yield "a cgroup with children is not released", (
        *watched, ("mkdir", b), ("fork", "w"), ("read", f"{b}/notify_on_release"), enter, leave, ("releases", 0),
        ("write", f"{b}/tasks", "$w"), leave, ("releases", 1), ("rmdir", b), ("releases", 1), enter, leave,
        ("releases", 1))  # fmt: skip
    yield "moves between cgroups release the one that was left", (
        *watched, ("mkdir", b), ("mkdir", f"{a}/c"), ("fork", "w"), enter, ("write", f"{b}/tasks", "$w"),
        ("releases", 0), ("write", f"{a}/c/tasks", "$w"), ("releases", 1), enter, ("releases", 1),
        ("rmdir", b), ("rmdir", f"{a}/c"), ("releases", 0), ("mkdir", f"{h}/z"), ("write", f"{h}/z/tasks", "$w"),
        ("releases", 1), ("kill", "w"), ("releases", 0))  # fmt: skip
    yield "threads and releases", (
        *watched, *_watched(h, "z"), ("fork", "w"), ("in", "w", "thread", "t"), ("in", "w", "thread", "u"),
        ("write", f"{a}/cgroup.procs", "$w"), leave, ("releases", 0), ("write", f"{h}/tasks", "$t"), ("releases", 0),
        ("write", f"{h}/tasks", "$u"), ("releases", 1), enter, ("write", f"{h}/z/tasks", "$t"), ("in", "t", "exit"),
        ("settle", 20), ("releases", 1), leave, ("releases", 1), ("write", f"{a}/cgroup.procs", "$w"),
        ("write", f"{h}/z/cgroup.procs", "$u"), ("releases", 1), ("kill", "w"), ("releases", 1))  # fmt: skip
    yield "children keep a cgroup from its release", (
        *watched, ("fork", "w"), enter, ("in", "w", "fork", "c"), leave, ("releases", 0), ("kill", "c"),
        ("releases", 1))  # fmt: skip
    yield "what can be a release agent", (
        *watched, ("fork", "w"), *(op for text in ("", "\n", "$agent", "/no/such", "$agent x", "  $agent\t\n", "/",
        "$agent/", "$agent\nx", "$agent\0x") for op in (("write", agent, text), enter, leave,
        ("releases", int(text in ("", "  $agent\t\n", "$agent", "$agent\0x"))))),
        ("write", agent, "/no/such"), enter, leave, ("releases", 0), ("write", agent, "$agent"), ("releases", 0), enter,
        leave, ("releases", 1))  # fmt: skip
    yield "a release is told with the name of now", (
        *watched, ("mkdir", b), ("fork", "w"), ("write", f"{b}/tasks", "$w"), ("rename", a, f"{h}/z"),
        ("write", f"{h}/tasks", "$w"), ("releases", 1), ("rename", f"{h}/z/b", f"{h}/z/c"), ("releases", 0),
        ("rmdir", f"{h}/z/c"), ("releases", 1))  # fmt: skip
    names = ("x y", " ", "caf\u00e9", "-n", "$(x)", "a\\b", "\t", {"repeat": ["n", 255]}, {"b64": "/wE="})
    yield "releases and names", tuple(
        op for name in names for path in ({"join": [f"{h}/", name]},)
        for op in (("mkdir", path), ("write", {"join": [path, "/notify_on_release"]}, "1"),
        ("write", agent, "$agent"), ("fork", "w"), ("write", {"join": [path, "/tasks"]}, "$w"), ("kill", "w"),
        ("releases", 1)))  # fmt: skip
    for levels, length in ((14, 4095), (14, 4096), (15, 4297)):
        # a new name for its first directory makes a path too long for mkdir(2)
        places = [f"{h}/s" + "/".join(["", *["m" * 255] * level]) for level in range(levels + 1)]
        places.append(places[-1] + "/" + "l" * (length - 257 - 256 * levels))
        yield f"a release of a path of {length} bytes", (
            *(("mkdir", place) for place in places), ("write", f"{places[-1]}/notify_on_release", "1"),
            ("write", agent, "$agent"), ("fork", "w"), ("write", f"{places[-1]}/tasks", "$w"),
            ("rename", f"{h}/s", f"{h}/{'r' * 255}"), ("kill", "w"), ("releases", 1))  # fmt: skip
    yield "the root is never released", (
        ("write", f"{h}/notify_on_release", "1"), ("write", agent, "$agent"), ("mkdir", a), ("fork", "w"), enter, leave,
        ("releases", 1), ("rmdir", a), ("releases", 0))  # fmt: skip


def _several_hierarchies() -> Iterator[Case]:
    w = (("fork", "w"), ("write", "pids/a/tasks", "$w"), ("write", "systemd/b/tasks", "$w"))
    yield Case("every hierarchy has a release agent of its own", "v1", (
        *_watched("pids"), *_watched("systemd", "b"), ("write", "systemd/release_agent", "\n"), *w,
        ("write", "systemd/tasks", "$w"), ("releases", 0), ("write", "systemd/b/tasks", "$w"), ("kill", "w"),
        ("releases", 1)))  # fmt: skip
    yield Case("a death can release cgroups of several hierarchies", "v1", (
        *_watched("pids"), *_watched("systemd", "b"), *w, ("kill", "w"), ("releases", 2)))  # fmt: skip
