"""The states of paths, and of the files in directories, by stat: another state is a change."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from errno import ENOENT
from pathlib import Path

from cgroup_engine.inputs.pods import is_pod_file
from cgroup_engine.sources.path_watch import PathWatch

_MAX_FILES = 5_000  # in one directory
_KINDS = {
    stat.S_IFIFO: "a fifo",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a directory",
}


@dataclass(frozen=True)
class PathState:
    """A path's state by stat; another state is a change. ``wrong``: why the path cannot be used."""

    signature: tuple[int, ...] = ()
    directory: bool = False
    wrong: str = ""
    todo: str = ""
    may_hold_pods: bool = True


GONE = PathState(wrong="is gone")
MISSING = PathState(wrong=f"cannot be read: {os.strerror(ENOENT)}")


class PathScan:
    """Finds the states of paths; a directory stands for its files too. ``watch``: told to watch all of them."""

    def __init__(self, paths: Iterable[Path], watch: PathWatch) -> None:
        self._paths, self._watch = list(paths), watch
        self._inside: dict[str, str] = {}  # a listed file -> its real directory, which a link must not leave

    def states(self, known: Mapping[str, PathState]) -> dict[str, PathState]:
        """The state of every path, and of every file in a directory; ``known``: the states that are in force."""
        self._watch.begin()
        self._inside = {}
        states: dict[str, PathState] = {}
        for path in self._paths:
            self._watch.add_name(path, os.path.abspath(path))
            if path.is_symlink():
                self._watch.add_name(path, os.path.realpath(path))
            try:
                found = os.stat(path)
            except OSError as failed:
                if state := self._missing(path, failed, known):
                    states[str(path)] = state
                continue
            self._watch.add_contents(path, path)
            if stat.S_ISDIR(found.st_mode):
                states |= self._entries(path, PathState((found.st_dev, found.st_ino), directory=True), known)
            else:
                states[str(path)] = _state_of(found)
        self._watch.end()
        return states

    @staticmethod
    def _missing(path: Path, failed: OSError, known: Mapping[str, PathState]) -> PathState | None:
        """The state of a path that cannot be read; None for a removed file whose directory is still there."""
        if any(each.startswith(f"{path}/") for each in known):
            text = f"cannot be read: {failed.strerror}; what was in it stays in force"
            return PathState(wrong=text, todo="put the directory back", may_hold_pods=False)
        if failed.errno == ENOENT and path.parent.is_dir():
            return None
        return PathState(wrong=f"cannot be read: {failed.strerror}")

    def _entries(self, path: Path, state: PathState, known: Mapping[str, PathState]) -> dict[str, PathState]:
        try:
            with os.scandir(path) as listed:
                entries = sorted((entry for entry in listed if is_pod_file(entry.name)), key=lambda entry: entry.name)
        except OSError as failed:
            return {str(path): self._missing(path, failed, known) or MISSING}
        if len(entries) > _MAX_FILES:
            wrong = f"holds {len(entries)} files, more than {_MAX_FILES}"
            return {str(path): PathState(wrong=wrong, todo="use lists of pods, or several directories")}
        before = known.get(str(path))
        if not entries and before not in (None, state) and any(each.startswith(f"{path}/") for each in known):
            # such as a mount point after its file system was unmounted
            wrong = "was replaced by an empty directory; what was in it stays in force"
            return {str(path): PathState(wrong=wrong, todo="put the files back", may_hold_pods=False)}
        inside = os.path.realpath(path)
        return {str(path): state} | {str(path / entry.name): self._entry(path, entry, inside) for entry in entries}

    def _entry(self, path: Path, entry: os.DirEntry[str], inside: str) -> PathState:
        file = path / entry.name
        self._inside[str(file)] = inside
        try:
            if not entry.is_symlink():
                return _state_of(os.stat(file))
            pinned = os.open(file, os.O_PATH | os.O_CLOEXEC)
        except OSError as failed:
            if not entry.is_symlink() and failed.errno == ENOENT:
                return GONE
            return PathState(wrong=f"cannot be read: {failed.strerror}")
        try:
            if wrong := self.leads_out(pinned, str(file)):
                return PathState(wrong=wrong, todo="put the file itself there", may_hold_pods=False)
            target = Path(os.readlink(f"/proc/self/fd/{pinned}"))
            self._watch.add_contents(target.parent, file, target.name)
            return _state_of(os.fstat(pinned))
        finally:
            os.close(pinned)

    def leads_out(self, pinned: int, origin: str) -> str:
        """Why an opened file is a link out of its directory; "" if it is not one."""
        inside = self._inside.get(origin)
        if inside is None or os.readlink(f"/proc/self/fd/{pinned}").startswith(f"{inside.rstrip('/')}/"):
            return ""
        return "is a link that leads out of its directory, so it is not followed"


def _state_of(found: os.stat_result) -> PathState:
    if wrong := no_file(found.st_mode):
        return PathState(wrong=wrong, may_hold_pods=False)
    return PathState((found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns))


def no_file(mode: int) -> str:
    """Why a path with this mode is no file; "" if it is one."""
    return "" if stat.S_ISREG(mode) else f"is {_KINDS.get(stat.S_IFMT(mode), 'something')}, not a file"
