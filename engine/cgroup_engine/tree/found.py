"""The found tree: the cgroups at a root, read when the engine asks for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from errno import ELOOP, ENODEV, ENOENT, ENOTDIR, EOPNOTSUPP
from functools import cached_property

from cgroup_engine.errors import RootError, errno_name, quoted
from cgroup_engine.tree.fs import CgroupFs, has_just
from cgroup_engine.tree.knobs import Knob, Setting
from cgroup_engine.tree.layout import Layout

_FEW = 8  # names: a list of more costs less than to ask for each


class FoundCgroup:
    """One cgroup that exists in at least one of the ``hierarchies``. Its files are read on demand, each once.

    :raises RootError: by every attribute and method: a file cannot be read.
    """

    def __init__(
        self, path: str, hierarchies: frozenset[str], found: FoundTree, settings: Mapping[str, Setting] | None = None
    ) -> None:
        self.path = path
        self.hierarchies = hierarchies
        self._found = found
        self._settings: dict[str, Setting | None] = dict(settings or {})

    def setting(self, knob: Knob) -> Setting | None:
        """The texts in the files of a knob; None if they are not there."""
        if knob.field not in self._settings:
            self._settings[knob.field] = self._found.setting(knob, self)
        return self._settings[knob.field]

    @cached_property
    def enabled(self) -> frozenset[str]:
        """v2: the controllers in its cgroup.subtree_control."""
        return self._found.enabled(self.path)

    @cached_property
    def children(self) -> tuple[str, ...]:
        """The names of its child cgroups in any hierarchy."""
        return self._found.children(self)


class FoundTree:
    """Reads cgroups on demand, each once.

    ``sparse``: only a few will be asked for, so each is looked up by itself and not in its parent's listing.
    """

    def __init__(self, fs: CgroupFs, layout: Layout, *, sparse: bool = False) -> None:
        self.fs = fs
        self.layout = layout
        self._sparse = sparse
        self._cache: dict[str, FoundCgroup | None] = {}
        self._listed: dict[tuple[str, str], frozenset[str]] = {}
        self._cpusets: dict[str, str] = {}
        self._expected: dict[str, set[str]] = {}

    def expect(self, paths: Iterable[str]) -> None:
        """Cgroups that should be there. A directory with just a few such ones need not be listed."""
        for path in paths:
            above, _, name = path.rpartition("/")
            self._expected.setdefault(above, set()).add(name)

    def get(self, path: str) -> FoundCgroup | None:
        """A cgroup by its path below the root; None if it is in no hierarchy.

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
        """The processes in a cgroup itself, in any hierarchy. A threaded v2 cgroup counts as empty.

        :raises RootError: they cannot be read.
        """
        cgroup = self.get(path)
        pids: set[int] = set()
        for hierarchy in cgroup.hierarchies if cgroup is not None else ():
            text = self._text(f"{self.layout.directory(hierarchy, path)}/cgroup.procs".lstrip("/"))
            pids.update(int(line) for line in (text or "").split())
        return sorted(pids)

    def cpuset(self, path: str, file: str) -> str:
        """The text of cpuset.cpus or cpuset.mems; "" if the cgroup or the controller is missing.

        :raises RootError: it cannot be read.
        """
        there = self.get(path)
        if there is None or self.layout.hierarchy_of.get("cpuset") not in there.hierarchies:
            return ""
        file = self.layout.file("cpuset", path, file)
        if file not in self._cpusets:
            self._cpusets[file] = (self._text(file) or "").strip()
        return self._cpusets[file]

    def setting(self, knob: Knob, cgroup: FoundCgroup) -> Setting | None:
        """Reads ``FoundCgroup.setting``."""
        if self.layout.hierarchy_of[knob.controller] not in cgroup.hierarchies:
            return None
        texts = []
        for name in knob.files:
            text = self._text(self.layout.file(knob.controller, cgroup.path, name))
            if text is None:
                return None
            texts.append(text.strip())
        try:
            knob.size(tuple(texts))
        except ValueError:
            raise RootError(
                f"{self.layout.file(knob.controller, cgroup.path, knob.files[0])}: shows {texts!r}, "
                f"which is no {knob.unit()}",
                path=cgroup.path,
                todo="is this a cgroup file system?",
            ) from None
        return tuple(texts)

    def enabled(self, path: str) -> frozenset[str]:
        """Reads ``FoundCgroup.enabled``."""
        if self.layout.version == 1:
            return frozenset()
        return frozenset((self._text(f"{path}/cgroup.subtree_control".lstrip("/")) or "").split())

    def children(self, cgroup: FoundCgroup) -> tuple[str, ...]:
        """Reads ``FoundCgroup.children``."""
        return tuple(sorted({name for each in cgroup.hierarchies for name in self._subdirectories(each, cgroup.path)}))

    def _read(self, path: str) -> FoundCgroup | None:
        if not path:
            return FoundCgroup(path, frozenset(self.layout.hierarchies), self)
        above, _, name = path.rpartition("/")
        parent = self.get(above)
        if parent is None:
            return None
        if self._sparse:
            there = [each for each in parent.hierarchies if self.fs.is_dir(self.layout.directory(each, path))]
        else:
            there = [each for each in parent.hierarchies if name in self._subdirectories(each, above)]
        return FoundCgroup(path, frozenset(there), self) if there else None

    def _subdirectories(self, hierarchy: str, path: str) -> frozenset[str]:
        place = hierarchy, path
        if place not in self._listed:
            directory = self.layout.directory(hierarchy, path)
            self._listed[place] = self._list(directory, frozenset(self._expected.get(path, ())))
        return self._listed[place]

    def _list(self, directory: str, expected: frozenset[str]) -> frozenset[str]:
        try:
            if 0 < len(expected) <= _FEW and has_just(self.fs, directory, expected):
                return expected
            return frozenset(self.fs.subdirectories(directory))
        except OSError as failed:
            if failed.errno in (ENOENT, ENODEV, ENOTDIR):
                return frozenset()
            raise self._unreadable(directory, failed) from None

    def _text(self, file: str) -> str | None:
        """The text of a file; None if there is no such file (any more), or no controller for it."""
        try:
            return self.fs.read(file)
        except OSError as failed:
            if failed.errno in (ENOENT, ENODEV, ENOTDIR, EOPNOTSUPP):  # the last: cgroup.procs of a threaded cgroup
                return None
            raise self._unreadable(file, failed) from None

    @staticmethod
    def _unreadable(path: str, failed: OSError) -> RootError:
        if failed.errno == ELOOP and failed.filename is not None:
            link = quoted(failed.filename)
            todo = "no link below the root is followed; remove it"
            return RootError(f"{path}: cannot be read: {link} is a symbolic link", path=path, errno=ELOOP, todo=todo)
        name = errno_name(failed.errno or 0)
        return RootError(f"{path}: cannot be read: {name}", path=path, errno=failed.errno, todo="run as a user who may")
