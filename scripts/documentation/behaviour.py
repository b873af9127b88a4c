"""What decides the text of an interface file in the model: it is tried out, not looked up.

Each file of each hierarchy is read before and after

1. events of processes and of the tree: a process comes, uses CPU time and memory, forks; a child cgroup is made;
2. each value that the conformance cases write to it;
3. the values of the other files in its cgroup, and of those in the parent.

What first changes its text says what it is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from enum import Enum
from functools import cache

from fakecgroup import CpuTime, CpuUse, MemoryUse, ProcessMemory, ProcessTable
from fakecgroup.conformance import cases

from .interface_files import directory, machine

_SECOND = 1_000_000_000  # ns
_MIB = 1 << 20
_TRIED = 6  # numbers that are tried where every other file is read after each


class Kind(Enum):
    """What decides the text of a file."""

    STORED = "stored"
    COMPUTED = "computed"
    CONSTANT = "constant"
    WRITE_ONLY = "write only"


class _Busy(ProcessTable):
    """Processes that use CPU time and memory once they are told to."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds = 1

    def cpu(self, tgid: int, *, exact: bool = False) -> CpuUse | None:
        used = self.seconds * _SECOND
        return CpuUse(tgid, 1, CpuTime(used, used // 2, used - used // 2), CpuTime())

    def memory(self, tgid: int) -> ProcessMemory:
        size = self.seconds * _MIB
        return ProcessMemory(
            MemoryUse(anon=size, file=size, shmem=size, stacks=size, tables=size), "sh", 3 * size, 3 * size
        )

    def machine_cpu(self) -> list[CpuTime]:
        used = self.seconds * _SECOND
        return [CpuTime(used, used // 2, used - used // 2)] * 4

    def machine_memory(self) -> MemoryUse:
        return MemoryUse(anon=self.seconds * _MIB)


@cache
def _values() -> dict[str, tuple[str, ...]]:
    """The values that the conformance cases write, by the name of the file."""
    found: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for family in cases.FAMILIES:
        for case in cases.cases_of(family):
            for op in case.ops:
                if op[0] == "write" and all(isinstance(part, str) for part in op[1:3]) and _is_plain(op[2]):
                    found[op[1].rpartition("/")[2]][op[2]] = None
    return {name: tuple(values) for name, values in found.items()}


@cache
def _telling(name: str) -> list[str]:
    """Values that are likely to change other files: words, the shortest numbers, and some of the rest."""
    values = _values().get(name, ())
    words = [value for value in values if value.isalpha()]
    numbers = sorted((value for value in values if value.isdecimal()), key=lambda value: (len(value), value))
    rest = [value for value in values if not value.isalnum()]
    return [*words, *numbers[:_TRIED], *rest[:: len(rest) // (2 * _TRIED) + 1]]


def _is_plain(data: str) -> bool:
    """Whether it is short, and names no process or file of its case."""
    return len(data) < 40 and "$" not in data


class _Tree:
    """A new kernel with a cgroup `at` in a cgroup `above` of one hierarchy, or with `at` its root; a process is in it.

    With `bare` the unified hierarchy enables no controller, as some core files want.
    """

    def __init__(self, layout: str, version: str, number: int, *, root: bool, bare: bool = False) -> None:
        self.processes = _Busy()
        self.kernel = machine(layout, version, self.processes, lambda: self.processes.seconds * _SECOND)
        self.hierarchy = self.kernel.hierarchies[number]
        top = directory(self.kernel, self.hierarchy)
        self.above = f"{top}/a"
        self.at = top if root else f"{top}/a/b"
        for cgroup in (self.above, f"{self.above}/b"):
            if self.hierarchy.dfl and not bare:
                for name in self.hierarchy.controllers:
                    self.write(f"{cgroup.rpartition('/')[0]}/cgroup.subtree_control", f"+{name}")
            self.kernel.mkdir(cgroup)
            for name in ("cpuset.cpus", "cpuset.mems"):  # v1 takes no process without them
                self.write(f"{cgroup}/{name}", "0-1")
        self.process = self.processes.add()
        self.write(f"{self.at}/cgroup.procs", str(self.process))
        self.names = {*self.kernel.listdir(self.at or "/")} & {*self.hierarchy.root_table, *self.hierarchy.child_table}

    def write(self, path: str, value: str) -> bool:
        """Writes a value; False where the kernel refuses it or has no such file."""
        try:
            self.kernel.write(path, value)
        except OSError:
            return False
        return True

    def text(self, name: str) -> str | None:
        """What the file reads as; None where it cannot be read."""
        try:
            return self.kernel.read(f"{self.at}/{name}")
        except OSError:
            return None

    def texts(self, names: Collection[str]) -> dict[str, str | None]:
        return {name: self.text(name) for name in names}

    def live(self) -> None:
        """Time passes; the process uses CPU time and memory and forks; one of its children becomes a zombie."""
        self.processes.seconds += 3
        self.kernel.look()
        try:
            self.kernel.fork(self.process)
            child = self.kernel.fork(self.process)
        except OSError:  # the cgroup is full
            return
        self.processes.exit(child)
        self.kernel.task_exited(child)


def _kinds(layout: str, version: str, number: int, *, root: bool) -> dict[str, Kind]:
    """What decides each file of one hierarchy's root, or of a cgroup below it."""

    def tree(*, bare: bool = False) -> _Tree:
        return _Tree(layout, version, number, root=root, bare=bare)

    used = tree()
    before = used.texts(sorted(used.names))
    kinds = {name: Kind.WRITE_ONLY for name, text in before.items() if text is None}
    used.live()
    used.kernel.mkdir(f"{used.at}/child")
    kinds |= {name: Kind.COMPUTED for name, text in used.texts(before.keys() - kinds).items() if text != before[name]}
    tables = {**used.hierarchy.child_table, **used.hierarchy.root_table}
    writable = [name for name, entry in tables.items() if entry.row.permissions & 0o222]
    for name in before.keys() & writable - kinds.keys():
        if _is_stored(tree(), name) or (used.hierarchy.dfl and _is_stored(tree(bare=True), name)):
            kinds[name] = Kind.STORED
    for other in writable:
        if rest := before.keys() - kinds.keys() - {other}:
            kinds |= dict.fromkeys(_changed_by(tree(), other, rest), Kind.COMPUTED)
    return {name: kinds.get(name, Kind.CONSTANT) for name in before}


def _is_stored(tree: _Tree, name: str) -> bool:
    """Whether a write to the file changes what it reads as; the parent may have to have the value first."""
    before = tree.text(name)
    if before is None:
        return False
    for value in _values().get(name, ()):
        for cgroup in (tree.at, tree.above, tree.at):
            if tree.write(f"{cgroup}/{name}", value) and cgroup is tree.at and tree.text(name) not in (before, None):
                return True
    return False


def _changed_by(tree: _Tree, other: str, names: Collection[str]) -> Iterator[str]:
    """Those of `names` that read differently after some write to the file `other`, here or in the parent."""
    tree.live()
    before = tree.texts(names)
    for cgroup in (tree.at, tree.above):
        for value in _telling(other):
            if tree.write(f"{cgroup}/{other}", value):
                tree.live()
                for name, text in tree.texts(names).items():
                    if text and text != before[name]:  # it is empty once its controller is off
                        yield name


@cache
def kinds(version: str, *, unified: bool) -> dict[tuple[str, bool], Kind]:
    """What decides each file of a kernel's unified or v1 hierarchies, by its name and whether it is the root's."""
    layout = "v2" if unified else "v1"
    found: dict[tuple[str, bool], Kind] = {}
    for number, _ in enumerate(machine(layout, version).hierarchies):
        for root in (True, False):
            found |= {(name, root): kind for name, kind in _kinds(layout, version, number, root=root).items()}
    return found
