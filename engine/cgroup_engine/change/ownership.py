"""Before an engine changes a tree: it holds the lock, knows that kubepods is its own, and says what it will make."""

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

    ``recorded``: was it this engine's before? ``taken_over``: has somebody else made it? ``warning``: of a record
    that does not count, or "".
    """

    def __init__(self, file: RecordFile | None, record: Record | None, *, taken_over: bool = False) -> None:
        self._file = file
        self._last = record
        self.recorded = record is not None
        self.taken_over = record.taken_over if record is not None else taken_over
        self.warning = file.ignored if file is not None else ""

    @property
    def recorded_paths(self) -> list[str]:
        """Where the recorded pods and containers are."""
        pods = self._last.pods if self._last is not None else ()
        return [path for pod in pods for path in (pod.path, *(each.path for each in pod.containers))]

    def record(self, wanted: Sequence[WantedCgroup]) -> None:
        """Records the tree that is wanted: call it before the first change and after the last one.

        Pods that were recorded and are not wanted stay in the record as long as their cgroup is there. What is
        recorded already is not written again.

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
        """Forgets the tree once kubepods is gone; as long as it is there, nothing changes.

        :raises RecordError: the state directory cannot be used.
        """
        if self._file is not None and not self._file.inodes():
            self._file.remove()
            self._last = None


def kubepods_path(node: NodeConfig) -> str:
    """Where kubepods is below the root, with the driver's names."""
    return directory(kubepods_name(node.cgroup_root), node.driver)


@contextmanager
def owning(
    found: FoundTree, kubepods: str, root: str | None, state: Path, *, refuse_foreign: bool, otherwise: str
) -> Iterator[Ownership]:
    """Holds the lock of a kubepods, of which nothing may have been read yet.

    ``root``: the mount point, None for files that are no file system's, which have neither lock nor record.
    ``state``: the directory of the records. ``refuse_foreign``: refuses a kubepods with cgroups or processes in it
    that is not recorded; ``otherwise``: what there is to do then.

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
    """What is in a kubepods, in words; "" if it is empty or not there."""
    there = found.get(kubepods)
    if there is None:
        return ""
    if there.children:
        number = len(there.children)
        return f"{number} cgroups, such as {there.children[0]}" if number > 1 else f"the cgroup {there.children[0]}"
    pids = found.processes(kubepods)
    return f"process {pids[0]}" if pids else ""
