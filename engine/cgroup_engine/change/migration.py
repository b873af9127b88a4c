"""Migrates processes into the cgroup of a container: in every hierarchy it is in, or in none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from errno import EACCES, EBUSY, EINVAL, ENODEV, ENOENT, ENOSPC, EOPNOTSUPP, EPERM, ESRCH
from pathlib import Path

from cgroup_engine.errors import CgroupMissingError, InputError, StepFailedError, errno_name
from cgroup_engine.tree.fs import CgroupFs, cgroups_at
from cgroup_engine.tree.layout import Layout, all_hierarchies

_PF_KTHREAD = 0x00200000  # include/linux/sched.h
_ADVICE = {
    EACCES: "run as root or as the owner of the cgroups on the way",
    EPERM: "run as root or as the owner of the cgroups on the way",
    EBUSY: "a cgroup with controllers for its children takes no process",
    EINVAL: "a real-time process needs cpu.rt_runtime_us there",
    ENOSPC: "its cpuset has no CPUs or no memory nodes",
    EOPNOTSUPP: "the cgroup is threaded, or its type is domain invalid",
    ENOENT: "something else has removed it",
    ENODEV: "something else has removed it",
    ESRCH: "the process has ended",
}


def hierarchies_of(fs: CgroupFs, layout: Layout, path: str) -> Sequence[str]:
    """The hierarchies that have a container's cgroup: all of the layout, and any others.

    freezer comes last: a process that enters a frozen cgroup does nothing more.

    :raises CgroupMissingError: it is not in every hierarchy of the layout.
    """
    for hierarchy in layout.hierarchies:
        if not fs.is_dir(layout.directory(hierarchy, path)):
            raise CgroupMissingError(
                f"{layout.directory(hierarchy, path)}: is not there", path=path, todo="apply makes it"
            )
    if layout.version == 2:
        return layout.hierarchies
    others = [
        name for name in all_hierarchies(fs, layout) if name not in layout.hierarchies and fs.is_dir(f"{name}/{path}")
    ]
    return sorted([*layout.hierarchies, *others], key=lambda name: name == "freezer")


def migrate(fs: CgroupFs, layout: Layout, path: str, pid: int, proc: Path = Path("/proc")) -> None:
    """Moves a process with its threads into a cgroup, by its path below the root, in every hierarchy.

    If one refuses, the process goes back in those that it has entered.

    :raises CgroupMissingError: a hierarchy lacks the cgroup.
    :raises StepFailedError: the kernel refuses; ``path`` and ``errno`` say where and how.
    """
    hierarchies = hierarchies_of(fs, layout, path)
    before = (
        {hierarchy: _present_cgroup(fs, layout, hierarchy, pid, proc) for hierarchy in hierarchies}
        if len(hierarchies) > 1
        else {}
    )
    entered: list[str] = []
    for hierarchy in hierarchies:
        file = f"{layout.directory(hierarchy, path)}/cgroup.procs"
        try:
            fs.write(file, str(pid))
        except OSError as refused:
            stays = [each for each in reversed(entered) if not _goes_back(fs, layout, each, before[each], pid)]
            number = refused.errno or 0
            raise StepFailedError(
                f"{file}: process {pid} cannot enter: {errno_name(number)}"
                + (f" (and it stays in {', '.join(stays)})" if stays else ""),
                path=file,
                value=str(pid),
                errno=number,
                todo=_ADVICE.get(number, ""),
            ) from None
        entered.append(hierarchy)


def is_kernel_thread(pid: int, proc: Path = Path("/proc")) -> bool | None:
    """Is it a thread of the kernel? None if there is no such process."""
    try:
        text = (proc / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return bool(int(text.rpartition(")")[2].split()[6]) & _PF_KTHREAD)


def check_process(pid: int, proc: Path = Path("/proc")) -> None:
    """Checks that a process may enter a pod.

    :raises InputError: there is no such process, or it is a thread of the kernel.
    """
    of_kernel = is_kernel_thread(pid, proc)
    if of_kernel is None:
        raise InputError(f"{pid}: there is no such process", value=str(pid))
    if of_kernel:
        raise InputError(f"{pid}: is a thread of the kernel, which stays where it is", value=str(pid))


def _present_cgroup(fs: CgroupFs, layout: Layout, hierarchy: str, pid: int, proc: Path) -> str | None:
    """The cgroup of a process, None if it is not found below the root."""
    for path in (*_proc_paths(proc, pid, hierarchy), ""):
        if pid in _processes(fs, layout, hierarchy, path):
            return path
    paths = (directory.removeprefix(hierarchy).lstrip("/") for directory in cgroups_at(fs, hierarchy))
    return next((path for path in paths if pid in _processes(fs, layout, hierarchy, path)), None)


def _proc_paths(proc: Path, pid: int, hierarchy: str) -> Iterator[str]:
    """The paths in /proc/PID/cgroup; for a root that is a fake they need not be right."""
    with suppress(OSError):
        for line in (proc / str(pid) / "cgroup").read_text(encoding="utf-8", errors="replace").splitlines():
            _, controllers, path = line.split(":", 2)
            if set(hierarchy.split(",")) & {name.removeprefix("name=") or "unified" for name in controllers.split(",")}:
                yield path.strip("/")


def _processes(fs: CgroupFs, layout: Layout, hierarchy: str, path: str) -> set[int]:
    with suppress(OSError):
        return {int(line) for line in fs.read(f"{layout.directory(hierarchy, path)}/cgroup.procs").split()}
    return set()


def _goes_back(fs: CgroupFs, layout: Layout, hierarchy: str, path: str | None, pid: int) -> bool:
    if path is None:
        return False
    with suppress(OSError):
        fs.write(f"{layout.directory(hierarchy, path)}/cgroup.procs", str(pid))
        return True
    return False
