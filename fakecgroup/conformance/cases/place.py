"""Where things are on the two layouts, and the operations that make a first cgroup."""

from __future__ import annotations

from typing import Any

#: The v1 hierarchy of each controller.
HIERARCHY = {
    "cpu": "cpu,cpuacct",
    "cpuacct": "cpu,cpuacct",
    "net_cls": "net_cls,net_prio",
    "net_prio": "net_cls,net_prio",
    "io": "blkio",
}
Ops = tuple[tuple[Any, ...], ...]


def root(layout: str, controller: str = "pids") -> str:
    """The root of the hierarchy, without a slash at its end; ``.`` on v2."""
    return "." if layout == "v2" else HIERARCHY.get(controller, controller)


def at(layout: str, controller: str, path: str) -> str:
    """A path below the root of the hierarchy that has the controller."""
    return path if layout == "v2" else f"{HIERARCHY.get(controller, controller)}/{path}"


def child(layout: str, controller: str, *names: str) -> Ops:
    """Make cgroups (``a`` if none is named) with the controller; every parent passes the controller on."""
    names = names or ("a",)
    ops: list[tuple[Any, ...]] = []
    if layout == "v2":
        ops.append(("write", "cgroup.subtree_control", f"+{controller}"))
    for name in names:
        parent = name.rpartition("/")[0]
        enable = ("write", f"{parent}/cgroup.subtree_control", f"+{controller}")
        if layout == "v2" and parent and enable not in ops:
            ops.append(enable)
        ops.append(("mkdir", at(layout, controller, name)))
    return tuple(ops)
