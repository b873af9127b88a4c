"""The right to change a kubepods: the lock, and a record that says whose it is and what was made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from cgroup_engine.change.lock import locked
from cgroup_engine.change.record import Record, RecordFile, recorded_pods
from cgroup_engine.errors import NotOursError
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.model.names import directory, kubepods_name
from cgroup_engine.model.wanted_cgroup import WantedCgroup
from cgroup_engine.tree.found import FoundTree


class Ownership:
    """A kubepods that this process alone may change, until the context of ``owning`` ends.

    ``recorded``: does a record say that this engine made it? ``taken_over``: did somebody else make it? ``warning``:
    a line about a record that is ignored, or "".
    """

    def __init__(self, file: RecordFile | None, record: Record | None, *, taken_over: bool = False) -> None:
        self._file = file
        self._last = record
        self.recorded = record is not None
        self.taken_over = record.taken_over if record is not None else taken_over
        self.warning = file.ignored if file is not None else ""

    @property
    def recorded_paths(self) -> list[str]:
        """The paths of the recorded pods and containers."""
        pods = self._last.pods if self._last is not None else ()
        return [path for pod in pods for path in (pod.path, *(each.path for each in pod.containers))]

    def record(self, wanted: Sequence[WantedCgroup]) -> None:
        """Records the wanted tree: call it before the first change and after the last one.

        Recorded pods that are not wanted any more stay in the record while their cgroup exists. An unchanged record is
        not written again.

        :raises RecordError: the state directory cannot be used.
        """
        if self._file is None:
            return
        pods = recorded_pods(wanted)
        named = {pod.path for pod in pods}
        before = self._last.pods if self._last is not None else ()
        leaving = tuple(pod for pod in before if pod.path not in named and self._file.is_there(pod.path))
        record = Record(self._file.inodes(), pods + leaving, self.taken_over)
        if record != self._last:
            self._file.write(record)
            self._last = record

    def forget(self) -> None:
        """Removes the record if kubepods is gone.

        :raises RecordError: the state directory cannot be used.
        """
        if self._file is not None and not self._file.inodes():
            self._file.remove()
            self._last = None


def kubepods_path(node: NodeConfig) -> str:
    """The path of kubepods below the root, with the driver's names."""
    return directory(kubepods_name(node.cgroup_root), node.driver)


@contextmanager
def owning(
    found: FoundTree, kubepods: str, root: str | None, state: Path, *, refuse_foreign: bool, otherwise: str
) -> Iterator[Ownership]:
    """Holds the lock of a kubepods. Enter it before anything of the kubepods is read.

    ``root``: the mount point; None for a model without one, which has neither lock nor record. ``state``: the directory
    of the records. ``refuse_foreign``: refuse a kubepods with cgroups or processes in it that no record names.
    ``otherwise``: the advice in that error.

    :raises LockedError: another engine holds the lock.
    :raises NotOursError: see ``refuse_foreign``.
    :raises RecordError: the state directory cannot be used.
    :raises RootError: the root cannot be read, or not be locked.
    """
    if root is None:
        yield Ownership(None, None)
        return
    with locked(root, found.layout, kubepods):
        file = RecordFile(state, root, found.layout, kubepods)
        record = file.read()
        holds = _contents(found, kubepods) if record is None else ""
        if holds and refuse_foreign:
            raise NotOursError(
                f"{root}: /{kubepods} holds {holds}, and no record in {state} says that this engine made it",
                path=kubepods,
                todo=otherwise,
            )
        yield Ownership(file, record, taken_over=bool(holds))


def _contents(found: FoundTree, kubepods: str) -> str:
    """The contents of a kubepods, in words; "" if it is empty or missing."""
    there = found.get(kubepods)
    if there is None:
        return ""
    if there.children:
        number = len(there.children)
        return f"{number} cgroups, such as {there.children[0]}" if number > 1 else f"the cgroup {there.children[0]}"
    pids = found.processes(kubepods)
    return f"process {pids[0]}" if pids else ""
