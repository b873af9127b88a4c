"""Watches paths by inotify, which says when to look at them again."""

from __future__ import annotations

from errno import ENOMEM, ENOSPC
from pathlib import Path

from inotify_simple import INotify, flags

_NAMES = flags.CREATE | flags.DELETE | flags.MOVED_FROM | flags.MOVED_TO | flags.DELETE_SELF | flags.MOVE_SELF
_CONTENT = flags.MODIFY | flags.CLOSE_WRITE | flags.ATTRIB


class PathWatch:
    """inotify's watches, renewed at each look: ``begin``, the ``add`` methods for all paths, ``end``.

    ``failed``: why inotify cannot watch, or None. ``written``: path of a file -> when a write was last seen.
    """

    def __init__(self) -> None:
        self.failed: OSError | None = None
        self.written: dict[str, float] = {}  # only of files that are still being written
        self._names: dict[int, dict[str, str]] = {}  # watch -> name ("": any) -> the path of that name
        self._former: dict[int, dict[str, str]] = {}
        self._inotify: INotify | None = None
        try:
            self._inotify = INotify(nonblocking=True)
        except OSError as failed:
            self.failed = failed

    def fileno(self) -> int | None:
        """Readable after an event; None without inotify."""
        return None if self._inotify is None else self._inotify.fileno()

    def close(self) -> None:
        """Ends all watches."""
        if self._inotify is not None:
            self._inotify.close()

    def begin(self) -> None:
        """Begins a look; ``end`` removes the watches that are not added again."""
        self._former, self._names = self._names, {}

    def end(self) -> None:
        """Removes the watches that were not added again."""
        for watch in self._former.keys() - self._names.keys():
            assert self._inotify is not None
            try:
                self._inotify.rm_watch(watch)
            except OSError:
                pass  # inotify removed it together with the file

    def add_name(self, path: Path, at: str) -> None:
        """Has inotify tell when the file of a name comes, goes or is replaced; ``at``: its absolute path."""
        directory, _, name = at.rpartition("/")
        self._add(Path(directory or "/"), _NAMES, name, path)

    def add_contents(self, directory: Path, path: Path, name: str = "") -> None:
        """Has inotify tell of all changes in a directory, or of those of one name; also of a file itself."""
        self._add(directory, _NAMES | _CONTENT, name, path)

    def _add(self, directory: Path, mask: int, name: str, path: Path) -> None:
        if self._inotify is None:
            return
        try:
            watch = self._inotify.add_watch(directory, mask | flags.MASK_ADD)
        except OSError as failed:
            if failed.errno in (ENOSPC, ENOMEM):  # ENOSPC is the user's limit
                self.failed = failed
            return
        self._names.setdefault(watch, {})[name] = str(path)

    def has_events(self, now: float) -> bool:
        """Has inotify reported an event for one of the paths? Also notes which files are being written."""
        matters = False
        for event in self._inotify.read(timeout=0) if self._inotify is not None else ():
            if event.mask & flags.Q_OVERFLOW:
                self.written.clear()
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
                self.written[origin] = now
            elif event.mask & ~flags.ATTRIB:
                self.written.pop(origin, None)
            matters = True
        return matters
