"""A snapshot as one page to look at."""

from __future__ import annotations

import os

from ..view.node import Node, Row, Tree
from ..view.of_files import meters_of, notes_of
from ..view.page import page
from .content import SeenHierarchy, Snapshot

_PROCESSES = "cgroup.procs"
_CORE = ("tasks", "notify_on_release", "release_agent")
_LONGEST = 4096  # bytes of a file that the page shows


def page_of(snapshot: Snapshot, called: str) -> str:
    """The page of a snapshot. On v1 a cgroup's files of all hierarchies stand together.

    `called` is what its title begins with.
    """
    nodes = [Node("/", None)]
    numbers = {"/": 0}
    texts: list[dict[str, str]] = [{}]
    for hierarchy, cgroup in snapshot.cgroups():
        number = _number(cgroup.path, nodes, numbers, texts)
        node = nodes[number]
        for name, file in sorted(cgroup.files.items()):
            if file.data is None:
                continue
            text = os.fsdecode(file.data)
            if name == _PROCESSES:
                node.processes = max(node.processes or 0, len(text.split()))
                continue
            texts[number].setdefault(name, text)
            node.rows.append(Row(_named(hierarchy, name), text[:_LONGEST]))
    for node, files in zip(nodes, texts, strict=True):
        node.meters = meters_of(files)
        node.alarming, node.notes = notes_of(files)
    machine = snapshot.machine
    facts = [
        ("kernel", snapshot.kernel.release),
        ("layout", snapshot.layout),
        ("CPUs", str(machine.cpus)),
        ("memory", f"{machine.memory:,} bytes"),
        ("left out", "; ".join(snapshot.left_out)),
    ]
    return page(Tree(f"{called}: {len(nodes):,} cgroups", [fact for fact in facts if fact[1]], nodes))


def _number(path: str, nodes: list[Node], numbers: dict[str, int], texts: list[dict[str, str]]) -> int:
    """The number of the node of a path. What is missing above it is made."""
    if path not in numbers:
        parent = _number(path.rpartition("/")[0] or "/", nodes, numbers, texts)
        numbers[path] = len(nodes)
        nodes.append(Node(path, parent))
        texts.append({})
    return numbers[path]


def _named(hierarchy: SeenHierarchy, name: str) -> str:
    """A file's name. Of those that each hierarchy of v1 has, with its hierarchy."""
    of_core = hierarchy.directory and (name.startswith("cgroup.") or name in _CORE)
    return f"{hierarchy.directory}/{name}" if of_core else name
