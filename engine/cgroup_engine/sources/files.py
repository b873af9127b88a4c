"""Pods from files and directories, followed by inotify.

inotify only says when to look. Listings of directories and stat of files say what changed, so lost or merged events do
no harm. Everything is looked at every 20 seconds in any case, as a kubelet does. A change counts once the file has been
quiet for a moment. So half-written files cause no complaint and are not in force, and a file that is removed and then
written again keeps its pods.
"""

from __future__ import annotations

import io
import os
import select
import time
from collections.abc import Iterable
from functools import partial
from itertools import islice
from pathlib import Path

from cgroup_engine.errors import PodError
from cgroup_engine.inputs.documents import parts_of_file
from cgroup_engine.inputs.pods import pods_of_parts
from cgroup_engine.inputs.standard_input import STANDARD_INPUT
from cgroup_engine.inputs.static_pods.manifest import Manifests
from cgroup_engine.inputs.whose_pods import nodes_of, of_node, unscheduled_note
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.pod import Pod
from cgroup_engine.sources.path_scan import GONE, MISSING, PathScan, PathState, no_file
from cgroup_engine.sources.path_watch import PathWatch
from cgroup_engine.sources.pod_store import PodStore
from cgroup_engine.sources.source import PodSource, Seen
from cgroup_engine.sources.timer import Timer

QUIET = 0.3  # seconds without a change until a change counts
_WRITER = 5.0  # seconds without a write until a file counts that is still open for writing
_AGAIN = 20.0  # seconds; fileCheckFrequency of a kubelet
_MAX_BYTES = 10 << 20  # of one file; maxConfigLength of a kubelet
_MAX_NODES = 500_000  # of YAML in one file, which takes some 250 MB while it is read


def pod_source(
    paths: Iterable[Path],
    version: KubeletVersion,
    manifests: Manifests | None = None,
    node_name: str | None = None,
) -> PodSource:
    """The pods of files and directories, as they come and go; ``cgroup_engine.inputs.pods`` reads them.

    Each file counts by itself. If a file cannot be used, its last good pods stay in force. If it is removed, its pods
    go. If a directory is gone, the pods of all its files stay in force. ``node_name``: whose pods count; None: those of
    the node that the pods name first. Then a file with pods of another node cannot be used.

    :raises PodError: a path does not exist, or is no file and no directory that can be read.
    """
    listed = list(paths)
    if STANDARD_INPUT in listed:
        raise PodError("-: standard input cannot be followed", path="-", todo="give files or directories")
    return _FileSource(listed, version, manifests, node_name)


class _FileSource:
    def __init__(
        self, paths: list[Path], version: KubeletVersion, manifests: Manifests | None, node_name: str | None
    ) -> None:
        self._paths, self._version, self._manifests, self._node_name = paths, version, manifests, node_name
        self._store = PodStore()
        self._taken: dict[str, PathState] = {}
        self._changing: dict[str, tuple[PathState, float]] = {}
        self._watch = PathWatch()
        self._scan = PathScan(paths, self._watch)
        self._timer, self._epoll = Timer(), select.epoll()
        self._epoll.register(self._timer.fileno(), select.EPOLLIN)
        if (inotify := self._watch.fileno()) is not None:
            self._epoll.register(inotify, select.EPOLLIN)
        try:
            self._start()
        except PodError:
            self.close()
            raise

    def _start(self) -> None:
        states, now = self._states(), time.monotonic()
        for path in map(str, self._paths):
            state = states.get(path, MISSING)
            if state.wrong:
                raise PodError(f"{path}: {state.wrong}", path=path, todo=state.todo)
        for origin, state in states.items():
            if not self._take(origin, state, complain=False):
                self._store.expect(origin)
                self._changing[origin] = state, now
        self._set_timer(now)

    def fileno(self) -> int:
        return self._epoll.fileno()

    def close(self) -> None:
        self._epoll.close()
        self._timer.close()
        self._watch.close()

    def look(self) -> Seen:
        now = time.monotonic()
        events = self._watch.has_events(now)
        due = self._timer.read(8) is not None
        if events or due:
            self._follow(now)
            self._set_timer(now)
        return self._store.seen()

    def _follow(self, now: float) -> None:
        states = self._states()
        # files of a directory that cannot be listed keep their state
        lost = tuple(f"{path}/" for path in map(str, self._paths) if states.get(path, GONE).wrong)
        known = [origin for origin in (*self._taken, *self._changing) if not origin.startswith(lost)]
        for origin in [*states, *(origin for origin in dict.fromkeys(known) if origin not in states)]:
            state = states.get(origin, GONE)
            if self._taken.get(origin) == state:
                self._changing.pop(origin, None)
                continue
            before, since = self._changing.get(origin, (None, now))
            if before != state:
                self._changing[origin] = state, now
            elif now >= self._counts_at(origin, since):
                del self._changing[origin]
                self._take(origin, state)
        for origin in [origin for origin in self._changing if origin.startswith(lost)] if lost else ():
            del self._changing[origin]

    def _states(self) -> dict[str, PathState]:
        """The state of every path; complains if inotify cannot watch them."""
        states = self._scan.states(self._taken)
        if failed := self._watch.failed:
            text = f"inotify: {failed.strerror}: files are looked at every {_AGAIN:.0f} seconds only"
            self._store.complain("inotify", text, "raise fs.inotify.max_user_*", may_hold_pods=False)
        return states

    def _counts_at(self, origin: str, since: float) -> float:
        return max(since + QUIET, self._watch.written.get(origin, -_WRITER) + _WRITER)

    def _set_timer(self, now: float) -> None:
        next_ = min((self._counts_at(origin, since) for origin, (_, since) in self._changing.items()), default=None)
        self._timer.set(_AGAIN if next_ is None else max(0.001, min(next_ - now, _AGAIN)))

    def _take(self, origin: str, state: PathState, *, complain: bool = True) -> bool:
        """Puts a change in force; False if the path is bad and ``complain`` is off."""
        if state == GONE:
            self._taken.pop(origin, None)
            self._store.drop(origin)
            return True
        try:
            if state.wrong:
                raise PodError(f"{origin}: {state.wrong}", todo=state.todo)
            pods, notes = ((), []) if state.directory else self._read(Path(origin))
        except PodError as wrong:
            if complain:
                self._taken[origin] = state
                self._store.complain(origin, wrong.message, wrong.todo, may_hold_pods=state.may_hold_pods)
            return complain
        self._taken[origin] = state
        self._store.put(origin, pods, notes)
        return True

    def _read(self, path: Path) -> tuple[tuple[Pod, ...], list[str]]:
        """The pods in a file that are on the node, and lines about what was left out."""
        notes: list[str] = []
        parts_to_pods = partial(pods_of_parts, path, [self._version], self._manifests, notes)
        with io.BytesIO(self._bytes(path)) as file:
            [pods] = parts_of_file(file, str(path), PodError, parts_to_pods, most_nodes=_MAX_NODES)
        if unscheduled := unscheduled_note(pods):
            notes.append(f"{path}: {unscheduled}")
        on_node = of_node(pods, self._node_name, str(path))
        if self._node_name is None and nodes_of(on_node):
            others = (pod for pod in self._store.held(besides=str(path)) if pod.node_name)
            of_node([*islice(others, 1), *on_node], None, str(path))
        return tuple(on_node), notes

    def _bytes(self, path: Path) -> bytes:
        try:
            # O_PATH pins the file: the one that was checked is the one that is read
            pinned = os.open(path, os.O_PATH | os.O_CLOEXEC)
            try:
                if wrong := no_file(os.fstat(pinned).st_mode) or self._scan.leads_out(pinned, str(path)):
                    raise PodError(f"{path}: {wrong}")
                file = os.open(f"/proc/self/fd/{pinned}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
            finally:
                os.close(pinned)
            with open(file, "rb", buffering=0) as opened:
                raw = _read_at_most(opened, _MAX_BYTES)
        except OSError as failed:
            raise PodError(f"{path}: cannot be read: {failed.strerror}") from None
        if raw is None:
            raise PodError(f"{path}: larger than {_MAX_BYTES >> 20} MiB", todo="split the file")
        return raw


def _read_at_most(file: io.RawIOBase, most: int) -> bytes | None:
    """Reads a file to its end, whatever size stat gives; None if that is more than ``most`` bytes.

    :raises OSError: it cannot be read.
    """
    pieces, length = [], 0
    while piece := file.read(1 << 20):
        length += len(piece)
        if length > most:
            return None
        pieces.append(piece)
    return b"".join(pieces)
