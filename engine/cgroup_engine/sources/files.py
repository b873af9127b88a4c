"""Pods from files and directories, followed by inotify.

inotify only says when to look. Listings of directories and stat of files say what changed, so lost or merged events do
no harm. Everything is looked at every 20 seconds in any case, as a kubelet does. A change counts once the file has been
quiet for a moment. So half-written files cause no complaint and are not in force, and a file that is removed and then
written again keeps its pods.
"""

from __future__ import annotations

import os
import select
import stat
import time
from collections.abc import Iterable
from dataclasses import dataclass
from errno import ENOENT, ENOMEM, ENOSPC
from pathlib import Path

from inotify_simple import INotify, flags

from cgroup_engine.errors import PodError
from cgroup_engine.inputs.documents import documents_of, read_at_most
from cgroup_engine.inputs.pods import is_pod_file, pods_of_documents
from cgroup_engine.inputs.static_pods.manifest import Manifests
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.pod import Pod
from cgroup_engine.sources.pod_store import PodStore
from cgroup_engine.sources.source import PodSource, Seen
from cgroup_engine.sources.timer import Timer

QUIET = 0.3  # seconds without a change until a change counts
_WRITER = 5.0  # seconds without a write until a file counts that is still open for writing
_AGAIN = 20.0  # seconds; fileCheckFrequency of a kubelet
_MAX_BYTES = 10 << 20  # of one file; maxConfigLength of a kubelet
_MAX_NODES = 500_000  # of YAML in one file, which takes some 250 MB while it is read
_MAX_FILES = 5_000  # in one directory

_NAMES = flags.CREATE | flags.DELETE | flags.MOVED_FROM | flags.MOVED_TO | flags.DELETE_SELF | flags.MOVE_SELF
_CONTENT = flags.MODIFY | flags.CLOSE_WRITE | flags.ATTRIB
_KINDS = {
    stat.S_IFIFO: "a fifo",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a directory",
}


def pod_source(paths: Iterable[Path], version: KubeletVersion, manifests: Manifests | None = None) -> PodSource:
    """The pods of files and directories, as they come and go; ``cgroup_engine.inputs.pods`` reads them.

    Each file counts by itself. If a file cannot be used, its last good pods stay in force. If it is removed, its pods
    go. If a directory is gone, the pods of all its files stay in force.

    :raises PodError: a path does not exist, or is no file and no directory that can be read.
    """
    return _FileSource(list(paths), version, manifests)


@dataclass(frozen=True)
class _Look:
    """A path's state by stat; another state is a change. ``wrong``: why the path cannot be used."""

    signature: tuple[int, ...] = ()
    directory: bool = False
    wrong: str = ""
    todo: str = ""
    may_hold_pods: bool = True


_GONE = _Look(wrong="is gone")
_MISSING = _Look(wrong=f"cannot be read: {os.strerror(ENOENT)}")


class _FileSource:
    def __init__(self, paths: list[Path], version: KubeletVersion, manifests: Manifests | None) -> None:
        self._paths, self._version, self._manifests = paths, version, manifests
        self._store = PodStore()
        self._taken: dict[str, _Look] = {}
        self._changing: dict[str, tuple[_Look, float]] = {}
        self._written: dict[str, float] = {}  # files that are being written, and when a write was last seen
        self._inside: dict[str, str] = {}  # a listed file -> its real directory, which a link must not leave
        self._names: dict[int, dict[str, str]] = {}  # inotify's watch -> name ("": any) -> the path of that name
        self._inotify: INotify | None = None
        self._timer, self._epoll = Timer(), select.epoll()
        self._epoll.register(self._timer.fileno(), select.EPOLLIN)
        try:
            self._inotify = INotify(nonblocking=True)
            self._epoll.register(self._inotify.fileno(), select.EPOLLIN)
        except OSError as failed:
            self._cannot_watch(failed)
        try:
            self._start()
        except PodError:
            self.close()
            raise

    def _start(self) -> None:
        looks, now = self._looks(), time.monotonic()
        for path in map(str, self._paths):
            look = looks.get(path, _MISSING)
            if look.wrong:
                raise PodError(f"{path}: {look.wrong}", path=path, todo=look.todo)
        for origin, look in looks.items():
            if not self._take(origin, look, complain=False):
                self._store.expect(origin)
                self._changing[origin] = look, now
        self._set_timer(now)

    def fileno(self) -> int:
        return self._epoll.fileno()

    def close(self) -> None:
        self._epoll.close()
        self._timer.close()
        if self._inotify is not None:
            self._inotify.close()

    def look(self) -> Seen:
        now = time.monotonic()
        events = self._has_events(now)
        due = self._timer.read(8) is not None
        if events or due:
            self._follow(now)
            self._set_timer(now)
        return self._store.seen()

    def _follow(self, now: float) -> None:
        looks = self._looks()
        # files of a directory that cannot be listed keep their state
        lost = tuple(f"{path}/" for path in map(str, self._paths) if looks.get(path, _GONE).wrong)
        known = [origin for origin in (*self._taken, *self._changing) if not origin.startswith(lost)]
        for origin in [*looks, *(origin for origin in dict.fromkeys(known) if origin not in looks)]:
            look = looks.get(origin, _GONE)
            if self._taken.get(origin) == look:
                self._changing.pop(origin, None)
                continue
            before, since = self._changing.get(origin, (None, now))
            if before != look:
                self._changing[origin] = look, now
            elif now >= self._counts_at(origin, since):
                del self._changing[origin]
                self._take(origin, look)
        for origin in [origin for origin in self._changing if origin.startswith(lost)] if lost else ():
            del self._changing[origin]

    def _counts_at(self, origin: str, since: float) -> float:
        return max(since + QUIET, self._written.get(origin, -_WRITER) + _WRITER)

    def _set_timer(self, now: float) -> None:
        next_ = min((self._counts_at(origin, since) for origin, (_, since) in self._changing.items()), default=None)
        self._timer.set(_AGAIN if next_ is None else max(0.001, min(next_ - now, _AGAIN)))

    def _take(self, origin: str, look: _Look, *, complain: bool = True) -> bool:
        """Puts a change in force; False if the path is bad and ``complain`` is off."""
        if look == _GONE:
            self._taken.pop(origin, None)
            self._store.drop(origin)
            return True
        try:
            if look.wrong:
                raise PodError(f"{origin}: {look.wrong}", todo=look.todo)
            pods = () if look.directory else tuple(self._read(Path(origin)))
        except PodError as wrong:
            if complain:
                self._taken[origin] = look
                self._store.complain(origin, wrong.message, wrong.todo, may_hold_pods=look.may_hold_pods)
            return complain
        self._taken[origin] = look
        self._store.put(origin, pods)
        return True

    def _read(self, path: Path) -> list[Pod]:
        try:
            # O_PATH pins the file: the one that was checked is the one that is read
            pinned = os.open(path, os.O_PATH | os.O_CLOEXEC)
            try:
                if wrong := _no_file(os.fstat(pinned).st_mode) or self._leads_out(pinned, str(path)):
                    raise PodError(f"{path}: {wrong}")
                file = os.open(f"/proc/self/fd/{pinned}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
            finally:
                os.close(pinned)
            try:
                raw = read_at_most(file, _MAX_BYTES)
            finally:
                os.close(file)
        except OSError as failed:
            raise PodError(f"{path}: cannot be read: {failed.strerror}") from None
        if raw is None:
            raise PodError(f"{path}: larger than {_MAX_BYTES >> 20} MiB", todo="split the file")
        documents = documents_of(raw, str(path), PodError, _MAX_NODES)
        return pods_of_documents(documents, path, self._version, self._manifests)

    def _leads_out(self, pinned: int, origin: str) -> str:
        inside = self._inside.get(origin)
        if inside is None or os.readlink(f"/proc/self/fd/{pinned}").startswith(f"{inside.rstrip('/')}/"):
            return ""
        return "is a link that leads out of its directory, so it is not followed"

    def _looks(self) -> dict[str, _Look]:
        """The state of every path, and of every file in a directory. Also has inotify watch them all."""
        watched, self._names, self._inside = self._names, {}, {}
        looks: dict[str, _Look] = {}
        for path in self._paths:
            self._watch_name(path, os.path.abspath(path))
            if path.is_symlink():
                self._watch_name(path, os.path.realpath(path))
            try:
                found = os.stat(path)
            except OSError as failed:
                if look := self._missing(path, failed):
                    looks[str(path)] = look
                continue
            self._watch(path, _NAMES | _CONTENT, "", path)
            if stat.S_ISDIR(found.st_mode):
                looks |= self._entries(path, _Look((found.st_dev, found.st_ino), directory=True))
            else:
                looks[str(path)] = _look_of(found)
        for watch in watched.keys() - self._names.keys():
            self._unwatch(watch)
        return looks

    def _missing(self, path: Path, failed: OSError) -> _Look | None:
        """The state of a path that cannot be read; None for a removed file whose directory is still there."""
        if any(known.startswith(f"{path}/") for known in self._taken):
            text = f"cannot be read: {failed.strerror}; what was in it stays in force"
            return _Look(wrong=text, todo="put the directory back", may_hold_pods=False)
        if failed.errno == ENOENT and path.parent.is_dir():
            return None
        return _Look(wrong=f"cannot be read: {failed.strerror}")

    def _entries(self, path: Path, look: _Look) -> dict[str, _Look]:
        try:
            with os.scandir(path) as listed:
                entries = sorted((entry for entry in listed if is_pod_file(entry.name)), key=lambda entry: entry.name)
        except OSError as failed:
            return {str(path): self._missing(path, failed) or _MISSING}
        if len(entries) > _MAX_FILES:
            wrong = f"holds {len(entries)} files, more than {_MAX_FILES}"
            return {str(path): _Look(wrong=wrong, todo="use lists of pods, or several directories")}
        before = self._taken.get(str(path))
        if not entries and before not in (None, look) and any(known.startswith(f"{path}/") for known in self._taken):
            # such as a mount point after its file system was unmounted
            wrong = "was replaced by an empty directory; what was in it stays in force"
            return {str(path): _Look(wrong=wrong, todo="put the files back", may_hold_pods=False)}
        inside = os.path.realpath(path)
        return {str(path): look} | {str(path / entry.name): self._entry(path, entry, inside) for entry in entries}

    def _entry(self, path: Path, entry: os.DirEntry[str], inside: str) -> _Look:
        file = path / entry.name
        self._inside[str(file)] = inside
        try:
            if not entry.is_symlink():
                return _look_of(os.stat(file))
            pinned = os.open(file, os.O_PATH | os.O_CLOEXEC)
        except OSError as failed:
            if not entry.is_symlink() and failed.errno == ENOENT:
                return _GONE
            return _Look(wrong=f"cannot be read: {failed.strerror}")
        try:
            if wrong := self._leads_out(pinned, str(file)):
                return _Look(wrong=wrong, todo="put the file itself there", may_hold_pods=False)
            target = Path(os.readlink(f"/proc/self/fd/{pinned}"))
            self._watch(target.parent, _NAMES | _CONTENT, target.name, file)
            return _look_of(os.fstat(pinned))
        finally:
            os.close(pinned)

    def _watch_name(self, path: Path, at: str) -> None:
        """Has inotify tell when the file of a name comes, goes or is replaced."""
        directory, _, name = at.rpartition("/")
        self._watch(Path(directory or "/"), _NAMES, name, path)

    def _watch(self, directory: Path, mask: int, name: str, path: Path) -> None:
        if self._inotify is None:
            return
        try:
            watch = self._inotify.add_watch(directory, mask | flags.MASK_ADD)
        except OSError as failed:
            if failed.errno in (ENOSPC, ENOMEM):  # ENOSPC is the user's limit
                self._cannot_watch(failed)
            return
        self._names.setdefault(watch, {})[name] = str(path)

    def _unwatch(self, watch: int) -> None:
        assert self._inotify is not None
        try:
            self._inotify.rm_watch(watch)
        except OSError:
            pass  # inotify removed it together with the file

    def _cannot_watch(self, failed: OSError) -> None:
        text = f"inotify: {failed.strerror}: files are looked at every {_AGAIN:.0f} seconds only"
        self._store.complain("inotify", text, "raise fs.inotify.max_user_*", may_hold_pods=False)

    def _has_events(self, now: float) -> bool:
        """Has inotify reported an event for one of the paths?"""
        matters = False
        for event in self._inotify.read(timeout=0) if self._inotify is not None else ():
            if event.mask & flags.Q_OVERFLOW:
                self._written.clear()
                matters = True
                continue
            names = self._names.get(event.wd, {})
            if event.name in names:
                origin = names[event.name]
            elif "" in names:
                origin = f"{names['']}/{event.name}" if event.name else names[""]
            else:
                continue
            if event.mask & flags.MODIFY:
                self._written[origin] = now
            elif event.mask & ~flags.ATTRIB:
                self._written.pop(origin, None)
            matters = True
        return matters


def _look_of(found: os.stat_result) -> _Look:
    if wrong := _no_file(found.st_mode):
        return _Look(wrong=wrong, may_hold_pods=False)
    return _Look((found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns))


def _no_file(mode: int) -> str:
    return "" if stat.S_ISREG(mode) else f"is {_KINDS.get(stat.S_IFMT(mode), 'something')}, not a file"
