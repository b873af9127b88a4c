"""What a snapshot has: the machine, its hierarchies with each file's bytes, its processes.

Names are text as ``os.fsdecode`` makes it. Paths of cgroups begin at the root of their hierarchy, which is "/".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

NO_XATTRS: Mapping[str, bytes] = {}
NODE, FAKE, TALOS = "node", "fake", "talos"
NOT_READ = "not read"
"""The error of a file that nobody has tried to read, or whose bytes were lost."""


@dataclass(frozen=True, slots=True)
class Attributes:
    """What stat(2) and listxattr(2) say of a file or directory; `mode` are the permission bits."""

    mode: int
    uid: int = 0
    gid: int = 0
    xattrs: Mapping[str, bytes] = field(default_factory=lambda: NO_XATTRS)


@dataclass(frozen=True, slots=True)
class SeenFile:
    """An interface file: its bytes, or the name of the error that a read gave (`EINVAL`: it has no reader)."""

    data: bytes | None
    error: str
    attributes: Attributes


@dataclass(slots=True)
class SeenCgroup:
    """A cgroup's directory."""

    path: str
    attributes: Attributes
    files: dict[str, SeenFile] = field(default_factory=dict)


@dataclass(slots=True)
class SeenHierarchy:
    """A hierarchy: its directory below the root of the snapshot ("" for the layout v2), and its cgroups, parents first.

    `controllers` are by the kernel's names there (`blkio` on v1). `name` is that of a named one. `options` are mount
    options. `links` lead to the directory.
    """

    directory: str
    unified: bool
    controllers: tuple[str, ...] = ()
    name: str = ""
    options: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    cgroups: list[SeenCgroup] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class SeenProcess:
    """A process: memory in bytes, CPU time in ns. `threads` are its tids, the leader's too.

    `command` is its command line. `kernel` says that it is the kernel's own. What nobody could see is 0, "" or empty.
    """

    pid: int
    name: str = ""
    command: tuple[str, ...] = ()
    threads: tuple[int, ...] = ()
    uid: int = 0
    anon: int = 0
    file: int = 0
    shmem: int = 0
    swap: int = 0
    user: int = 0
    system: int = 0
    nice: int = 0
    oom_score_adj: int = 0
    kernel: bool = False

    def as_seen(self, *, pid: int, threads: tuple[int, ...]) -> SeenProcess:
        """The same process with another number and other threads."""
        return replace(self, pid=pid, threads=threads)


@dataclass(frozen=True, slots=True)
class SeenMachine:
    """The machine: memory and swap in bytes, huge pages by their size in bytes, disks as `major:minor`.

    `online` is the list of CPUs that are, if not all of `cpus` are. What is not known is 0 or empty.
    """

    cpus: int
    nodes: int = 1
    memory: int = 0
    swap: int = 0
    huge_pages: Mapping[int, int] = field(default_factory=dict)
    block_devices: tuple[str, ...] = ()
    interfaces: tuple[str, ...] = ("lo",)
    architecture: str = ""
    online: str = ""


@dataclass(frozen=True, slots=True)
class SeenKernel:
    """The kernel: `release` as in uname(2), and the options of its configuration that are y or m, without CONFIG_.

    Of a fake, `plays` is what the model plays: a version, with the files that a learnt kernel was seen to have.
    """

    release: str
    config: frozenset[str] = frozenset()
    plays: Mapping[str, Any] | None = None


@dataclass(slots=True)
class Snapshot:
    """A tree of cgroups at one moment, `taken` in seconds since 1970; 0 if unknown.

    `origin` is NODE, FAKE or TALOS. `left_out` has a line for each kind of thing that could not be read. `state` is a
    fake's own state as `fakecgroup.snapshot.state` writes it. `called` is the file that it was read from.
    """

    layout: str
    origin: str
    kernel: SeenKernel
    machine: SeenMachine
    hierarchies: list[SeenHierarchy] = field(default_factory=list)
    processes: dict[int, SeenProcess] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    taken: int = 0
    redacted: bool = False
    state: list[Any] = field(default_factory=list)
    called: str = "snapshot"

    def cgroups(self) -> Iterator[tuple[SeenHierarchy, SeenCgroup]]:
        """Every cgroup with its hierarchy."""
        for hierarchy in self.hierarchies:
            for cgroup in hierarchy.cgroups:
                yield hierarchy, cgroup


def told_of(snapshot: Snapshot) -> str:
    """What a snapshot has, in one line."""
    cgroups = [cgroup for _, cgroup in snapshot.cgroups()]
    files = sum(file.data is not None for cgroup in cgroups for file in cgroup.files.values())
    kernel = f" of kernel {snapshot.kernel.release}" if snapshot.kernel.release else ""
    processes = len(snapshot.processes)
    return f"{snapshot.layout} tree{kernel}: {len(cgroups)} cgroups, {files} files, {processes} processes"


def path_of(hierarchy: SeenHierarchy, cgroup: SeenCgroup, file: str = "") -> str:
    """The path from the root of the snapshot, with a slash at the beginning."""
    parts = [hierarchy.directory, cgroup.path.strip("/"), file]
    return "/" + "/".join(part for part in parts if part)
