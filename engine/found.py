"""The found tree: what is at a cgroup root, as far as the engine looks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from errno import ENODEV, ENOENT, ENOTDIR, EOPNOTSUPP

from engine.errors import RootError, errno_name
from engine.fs import CgroupFs
from engine.hugepages import page_size_of_file
from engine.knobs import Knob, Setting, readable_knobs
from engine.layout import Layout

#: An interface file belongs to one of these, and no cgroup of ours is called so.
FILE_PREFIXES = ("cgroup.", "cpu.", "cpuacct.", "cpuset.", "memory.", "pids.", "io.", "hugetlb.", "rdma.", "misc.",
                  "irq.", "dmem.")  # fmt: skip
_V1_FILES = ("tasks", "notify_on_release", "release_agent")


@dataclass(frozen=True)
class FoundCgroup:
    """One cgroup that exists in at least one tree.

    ``trees``: where. ``settings``: field -> setting, of the knobs that could be read. ``enabled``: v2, the
    controllers in its cgroup.subtree_control. ``children``: names of its child cgroups in any tree.
    """

    path: str
    trees: frozenset[str]
    settings: Mapping[str, Setting] = field(default_factory=dict)
    enabled: frozenset[str] = frozenset()
    children: tuple[str, ...] = ()


class FoundTree:
    """Reads cgroups when they are asked for, each once."""

    def __init__(self, fs: CgroupFs, layout: Layout) -> None:
        self.fs = fs
        self.layout = layout
        self._cache: dict[str, FoundCgroup | None] = {}

    def get(self, path: str) -> FoundCgroup | None:
        """A cgroup by its path below the root; None if it is in no tree.

        :raises RootError: it cannot be read.
        """
        if path not in self._cache:
            self._cache[path] = self._read(path)
        return self._cache[path]

    def below(self, path: str) -> Iterable[FoundCgroup]:
        """A cgroup and all its descendants, parents before children."""
        cgroup = self.get(path)
        if cgroup is not None:
            yield cgroup
            for name in cgroup.children:
                yield from self.below(f"{path}/{name}" if path else name)

    def processes(self, path: str) -> list[int]:
        """The processes in a cgroup itself, of every tree. A v2 cgroup of threads counts as empty here.

        :raises RootError: they cannot be read.
        """
        cgroup = self.get(path)
        pids: set[int] = set()
        for tree in cgroup.trees if cgroup is not None else ():
            text = self._text(f"{self.layout.directory(tree, path)}/cgroup.procs".lstrip("/"))
            pids.update(int(line) for line in (text or "").split())
        return sorted(pids)

    def cpuset(self, path: str, file: str) -> str:
        """The text of cpuset.cpus or cpuset.mems; "" where the cgroup or the controller is not.

        :raises RootError: it cannot be read.
        """
        there = self.get(path)
        if there is None or self.layout.tree_of.get("cpuset") not in there.trees:
            return ""
        return (self._text(self.layout.file("cpuset", path, file)) or "").strip()

    def _read(self, path: str) -> FoundCgroup | None:
        if self._cache.get(path.rpartition("/")[0], self) is None:
            return None  # there is nothing below nothing
        trees = frozenset(
            tree for tree in self.layout.trees if path == "" or self.fs.is_dir(self.layout.directory(tree, path))
        )
        if not trees:
            return None
        settings: dict[str, Setting] = {}
        for knob in readable_knobs(self.layout, self._page_sizes(path, trees)) if path else ():
            if self.layout.tree_of[knob.controller] in trees:
                setting = self._setting(knob, path)
                if setting is not None:
                    settings[knob.field] = setting
        enabled: frozenset[str] = frozenset()
        if self.layout.version == 2:
            file = f"{path}/cgroup.subtree_control" if path else "cgroup.subtree_control"
            enabled = frozenset((self._text(file) or "").split())
        return FoundCgroup(path, trees, settings, enabled, self._children(path, trees))

    def _page_sizes(self, path: str, trees: Iterable[str]) -> list[int]:
        """The sizes of huge pages that have files in a cgroup."""
        tree = self.layout.tree_of.get("hugetlb")
        names = self._names(self.layout.directory(tree, path)) if tree is not None and tree in trees else ()
        return [size for name in names if (size := page_size_of_file(name)) is not None]

    def _setting(self, knob: Knob, path: str) -> Setting | None:
        texts = []
        for file in knob.files:
            text = self._text(self.layout.file(knob.controller, path, file))
            if text is None:
                return None
            texts.append(text.strip())
        try:
            knob.size(tuple(texts))
        except ValueError:
            raise RootError(
                f"{self.layout.file(knob.controller, path, knob.files[0])}: shows {texts!r}, which is no {knob.unit()}",
                path=path,
                todo="is this a cgroup file system?",
            ) from None
        return tuple(texts)

    def _children(self, path: str, trees: Iterable[str]) -> tuple[str, ...]:
        names: set[str] = set()
        for tree in trees:
            directory = self.layout.directory(tree, path)
            for name in self._names(directory):
                if name in _V1_FILES or name.startswith(FILE_PREFIXES):
                    continue
                if self.fs.is_dir(f"{directory}/{name}" if directory else name):
                    names.add(name)
        return tuple(sorted(names))

    def _names(self, directory: str) -> Sequence[str]:
        try:
            return self.fs.listdir(directory)
        except OSError as failed:
            if failed.errno in (ENOENT, ENODEV, ENOTDIR):
                return ()
            raise self._unreadable(directory, failed) from None

    def _text(self, file: str) -> str | None:
        """The text of a file; None if there is no such file (any more), or no controller behind it."""
        try:
            return self.fs.read(file)
        except OSError as failed:
            if failed.errno in (ENOENT, ENODEV, ENOTDIR, EOPNOTSUPP):  # the last: cgroup.procs of a threaded cgroup
                return None
            raise self._unreadable(file, failed) from None

    @staticmethod
    def _unreadable(path: str, failed: OSError) -> RootError:
        name = errno_name(failed.errno or 0)
        return RootError(f"{path}: cannot be read: {name}", path=path, errno=failed.errno, todo="run as a user who may")
