"""The texts of /proc that tell of cgroups, for the fake."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from fakecgroup.core.hierarchy import Hierarchy
from fakecgroup_mount.calls.cgroup_namespaces import CgroupNamespaces, path_from, relative
from fakecgroup_mount.calls.covers import hidden
from fakecgroup_mount.calls.limits import Limits
from fakecgroup_mount.calls.mounted_tree import Places, Tree
from fakecgroup_mount.host.mountinfo import parse

# Every subsystem in the order of the kernel's table (include/linux/cgroup_subsys.h), the option that it is built by,
# and the one that its v1 files are built by.
_SUBSYSTEMS = (
    ("cpuset", None, "CPUSETS_V1"),
    ("cpu", None, None),
    ("cpuacct", None, None),
    ("blkio", None, None),
    ("memory", None, "MEMCG_V1"),
    ("devices", None, None),
    ("freezer", None, None),
    ("net_cls", "CGROUP_NET_CLASSID", None),
    ("perf_event", "CGROUP_PERF", None),
    ("net_prio", "CGROUP_NET_PRIO", None),
    ("hugetlb", "CGROUP_HUGETLB", None),
    ("pids", None, None),
    ("rdma", "CGROUP_RDMA", None),
    ("misc", "CGROUP_MISC", None),
)
_ESCAPED = re.compile(rb"[ \t\n\\#]")


class AbsentError(Exception):
    """The kernel that is played has no such file."""


class ProcFiles:
    """Makes the text of each file for the thread `reader`; `pid` is whose file it is.

    Raises FileNotFoundError for a process that is gone, AbsentError.
    """

    def __init__(self, tree: Tree, namespaces: CgroupNamespaces, limits: Limits) -> None:
        self._tree = tree
        self._namespaces = namespaces
        kernel = tree.kernel
        self._v1 = [hierarchy for hierarchy in kernel.hierarchies if not hierarchy.dfl]
        self._of_process: dict[bytes, Callable[[int, int], bytes]] = {
            b"cgroup": self.cgroup,
            b"cpuset": self.cpuset,
            b"limits": limits.text,
            b"mountstats": self.mountstats,
        }

    def text(self, name: bytes, pid: int, reader: int) -> bytes:
        """The file `name` of a process, or with pid 0 of the machine. Raises KeyError where that is not ours."""
        if pid:
            return self._of_process[name](pid, reader)
        return {b"cgroups": self.cgroups, b"filesystems": self.filesystems}[name]()

    def cgroup(self, pid: int, reader: int) -> bytes:
        """/proc/PID/cgroup: each v1 hierarchy, the one mounted last first, then the unified (proc_cgroup_show)."""
        tree, root = self._tree, self._namespaces.root(reader)
        places = tree.places(pid)
        if places is None:
            raise FileNotFoundError
        with tree.lock:
            task = tree.kernel.processes.find(pid)
            lines = []
            for hierarchy, top, cgroup in zip(tree.kernel.hierarchies, root, places, strict=True):
                if hierarchy.dfl:
                    gone = "" if cgroup.alive else " (deleted)"
                    lines.append(f"0::{path_from(top, cgroup)}{gone}\n")
                else:
                    where = hierarchy.root if task is not None and task.zombie else cgroup
                    number = self._v1.index(hierarchy) + 1
                    lines.append(f"{number}:{hierarchy.label}:{path_from(top, where)}\n")
        unified = [line for line in lines if line.startswith("0:")]
        return "".join([*reversed([line for line in lines if line not in unified]), *unified]).encode(
            errors="surrogateescape"
        )

    def cpuset(self, pid: int, reader: int) -> bytes:
        """/proc/PID/cpuset: the cgroup whose cpuset holds for the process (proc_cpuset_show). 7.2 has none."""
        tree, root = self._tree, self._namespaces.root(reader)
        if tree.kernel.personality.at_least(7, 2):
            raise AbsentError
        places = tree.places(pid)
        if places is None:
            raise FileNotFoundError
        with tree.lock:
            for top, place in zip(root, places, strict=True):
                css = place.effective_css("cpuset")
                if css is not None:
                    return path_from(top, css.cgroup).encode(errors="surrogateescape") + b"\n"
        return b"/\n"

    def cgroups(self) -> bytes:
        """/proc/cgroups (proc_cgroupstats_show). 7.2 has only what could be bound to a v1 hierarchy."""
        kernel = self._tree.kernel
        lines = ["#subsys_name\thierarchy\tnum_cgroups\tenabled\n"]
        with self._tree.lock:
            unified = next((_count(hierarchy) for hierarchy in kernel.hierarchies if hierarchy.dfl), 1)
            bound = {
                controller.legacy_name or controller.name: (number, _count(hierarchy))
                for number, hierarchy in enumerate(self._v1, start=1)
                for controller in hierarchy.controllers.values()
            }
        for name, option, option_v1 in _SUBSYSTEMS:
            has = kernel.personality.has
            if has(option) and (has(option_v1) or not kernel.personality.at_least(7, 2)):
                number, count = bound.get(name, (0, unified))
                lines.append(f"{name}\t{number}\t{count}\t1\n")
        return "".join(lines).encode()

    def filesystems(self) -> bytes:
        """/proc/filesystems: as it is, with both kinds of cgroup file system."""
        text = Path("/proc/filesystems").read_bytes()
        for name in (b"nodev\tcgroup\n", b"nodev\tcgroup2\n"):
            text += b"" if name in text else name
        return text

    def mountinfo(self, real: bytes, reader: int) -> bytes:
        """/proc/PID/mountinfo with the tree as what it plays, and without the machine's own cgroup mounts; `real` is as
        the kernel has it.
        """
        return b"".join(self._mounts(real, reader))

    def mounts(self, real: bytes, reader: int) -> bytes:
        """/proc/PID/mounts likewise."""
        shown = []
        for line in self._mounts(real, reader):
            fields = line.split(b" ")
            fstype, source, of_system = line.rstrip(b"\n").partition(b" - ")[2].split(b" ", 2)
            own, system = fields[5].split(b","), of_system.split(b",")
            access = b"ro" if b"ro" in (own[0], system[0]) else b"rw"
            shown.append(b"%s %s %s %s 0 0\n" % (source, fields[4], fstype, b",".join([access, *own[1:], *system[1:]])))
        return b"".join(shown)

    def mountstats(self, pid: int, reader: int) -> bytes:
        """/proc/PID/mountstats (show_vfsstat), without what NFS adds. Raises OSError."""
        shown = []
        for line in self._mounts(Path(f"/proc/{pid}/mountinfo").read_bytes(), reader):
            point = line.split(b" ")[4]
            fstype, source = line.partition(b" - ")[2].split(b" ")[:2]
            shown.append(b"device %s mounted on %s with fstype %s\n" % (source, point, fstype))
        return b"".join(shown)

    def _mounts(self, real: bytes, reader: int) -> list[bytes]:
        """The lines of mountinfo to show: not those of covers, nor of what nobody can reach for them."""
        lines = real.splitlines(keepends=True)
        table = list(map(parse, lines))
        covered = hidden(self._tree.covers, table)
        parents = {mount.number: mount.parent for mount in table}
        device = self._tree.device.decode()
        root = self._namespaces.root(reader)
        shown = []
        for mount, line in zip(table, lines, strict=True):
            if mount.fstype in ("cgroup", "cgroup2") or mount.number in covered:
                continue
            fields = line.split(b" ")
            parent = mount.parent
            while parent in covered and parent in parents:
                parent = parents[parent]
            fields[1] = b"%d" % parent
            played = self._played(fields, root) if mount.ours and mount.device == device else b" ".join(fields)
            if played:
                shown.append(played)
        return shown

    def _played(self, fields: list[bytes], root: Places) -> bytes:
        """A line of the tree's as the kernel would show it (cgroup_show_path, cgroup1_show_options)."""
        directory = fields[3].removesuffix(b"//deleted")  # of a directory that is gone, which kernfs does not say
        kernel = self._tree.kernel
        hierarchy = kernel.hierarchies[0]
        if self._tree.hierarchies:
            name, _, directory = directory[1:].partition(b"/")
            found = self._tree.hierarchies.get(name.decode())
            if found is None:  # the top itself, which is a tmpfs in what it plays
                return b""
            hierarchy, directory = found, b"/" + directory
        top = root[kernel.hierarchies.index(hierarchy)].path
        escaped = _escape(top.encode(errors="surrogateescape"))
        shown = relative(escaped.decode(errors="surrogateescape"), directory.decode(errors="surrogateescape"))
        fields[3] = shown.encode(errors="surrogateescape")
        kind = b"cgroup2" if hierarchy.dfl else b"cgroup"
        options = "rw"
        if not hierarchy.dfl:
            options += (",xattr," if hierarchy.name else ",") + hierarchy.label  # xattr as systemd mounts it
        options = ",".join([options, *hierarchy.options])
        source = self._tree.sources.of(fields)
        source = kind if source is None else _escape(source)
        return b" ".join([*fields[: fields.index(b"-") + 1], kind, source, options.encode()]) + b"\n"


def _escape(text: bytes) -> bytes:
    return _ESCAPED.sub(lambda match: b"\\%03o" % match[0][0], text)


def _count(hierarchy: Hierarchy) -> int:
    """Its cgroups, the root included."""
    return 1 + sum(1 for _ in hierarchy.root.descendants())
