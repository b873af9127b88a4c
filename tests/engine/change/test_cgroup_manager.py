"""The kubelet's operations on cgroups: on the model, on a mounted fake and on this machine's cgroup v1."""

from __future__ import annotations

import os
import secrets
import subprocess
from collections.abc import Callable, Iterator
from errno import EBUSY, EINVAL
from pathlib import Path

import pytest

from cgroup_engine.change.cgroup_manager import CgroupManager
from cgroup_engine.errors import CgroupMissingError, RootError, StepFailedError, UnsafeNameError
from cgroup_engine.model.limits import CgroupLimits
from cgroup_engine.model.names import Driver
from cgroup_engine.tree.fs import OsFs
from fakecgroup import Kernel, KernelFs
from fakecgroup_mount.testing.factory import CgroupfsFactory

HOST = Path("/sys/fs/cgroup")
HAS_V1 = os.geteuid() == 0 and all((HOST / name / "cgroup.procs").exists() for name in ("cpu", "memory", "pids"))
TARGETS = [
    *(f"model {kernel}" for kernel in ("v1 5.10", "v1 6.1", "v2 5.10", "v2 6.12", "v2 7.2", "hybrid 6.1")),
    *(f"mount {kernel}" for kernel in ("v1 6.1", "v2 6.12")),
    pytest.param("host v1", marks=pytest.mark.skipif(not HAS_V1, reason="needs root and cgroup v1")),
]


@pytest.fixture(scope="module")
def mounted(cgroupfs_factory: CgroupfsFactory) -> Callable[..., OsFs]:
    """Mounts a fake once per kernel."""
    made = {}

    def at(layout: str, kernel: str) -> OsFs:
        if layout not in made:
            made[layout] = OsFs(str(cgroupfs_factory.mount(layout=layout, kernel=kernel)))
        return made[layout]

    return at


@pytest.fixture(params=["cgroupfs", "systemd"])
def driver(request: pytest.FixtureRequest) -> Driver:
    given: Driver = request.param
    return given


@pytest.fixture(params=TARGETS)
def manager(request: pytest.FixtureRequest, mounted: Callable[..., OsFs], driver: Driver) -> CgroupManager:
    where, *kernel = request.param.split()
    if where == "host":
        return CgroupManager(OsFs(str(HOST)), driver)
    if where == "mount":
        return CgroupManager(mounted(*kernel), driver)
    return CgroupManager(KernelFs(Kernel(*kernel)), driver)


@pytest.fixture
def top(manager: CgroupManager) -> Iterator[tuple[str]]:
    """A cgroup of the test's own; it is removed at the end."""
    name = (f"fcg{secrets.token_hex(4)}",)
    yield name
    manager.destroy(name)


LIMITS = CgroupLimits(shares=512, quota_us=50000, period_us=100000, memory=64 << 20, pids=100)


def test_a_created_cgroup_exists_with_its_values(manager: CgroupManager, top: tuple[str]) -> None:
    pod = (*top, "burstable", "pod1-2")
    assert not manager.exists(pod)
    manager.create(pod, LIMITS)
    assert manager.exists(pod)
    assert manager.get_config(pod, "memory").memory == 64 << 20
    cpu = manager.get_config(pod, "cpu")
    assert (cpu.quota_us, cpu.period_us) == (50000, 100000)
    assert cpu.shares == (512 if manager.version == 1 else 500)  # 512 shares are a weight of 20, 20 is 500 shares


def test_create_may_be_called_again(manager: CgroupManager, top: tuple[str]) -> None:
    manager.create(top, LIMITS)
    manager.create(top, LIMITS)
    assert manager.get_config(top, "memory").memory == 64 << 20


def test_an_update_leaves_the_rest_as_it_is(manager: CgroupManager, top: tuple[str]) -> None:
    manager.create(top, LIMITS)
    manager.update(top, CgroupLimits(memory=32 << 20))
    assert manager.get_config(top, "memory").memory == 32 << 20
    assert manager.get_config(top, "cpu").quota_us == 50000


def test_what_was_got_can_be_set_again(manager: CgroupManager, top: tuple[str]) -> None:
    manager.create(top)
    for resource in ("cpu", "memory"):
        before = manager.get_config(top, resource)
        manager.set_config(top, before)
        after = manager.get_config(top, resource)
        assert (after.memory, after.quota_us, after.period_us) == (before.memory, before.quota_us, before.period_us)


def test_no_limit_is_read_as_a_kubelet_reads_it(manager: CgroupManager, top: tuple[str]) -> None:
    manager.create(top)
    assert manager.get_config(top, "cpu").quota_us == -1
    assert manager.get_config(top, "memory").memory == (-1 if manager.version == 2 else 9223372036854771712)


def test_reduced_cpu_limits_are_two_shares_and_nothing_else(manager: CgroupManager, top: tuple[str]) -> None:
    manager.create(top, LIMITS)
    manager.reduce_cpu_limits(top)
    assert manager.get_config(top, "cpu") == CgroupLimits(shares=2, quota_us=50000, period_us=100000)


def test_a_refused_value_is_an_error_that_names_it(manager: CgroupManager, top: tuple[str]) -> None:
    with pytest.raises(StepFailedError) as caught:
        manager.create(top, CgroupLimits(quota_us=1, period_us=100000))
    assert caught.value.errno == EINVAL
    assert manager.exists(top)


def test_an_update_of_nothing_is_refused(manager: CgroupManager, top: tuple[str]) -> None:
    with pytest.raises(CgroupMissingError, match="does not exist"):
        manager.update((*top, "gone"), LIMITS)


def test_the_config_and_usage_of_nothing_cannot_be_read(manager: CgroupManager, top: tuple[str]) -> None:
    for ask in (manager.memory_usage, lambda name: manager.get_config(name, "cpu")):
        with pytest.raises(RootError, match="ENOENT"):
            ask((*top, "gone"))


def test_destroy_removes_what_is_below_and_may_be_repeated(manager: CgroupManager, top: tuple[str]) -> None:
    manager.create((*top, "a", "b"))
    manager.destroy(top)
    assert not manager.exists(top)
    manager.destroy(top)


def test_a_new_cgroup_uses_no_memory_and_has_no_processes(manager: CgroupManager, top: tuple[str]) -> None:
    manager.create(top)
    assert manager.memory_usage(top) == 0
    assert manager.pids(top) == []


def test_names_have_an_inverse(manager: CgroupManager, top: tuple[str]) -> None:
    name = (*top, "burstable", "pod12-34")
    assert manager.cgroup_name(manager.name(name)) == name
    assert manager.name(()) == "/"


@pytest.mark.parametrize("name", [("..",), ("a", ""), ("a/b",), ("a", "..", "b"), ("a\n",)])
def test_a_name_that_could_escape_is_refused(manager: CgroupManager, name: tuple[str, ...]) -> None:
    for operation in (manager.create, manager.destroy, manager.exists, manager.pids):
        with pytest.raises(UnsafeNameError):
            operation(name)


def test_the_root_is_not_changed(manager: CgroupManager) -> None:
    for operation in (manager.create, manager.destroy, manager.reduce_cpu_limits):
        with pytest.raises(UnsafeNameError):
            operation(())


def test_processes_of_all_below_are_found_and_keep_it_from_being_destroyed(
    manager: CgroupManager, top: tuple[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if isinstance(manager.fs, KernelFs):
        pytest.skip("has no processes")
    monkeypatch.setattr("cgroup_engine.change.cgroup_writer._TRIES", 1)
    manager.create((*top, "pod"))
    tree = "" if manager.version == 2 else "memory"
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        try:
            manager.fs.write(f"{tree}{manager.name((*top, 'pod'))}/cgroup.procs".lstrip("/"), str(sleeper.pid))
            assert manager.pids(top) == [sleeper.pid]
            with pytest.raises(StepFailedError) as caught:
                manager.destroy(top)
            assert caught.value.errno == EBUSY
        finally:
            sleeper.kill()
    assert manager.pids(top) == []


def test_v1_is_valid_if_the_hierarchies_of_the_kubelet_have_it() -> None:
    manager = CgroupManager(KernelFs(Kernel("v1", "6.1")))
    manager.create(("a",))
    manager.fs.rmdir("cpuset/a")
    with pytest.raises(CgroupMissingError, match="/a: does not exist in cpuset"):
        manager.validate(("a",))
    manager.create(("a",))
    manager.fs.rmdir("blkio/a")  # libcontainer makes it, and Validate does not ask for it
    manager.validate(("a",))


def test_v2_is_valid_if_the_controllers_of_the_kubelet_are_there() -> None:
    manager = CgroupManager(KernelFs(Kernel("v2", "6.12")))
    manager.create(("a", "b"))
    manager.fs.write("a/cgroup.subtree_control", "-pids -hugetlb")
    with pytest.raises(CgroupMissingError, match="/a/b: lacks the controllers hugetlb, pids"):
        manager.validate(("a", "b"))


def test_v1_cpuset_can_take_processes_at_once() -> None:
    manager = CgroupManager(KernelFs(Kernel("v1", "6.1", cpus=4)))
    manager.create(("a", "b"))
    assert [manager.fs.read(f"cpuset/a/b/cpuset.{name}").strip() for name in ("cpus", "mems")] == ["0-3", "0"]


@pytest.mark.parametrize("layout", ["v1", "v2"])
def test_only_create_takes_huge_pages_away(layout: str) -> None:
    manager = CgroupManager(KernelFs(Kernel(layout, "6.1")))
    manager.create(("a",), CgroupLimits(hugepages={2 << 20: 4 << 20}))
    manager.reduce_cpu_limits(("a",))
    tree, end = ("hugetlb/", "limit_in_bytes") if layout == "v1" else ("", "max")
    assert manager.fs.read(f"{tree}a/hugetlb.2MB.{end}").strip() == str(4 << 20)
    assert manager.fs.read(f"{tree}a/hugetlb.1GB.{end}").strip() == "0"


def test_a_directory_that_is_no_cgroup_tree_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RootError, match="no cgroup tree"):
        CgroupManager(OsFs(str(tmp_path)))
