"""The snapshot of a `Kernel`: of a fake."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import Any

from ..core.cgroup import Cgroup
from ..core.cgroup_file import CgroupFile
from ..credentials.caller import ROOT
from ..kernel import Kernel
from ..kernfs.inode import Inode, Symlink, TopDirectory
from ..machine.machine import Machine
from ..machine.personality import Personality, SeenFiles
from .content import (
    FAKE,
    Attributes,
    SeenCgroup,
    SeenFile,
    SeenHierarchy,
    SeenKernel,
    SeenMachine,
    SeenProcess,
    Snapshot,
)
from .errors import SnapshotError
from .state.whole import save, tasks_of
from .task_lists import keep, processes_of, settle

_CHUNK = 1 << 16


def of_kernel(
    kernel: Kernel, describe: Callable[[int], SeenProcess | None] = lambda pid: None, *, names: bool = True
) -> Snapshot:
    """What is in a kernel now, with its own state. `describe` tells more of a process than the model knows.

    Without `names`, the names of simulated processes are left out.
    """
    for hierarchy in kernel.hierarchies:
        hierarchy.prune(hierarchy.root, *hierarchy.root.descendants())  # so that no thread is listed in two cgroups
    snapshot = files_of(kernel)
    settle(snapshot)  # real processes come and go meanwhile
    snapshot.state = save(kernel)
    for pid in processes_of(snapshot):
        told = describe(pid)
        snapshot.processes[pid] = told if told is not None else _process(kernel, pid, names)
    known = tasks_of(snapshot.state)
    keep(snapshot, known.union(*((one.pid, *one.threads) for one in snapshot.processes.values())))
    return snapshot


def files_of(kernel: Kernel) -> Snapshot:
    """What the files of a kernel show now, without its processes."""
    snapshot = Snapshot(
        kernel.layout,
        FAKE,
        SeenKernel(kernel.personality.name, kernel.personality.config, _plays(kernel.personality)),
        _machine(kernel.machine),
        called="the tree",
    )
    for directory, root, links in _roots(kernel):
        hierarchy = root.hierarchy
        seen = SeenHierarchy(
            directory,
            hierarchy.dfl,
            tuple(
                one.name if hierarchy.dfl else one.legacy_name or one.name
                for one in hierarchy.controllers.values()
                if not (hierarchy.dfl and one.name == "perf_event")  # which is never listed
            ),
            hierarchy.name,
            hierarchy.options,
            links,
        )
        snapshot.hierarchies.append(seen)
        stack = [("/", root)]
        while stack:
            path, cgroup = stack.pop()
            seen.cgroups.append(_cgroup(kernel, path, cgroup))
            above = path.rstrip("/")
            stack += [(f"{above}/{child.name}", child) for child in reversed(cgroup.children.values())]
    return snapshot


def _roots(kernel: Kernel) -> list[tuple[str, Cgroup, tuple[str, ...]]]:
    """Each hierarchy's directory, root and links."""
    top = kernel.root
    if isinstance(top, Cgroup):
        return [("", top, ())]
    if not isinstance(top, TopDirectory):
        raise SnapshotError("the tree has no hierarchies")
    links: dict[str, list[str]] = {}
    for name, inode in top.content.items():
        if isinstance(inode, Symlink):
            links.setdefault(inode.target, []).append(name)
    return [
        (name, inode, tuple(links.get(name, ()))) for name, inode in top.content.items() if isinstance(inode, Cgroup)
    ]


def _cgroup(kernel: Kernel, path: str, cgroup: Cgroup) -> SeenCgroup:
    seen = SeenCgroup(path, attributes_of(cgroup))
    for name, entry in cgroup.hierarchy.table(cgroup).items():
        if cgroup.shows(entry.row, entry.controller):
            file = cgroup.file(name)
            assert file is not None
            seen.files[name] = _file(kernel, file)
    return seen


def _file(kernel: Kernel, file: CgroupFile) -> SeenFile:
    try:
        return SeenFile(read_whole(kernel, file), "", attributes_of(file))
    except OSError as error:
        return SeenFile(None, errno.errorcode.get(error.errno or 0, "EIO"), attributes_of(file))


def read_whole(kernel: Kernel, file: CgroupFile) -> bytes:
    """The whole text of a file, as root reads it. Raises what a read does."""
    opened = kernel.vfs.open(file, os.O_RDONLY, ROOT)
    data = b""
    while chunk := opened.read(len(data), _CHUNK):
        data += chunk
    return data


def attributes_of(inode: Inode) -> Attributes:
    """Mode, owner and extended attributes of an inode."""
    if inode.xattrs is None:
        return Attributes(inode.mode, inode.uid, inode.gid)
    return Attributes(inode.mode, inode.uid, inode.gid, {name: inode.xattrs.get(name) for name in inode.xattrs.names()})


def _process(kernel: Kernel, pid: int, names: bool) -> SeenProcess:
    processes = kernel.processes
    task, use, used = processes.find(pid), processes.memory(pid).use, processes.cpu(pid)
    simulated = kernel.simulated_task(pid)
    return SeenProcess(
        pid,
        name=simulated.name if names and simulated is not None else "",
        threads=tuple(processes.threads(pid)),
        uid=0 if task is None else task.uid,
        anon=use.anon,
        file=use.file,
        shmem=use.shmem,
        swap=use.swap,
        user=0 if used is None else used.own.user,
        system=0 if used is None else used.own.system,
        nice=0 if simulated is None else simulated.nice,
        oom_score_adj=0 if simulated is None else simulated.oom_score_adj,
        kernel=task is not None and not task.movable,
    )


def _machine(machine: Machine) -> SeenMachine:
    return SeenMachine(
        cpus=machine.cpus,
        nodes=machine.numa_nodes,
        memory=machine.memory,
        swap=machine.swap,
        huge_pages={size: machine.huge_page_count(size) for size in sorted(machine.huge_pages)},
        block_devices=machine.block_devices,
        interfaces=machine.interfaces,
    )


def _plays(personality: Personality) -> dict[str, Any]:
    """What `fakecgroup.snapshot.played` reads."""
    found: dict[str, Any] = {
        "version": "{}.{}".format(*personality.version),
        "release": personality.release,
        "layouts": sorted(personality.layouts),
    }
    for side in ("dfl", "legacy"):
        seen: SeenFiles | None = getattr(personality, side)
        if seen is not None:
            found[side] = {
                name: sorted(names)
                for name in ("controllers", "root", "child")
                if (names := getattr(seen, name)) is not None
            }
    return found
