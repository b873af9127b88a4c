"""A cgroup mount in /proc/PID/mountinfo, /proc/PID/mounts and /proc/PID/mountstats (fs/proc_namespace.c)."""

from __future__ import annotations

from ..core.cgroup import Cgroup
from ..core.hierarchy import Hierarchy
from ..late_pattern import pattern
from .namespace_paths import relative

_ESCAPED = pattern(rb"[ \t\n\\#]")


def escape(text: bytes) -> bytes:
    """Writes space, tab, newline, backslash and # as \\ooo (mangle)."""
    return _ESCAPED().sub(lambda match: b"\\%03o" % match[0][0], text)


def shown_root(root: Cgroup, directory: bytes) -> bytes:
    """The root of a mount whose root is `directory`, for a namespace whose root is `root` (cgroup_show_path).

    `directory` is a path from the hierarchy's root, as mountinfo escapes it.
    """
    top = escape(root.path.encode(errors="surrogateescape"))
    shown = relative(top.decode(errors="surrogateescape"), directory.decode(errors="surrogateescape"))
    return shown.encode(errors="surrogateescape")


def file_system(hierarchy: Hierarchy) -> bytes:
    """The file system type that a hierarchy is mounted as."""
    return b"cgroup2" if hierarchy.dfl else b"cgroup"


def options(hierarchy: Hierarchy) -> str:
    """The super block's options (cgroup1_show_options, cgroup_show_options).

    A named v1 hierarchy has `xattr`, as systemd mounts it.
    """
    words = ["rw"]
    if not hierarchy.dfl:
        words += ["xattr", hierarchy.label] if hierarchy.name else [hierarchy.label]
    return ",".join([*words, *hierarchy.options])


def mounts_line(mountinfo: bytes) -> bytes:
    """The line of /proc/PID/mounts for a line of mountinfo (show_vfsmnt)."""
    fields = mountinfo.split(b" ")
    fstype, source, of_system = mountinfo.rstrip(b"\n").partition(b" - ")[2].split(b" ", 2)
    own, system = fields[5].split(b","), of_system.split(b",")
    access = b"ro" if b"ro" in (own[0], system[0]) else b"rw"
    return b"%s %s %s %s 0 0\n" % (source, fields[4], fstype, b",".join([access, *own[1:], *system[1:]]))


def mountstats_line(mountinfo: bytes) -> bytes:
    """The line of /proc/PID/mountstats for a line of mountinfo (show_vfsstat). NFS would add more."""
    point = mountinfo.split(b" ")[4]
    fstype, source = mountinfo.partition(b" - ")[2].split(b" ")[:2]
    return b"device %s mounted on %s with fstype %s\n" % (source, point, fstype)
