"""The wanted tree, and what was found of it, as one page to look at.

The page is `fakecgroup.view`'s, the same as that of `fakecgroup view`: of the fake itself nothing is used.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.model.wanted_cgroup import WantedCgroup
from cgroup_engine.plan.status import Row as StatusRow
from cgroup_engine.plan.status import differs
from cgroup_engine.tree.found import FoundTree
from cgroup_engine.tree.layout import all_hierarchies
from cgroup_engine.views.explain import values_of
from fakecgroup.view.node import Node, Row, Tree
from fakecgroup.view.of_files import SHOWN, meters_of, notes_of
from fakecgroup.view.page import page


def wanted_page(node: NodeConfig, wanted: Sequence[WantedCgroup]) -> str:
    """The page of the tree as it should be: limits with their reasons, and nothing used."""
    nodes = _Nodes()
    for cgroup in wanted:
        one = nodes.at(cgroup.path)
        one.notes.append(cgroup.owner)
        files: dict[str, str] = {}
        for value in values_of(cgroup):
            for file, text in (value.v1 if node.cgroup_version == 1 else value.v2).items():
                files[file] = text
                one.rows.append(Row(file, text, None, value.rule, str(value.source)))
        one.meters = meters_of(files)
    return page(Tree(f"{_called(node)}: {_pods(wanted)}, as it should be", _facts(node), nodes.all))


def found_page(node: NodeConfig, wanted: Sequence[WantedCgroup], rows: Iterable[StatusRow], found: FoundTree) -> str:
    """The page of a root: each file that the engine manages beside what it should be, and what is used.

    :raises RootError: something there cannot be read.
    """
    nodes = _Nodes()
    owners = {cgroup.path: cgroup for cgroup in wanted}
    by_cgroup: dict[str, list[StatusRow]] = defaultdict(list)
    for row in rows:
        by_cgroup[_cgroup_of(row, found)].append(row)
    for path in dict.fromkeys(("", *owners, *by_cgroup)):
        one = nodes.at(path)
        cgroup = owners.get(path)
        reasons = {} if cgroup is None else _reasons(cgroup, found.layout.version)
        if cgroup is not None:
            one.notes.append(cgroup.owner)
        managed = set()
        there = found.get(path) is not None
        for row in by_cgroup[path]:
            if row.knob is None:
                (one.alarming if differs(row) else one.notes).append(_state(row))
                continue
            if not there:
                continue  # its directory has a line
            file = row.path.rpartition("/")[2]
            managed.add(file)
            why, source = reasons.get(file, ("", ""))
            one.rows.append(Row(file, row.found or "-", row.wanted if differs(row) else None, why, source))
        files = _files(path, found)
        one.rows += [Row(file, text) for file, text in files.items() if file not in managed]
        alarming, notes = notes_of(files)
        one.alarming += alarming
        one.notes += notes
        one.meters = meters_of(files)
        one.processes = len(found.processes(path))
    return page(Tree(f"{_called(node)}: {_pods(wanted)}, as found on {found.layout.name}", _facts(node), nodes.all))


class _Nodes:
    """The nodes of a page, with all ancestors."""

    def __init__(self) -> None:
        self.all = [Node("/", None)]
        self._numbers = {"": 0}

    def at(self, path: str) -> Node:
        """The node of a path below the root."""
        if path not in self._numbers:
            parent = path.rpartition("/")[0]
            self.at(parent)
            self._numbers[path] = len(self.all)
            self.all.append(Node(f"/{path}", self._numbers[parent]))
        return self.all[self._numbers[path]]


def _files(path: str, found: FoundTree) -> dict[str, str]:
    """The texts of the files that the page shows, of all hierarchies."""
    texts = {}
    for hierarchy in all_hierarchies(found.fs, found.layout):
        directory = "/".join(part for part in (hierarchy, path) if part)
        for name in SHOWN:
            try:
                texts[name] = found.fs.read(f"{directory}/{name}".lstrip("/"))
            except OSError:
                continue  # this hierarchy has no such file
    return texts


def _reasons(cgroup: WantedCgroup, version: int) -> Mapping[str, tuple[str, str]]:
    """By file: the rule of its value, and the rule's source."""
    return {
        file: (value.rule, str(value.source))
        for value in values_of(cgroup)
        for file in (value.v1 if version == 1 else value.v2)
    }


def _cgroup_of(row: StatusRow, found: FoundTree) -> str:
    """The path below its hierarchy of the cgroup that a row is about."""
    path = row.path if row.knob is None else row.path.rpartition("/")[0]
    for hierarchy in found.layout.hierarchies:
        if hierarchy and (path == hierarchy or path.startswith(f"{hierarchy}/")):
            return path[len(hierarchy) + 1 :]
    return path


def _state(row: StatusRow) -> str:
    return {"waiting": "waits for its runtime", "unwanted": row.found or "unwanted"}.get(row.state, row.state)


def _called(node: NodeConfig) -> str:
    return f"kubelet {node.version}, {node.driver} driver"


def _pods(wanted: Sequence[WantedCgroup]) -> str:
    count = sum(cgroup.level == "pod" for cgroup in wanted)
    return f"{count:,} pod{'' if count == 1 else 's'}"


def _facts(node: NodeConfig) -> list[tuple[str, str]]:
    return [
        ("kubelet", str(node.version)),
        ("driver", str(node.driver)),
        ("CPUs", str(node.cpus)),
        ("memory", f"{node.memory:,} bytes"),
    ]
