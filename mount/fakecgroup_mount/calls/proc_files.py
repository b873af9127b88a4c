"""The files of /proc that tell of cgroups, mounts and limits, for processes of the sandbox."""

from __future__ import annotations

from collections.abc import Callable

from fakecgroup.outside.mountinfo import (
    escape,
    file_system,
    mounts_line,
    mountstats_line,
    options,
    shown_root,
)
from fakecgroup.outside.proc_files import cgroup_text, cgroups_text, cpuset_text, has_cpuset_text
from fakecgroup_mount.calls.cgroup_namespaces import CgroupNamespaces
from fakecgroup_mount.calls.masked_cgroups import masked
from fakecgroup_mount.calls.mounted_tree import MountedTree, Places
from fakecgroup_mount.calls.prlimit import PrlimitCalls
from fakecgroup_mount.host.mountinfo import parse


class AbsentError(Exception):
    """The kernel of the tree has no such file."""


class ProcFiles:
    """Makes the text of each file of process `pid` for the thread `reader`.

    Raises FileNotFoundError for a process that is gone, AbsentError for a file that the tree's kernel does not have.
    """

    def __init__(self, tree: MountedTree, namespaces: CgroupNamespaces, limits: PrlimitCalls) -> None:
        self._tree = tree
        self._namespaces = namespaces
        self._of_process: dict[bytes, Callable[[int, int], bytes]] = {
            b"cgroup": self.cgroup,
            b"cpuset": self.cpuset,
            b"limits": limits.text,
            b"mountstats": self.mountstats,
        }

    def text(self, name: bytes, pid: int, reader: int) -> bytes:
        """The file `name` of a process, or with pid 0 of the machine. Raises KeyError for a file that is not ours."""
        if pid:
            return self._of_process[name](pid, reader)
        return {b"cgroups": self.cgroups, b"filesystems": self.filesystems}[name]()

    def cgroup(self, pid: int, reader: int) -> bytes:
        """/proc/PID/cgroup."""
        roots = self._namespaces.root(reader)
        found = self._tree.find(pid)
        if found is None:
            raise FileNotFoundError
        with self._tree.lock:
            return cgroup_text(*found, roots).encode(errors="surrogateescape")

    def cpuset(self, pid: int, reader: int) -> bytes:
        """/proc/PID/cpuset."""
        roots = self._namespaces.root(reader)
        if not has_cpuset_text(self._tree.kernel.personality):
            raise AbsentError
        places = self._tree.places(pid)
        if places is None:
            raise FileNotFoundError
        with self._tree.lock:
            return cpuset_text(places, roots).encode(errors="surrogateescape")

    def cgroups(self) -> bytes:
        """/proc/cgroups."""
        kernel = self._tree.kernel
        with self._tree.lock:
            return cgroups_text(kernel.hierarchies, kernel.personality).encode()

    def filesystems(self) -> bytes:
        """/proc/filesystems: the machine's text, with both cgroup file systems."""
        with open("/proc/filesystems", "rb") as file:
            text = file.read()
        for name in (b"nodev\tcgroup\n", b"nodev\tcgroup2\n"):
            text += b"" if name in text else name
        return text

    def mountinfo(self, real: bytes, reader: int) -> bytes:
        """/proc/PID/mountinfo: the tree is shown as a cgroup file system, the machine's own cgroup mounts are left out.

        `real` is the machine's text.
        """
        return b"".join(self._mounts(real, reader))

    def mounts(self, real: bytes, reader: int) -> bytes:
        """/proc/PID/mounts, with the same mounts; `real` is the machine's mountinfo."""
        return b"".join(map(mounts_line, self._mounts(real, reader)))

    def mountstats(self, pid: int, reader: int) -> bytes:
        """/proc/PID/mountstats. Raises OSError."""
        with open(f"/proc/{pid}/mountinfo", "rb") as file:
            real = file.read()
        return b"".join(map(mountstats_line, self._mounts(real, reader)))

    def _mounts(self, real: bytes, reader: int) -> list[bytes]:
        """The lines of mountinfo to show: neither masks nor what they hide. Parents are those that are shown."""
        lines = real.splitlines(keepends=True)
        table = list(map(parse, lines))
        hidden = masked(self._tree.masks, table)
        parents = {mount.number: mount.parent for mount in table}
        device = self._tree.device.decode()
        root = self._namespaces.root(reader)
        shown = []
        for mount, line in zip(table, lines, strict=True):
            if mount.fstype in ("cgroup", "cgroup2") or mount.number in hidden:
                continue
            fields = line.split(b" ")
            parent = mount.parent
            while parent in hidden and parent in parents:
                parent = parents[parent]
            fields[1] = b"%d" % parent
            of_tree = mount.ours and mount.device == device
            shown.append(self._line_of_tree(fields, root) if of_tree else b" ".join(fields))
        return list(filter(None, shown))

    def _line_of_tree(self, fields: list[bytes], root: Places) -> bytes:
        """The line for a mount of the tree, as the tree's kernel shows it; empty for the top of v1, a tmpfs."""
        directory = fields[3].removesuffix(b"//deleted")  # kernfs does not add it
        kernel = self._tree.kernel
        hierarchy = kernel.hierarchies[0]
        if self._tree.hierarchies:
            name, _, directory = directory[1:].partition(b"/")
            found = self._tree.hierarchies.get(name.decode())
            if found is None:
                return b""
            hierarchy, directory = found, b"/" + directory
        fields[3] = shown_root(root[kernel.hierarchies.index(hierarchy)], directory)
        given = self._tree.sources.of(fields)
        kind = file_system(hierarchy)
        source = kind if given is None else escape(given)
        return b" ".join([*fields[: fields.index(b"-") + 1], kind, source, options(hierarchy).encode()]) + b"\n"
