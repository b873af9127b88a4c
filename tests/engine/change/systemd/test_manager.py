"""The kubelet's operations on single cgroups, by systemd."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from errno import EBUSY
from pathlib import Path

import pytest

from cgroup_engine.change import cgroup_manager, cgroup_writer
from cgroup_engine.change.cgroup_manager import CgroupManager
from cgroup_engine.change.systemd import bus
from cgroup_engine.errors import RootError, StepFailedError
from cgroup_engine.model.limits import CgroupLimits
from cgroup_engine.tree.fs import OsFs
from fakecgroup import Kernel, KernelFs

from .fake_systemd import FakeSystemd

POD = ("kubepods", "burstable", "pod1-2")
UNITS = ["kubepods.slice", "kubepods-burstable.slice", "kubepods-burstable-pod1_2.slice"]
LIMITS = CgroupLimits(shares=512, quota_us=50_000, period_us=100_000, memory=64 << 20, pids=100, cpus="0-1")


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeSystemd]:
    booted = tmp_path / "booted"
    booted.mkdir()
    monkeypatch.setattr(bus, "_BOOTED", str(booted))
    fake = FakeSystemd(KernelFs(Kernel("v2", "6.12", cpus=4)), tmp_path)
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", fake.address)
    yield fake
    fake.close()


@pytest.fixture
def manager(fake: FakeSystemd) -> Iterator[CgroupManager]:
    with closing(bus.connect("fake")) as systemd:
        yield CgroupManager(fake.fs, "systemd", systemd=systemd)


def _called(fake: FakeSystemd, method: str) -> list[str]:
    return [unit for name, unit, _ in fake.calls if name == method]


def test_create_starts_the_missing_slices_and_sets_the_values_as_properties(
    fake: FakeSystemd, manager: CgroupManager
) -> None:
    manager.create(POD, LIMITS)
    assert _called(fake, "StartTransientUnit") == UNITS
    [(unit, properties)] = [(unit, each) for name, unit, each in fake.calls if name == "SetUnitProperties"]
    assert unit == UNITS[-1]
    assert properties == {
        "CPUWeight": 20,
        "CPUQuotaPeriodUSec": 100_000,
        "CPUQuotaPerSecUSec": 500_000,
        "MemoryMax": 64 << 20,
        "TasksMax": 100,
        "AllowedCPUs": b"\x03",
    }
    assert manager.exists(POD)
    assert fake.fs.read("/".join([*UNITS, "hugetlb.2MB.max"])) == "0\n"


def test_create_starts_no_unit_that_is_there(fake: FakeSystemd, manager: CgroupManager) -> None:
    manager.create(POD[:2])
    manager.create(POD)
    manager.create(POD)
    assert _called(fake, "StartTransientUnit") == UNITS


def test_update_sets_what_is_named_alone(fake: FakeSystemd, manager: CgroupManager) -> None:
    manager.create(POD, LIMITS)
    manager.reduce_cpu_limits(POD)
    assert fake.calls[-1] == ("SetUnitProperties", UNITS[-1], {"CPUWeight": 1})
    assert manager.get_config(POD, "memory").memory == 64 << 20


def test_destroy_stops_what_is_below_first_and_may_be_repeated(fake: FakeSystemd, manager: CgroupManager) -> None:
    manager.create(POD)
    manager.destroy(POD[:1])
    assert _called(fake, "StopUnit") == UNITS[::-1]
    assert not fake.fs.is_dir("kubepods.slice")
    manager.destroy(POD[:1])


def test_destroy_stops_nothing_while_a_process_lives_there(
    fake: FakeSystemd, manager: CgroupManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cgroup_writer, "_TRIES", 1)
    manager.create(POD)
    monkeypatch.setattr(manager, "pids", lambda name: [7])
    with pytest.raises(StepFailedError, match="process 7 lives there") as failed:
        manager.destroy(POD[:1])
    assert failed.value.errno == EBUSY
    assert _called(fake, "StopUnit") == []


def test_destroy_leaves_a_unit_of_the_operator_and_says_so(fake: FakeSystemd, manager: CgroupManager) -> None:
    fake.operators.add("kubepods.slice")
    manager.create(POD)
    with pytest.raises(StepFailedError, match=r"kubepods\.slice was not made by this engine, so it stays"):
        manager.destroy(POD[:1])
    assert set(fake.units) == {"kubepods.slice"}


def test_on_a_tree_that_a_running_systemd_manages_its_connection_must_be_given(
    fake: FakeSystemd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cgroup_manager, "MACHINE_ROOT", str(tmp_path))
    with pytest.raises(RootError, match="give systemd=connect"):
        CgroupManager(OsFs(str(tmp_path)), "systemd", shown_root="/own")
