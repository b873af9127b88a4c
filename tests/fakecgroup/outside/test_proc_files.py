"""The texts of /proc about cgroups, from the model alone. The answers are those of booted kernels."""

from __future__ import annotations

import pytest

from fakecgroup import Kernel
from fakecgroup.core.cgroup import Cgroup
from fakecgroup.outside.proc_files import cgroup_text, cgroups_text, cpuset_text, has_cpuset_text

from .proc_texts import OF_V1, SUBSYSTEMS, cgroups


def shown(kernel: Kernel, pid: int, *, reader: int | None = None) -> str:
    """/proc/PID/cgroup for the initial cgroup namespace, or for one that `reader` has just made."""
    task = kernel.processes.find(pid)
    assert task is not None
    roots = [hierarchy.root for hierarchy in kernel.hierarchies] if reader is None else places(kernel, reader)
    return cgroup_text(task, places(kernel, pid), roots)


def places(kernel: Kernel, pid: int) -> list[Cgroup]:
    task = kernel.processes.find(pid)
    assert task is not None
    return [hierarchy.locate(task) for hierarchy in kernel.hierarchies]


@pytest.mark.parametrize(
    ("layout", "kernel", "membership", "numbers"),
    OF_V1,
)
def test_a_process_and_the_subsystems_of_v1(
    layout: str, kernel: str, membership: str, numbers: tuple[int | None, ...]
) -> None:
    played = Kernel(layout=layout, kernel=kernel)
    pid = played.fork(1)
    played.mkdir("/pids/a")
    played.write("/pids/a/tasks", str(pid))
    rows = [
        (name, number, 2 if name == "pids" else 1)
        for name, number in zip(SUBSYSTEMS, numbers, strict=True)
        if number is not None
    ]
    assert shown(played, pid) == membership
    assert cgroups_text(played.hierarchies, played.personality) == cgroups(*rows)


def test_the_subsystems_of_v2_count_its_cgroups() -> None:
    played = Kernel(layout="v2", kernel="6.12")
    played.mkdir("/a")
    played.mkdir("/a/b")
    assert cgroups_text(played.hierarchies, played.personality) == cgroups(*((name, 0, 3) for name in SUBSYSTEMS))


def test_a_cgroup_namespace_shows_paths_from_its_root() -> None:
    played = Kernel(layout="v2", kernel="6.12")
    for path in ("/a", "/a/b", "/c"):
        played.mkdir(path)
    reader, below, beside = (played.fork(1) for _ in range(3))
    for pid, path in ((reader, "/a"), (below, "/a/b"), (beside, "/c")):
        played.write(f"{path}/cgroup.procs", str(pid))
    assert [shown(played, pid, reader=reader) for pid in (reader, below, beside, 1)] == [
        "0::/\n",
        "0::/b\n",
        "0::/../c\n",
        "0::/..\n",
    ]


def test_the_cpuset_is_that_of_the_nearest_cgroup_with_the_controller() -> None:
    played = Kernel(layout="v2", kernel="6.12")
    played.write("/cgroup.subtree_control", "+cpuset")
    played.mkdir("/a")
    played.mkdir("/a/b")
    pid = played.fork(1)
    played.write("/a/b/cgroup.procs", str(pid))
    roots = [hierarchy.root for hierarchy in played.hierarchies]
    assert cpuset_text(places(played, pid), roots) == "/a\n"
    assert cpuset_text(places(played, pid), places(played, pid)) == "/..\n"


@pytest.mark.parametrize(("kernel", "has"), [("5.10", True), ("6.12", True), ("7.2", False)])
def test_newer_kernels_have_no_cpuset_in_proc(kernel: str, has: bool) -> None:
    assert has_cpuset_text(Kernel(layout="v2", kernel=kernel).personality) is has
