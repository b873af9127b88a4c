"""The systemd driver over D-Bus: plans and their execution, against a fake systemd on a fake tree."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cgroup_engine.change.apply import Outcome, execute
from cgroup_engine.change.systemd import bus
from cgroup_engine.change.systemd.bus import Systemd
from cgroup_engine.cli import main, root
from cgroup_engine.errors import BusyCgroupError, ConfigError, RootError, SystemdError
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.model.pod import Pod
from cgroup_engine.plan.down import down_plan
from cgroup_engine.plan.status import compare
from cgroup_engine.plan.step import Plan
from cgroup_engine.plan.steps import make_plan
from cgroup_engine.plan.systemd.translation import down_over_dbus, is_slice, over_dbus
from cgroup_engine.tree.found import FoundTree
from cgroup_engine.tree.layout import detect
from fakecgroup import Kernel, KernelFs

from ...conftest import StubKernel
from .fake_systemd import INFINITY, FakeSystemd

LIMITED = {"limits": {"cpu": "1500m", "memory": "1Gi"}}
POD = "kubepods-pod0aa1a5e2_0b3f_4d0e_8f31_000000000001.slice"
POD_PATH = f"kubepods.slice/{POD}"


class Machine:
    """A fake tree with its fake systemd, and the engine on them."""

    def __init__(self, kernel: KernelFs | StubKernel, tmp_path: Path, node: NodeConfig) -> None:
        self.kernel = kernel
        self.fake = FakeSystemd(kernel, tmp_path)
        self.node = node

    def found(self) -> FoundTree:
        return FoundTree(self.kernel, detect(self.kernel, "fake"))

    def plan(self, *pods: Pod) -> Plan:
        with closing(bus.connect("fake")) as systemd:
            return self._plan(pods, systemd)

    def _plan(self, pods: tuple[Pod, ...], systemd: Systemd) -> Plan:
        wanted, found = wanted_tree(self.node, pods), self.found()
        return over_dbus(make_plan(wanted, found, "systemd"), wanted, found, systemd)

    def apply(self, *pods: Pod) -> Outcome:
        with closing(bus.connect("fake")) as systemd:
            return execute(self._plan(pods, systemd), self.kernel, systemd=systemd)

    def down_plan(self, systemd: Systemd) -> Plan:
        found = self.found()
        return down_over_dbus(down_plan(wanted_tree(self.node, []), found, "systemd"), found, systemd)

    def down(self) -> Outcome:
        with closing(bus.connect("fake")) as systemd:
            return execute(self.down_plan(systemd), self.kernel, systemd=systemd)

    def called(self, method: str) -> list[str]:
        return [unit for name, unit, _ in self.fake.calls if name == method]


@pytest.fixture
def machine(
    stub: type[StubKernel], make_node: Callable[..., NodeConfig], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Any]]:
    booted = tmp_path / "booted"
    booted.mkdir()
    monkeypatch.setattr(bus, "_BOOTED", str(booted))
    machines = []

    def make(version: int = 2, kernel: KernelFs | None = None, **fields: Any) -> Machine:
        made = Machine(kernel or stub(version), tmp_path, make_node(driver="systemd", **fields))
        machines.append(made)
        monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", made.fake.address)
        return made

    yield make
    for made in machines:
        made.fake.close()


@pytest.mark.parametrize("version", [1, 2])
def test_slices_are_started_with_their_values_and_nothing_is_written_by_hand(
    version: int,
    machine: Callable[..., Any],
    make_pod: Callable[..., Pod],
    make_container: Callable[..., dict[str, Any]],
) -> None:
    node = machine(version)
    outcome = node.apply(make_pod(make_container(**LIMITED)))
    assert outcome.failed == []
    assert {step.action for step in outcome.done} == {"start"}
    assert node.called("StartTransientUnit") == [
        "kubepods.slice", "kubepods-burstable.slice", "kubepods-besteffort.slice", POD,
    ]  # fmt: skip
    file = f"{POD_PATH}/memory.max" if version == 2 else f"memory/{POD_PATH}/memory.limit_in_bytes"
    assert node.kernel.read(file) == "1073741824\n"


def test_a_slice_has_the_properties_that_libcontainer_gives_it(
    machine: Callable[..., Any], make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    node = machine(podPidsLimit=77)
    node.apply(make_pod(make_container(**LIMITED)))
    [properties] = [properties for _, unit, properties in node.fake.calls if unit == POD]
    assert properties == {
        "Description": f"cgroup-engine {POD}",
        "Wants": ["kubepods.slice"],
        "MemoryAccounting": True,
        "CPUAccounting": True,
        "IOAccounting": True,
        "TasksAccounting": True,
        "DefaultDependencies": False,
        "CPUWeight": 59,
        "CPUQuotaPeriodUSec": 100_000,
        "CPUQuotaPerSecUSec": 1_500_000,
        "MemoryMax": 1 << 30,
        "TasksMax": 77,
    }


def test_the_uppermost_slice_wants_the_root_slice(machine: Callable[..., Any]) -> None:
    node = machine()
    node.apply()
    assert node.fake.calls[0][2]["Wants"] == ["-.slice"]


def test_a_second_apply_calls_nothing(
    machine: Callable[..., Any], make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    node = machine()
    pod = make_pod(make_container(**LIMITED))
    node.apply(pod)
    calls = len(node.fake.calls)
    assert node.apply(pod).done == []
    assert len(node.fake.calls) == calls


@pytest.mark.parametrize("version", [1, 2])
def test_drift_is_set_back_with_one_call_for_the_unit(
    version: int,
    machine: Callable[..., Any],
    make_pod: Callable[..., Pod],
    make_container: Callable[..., dict[str, Any]],
) -> None:
    node = machine(version)
    pod = make_pod(make_container(**LIMITED))
    node.apply(pod)
    if version == 2:
        node.kernel.write(f"{POD_PATH}/cpu.max", "1000 100000")
        node.kernel.write(f"{POD_PATH}/memory.max", "4096")
    else:
        node.kernel.write(f"cpu/{POD_PATH}/cpu.cfs_quota_us", "1000")
        node.kernel.write(f"memory/{POD_PATH}/memory.limit_in_bytes", "4096")
    [step] = node.apply(pod).done
    assert (step.action, step.path) == ("set", POD)
    assert {row.state for row in compare(wanted_tree(node.node, [pod]), node.found(), "systemd", by_systemd=True)} == {
        "ok", "waiting",
    }  # fmt: skip


def test_a_limit_that_is_gone_becomes_infinity(
    machine: Callable[..., Any], make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    node = machine()
    requests = {"cpu": "1"}
    node.apply(make_pod(make_container(requests=requests, limits={"cpu": "1500m"})))
    node.apply(make_pod(make_container(requests=requests)))
    [(method, _, properties)] = node.fake.calls[-1:]
    assert (method, properties["CPUQuotaPerSecUSec"]) == ("SetUnitProperties", INFINITY)


def test_a_container_waits_for_the_scope_of_its_runtime_and_is_set_then(
    machine: Callable[..., Any], make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    node = machine()
    pod = make_pod(make_container(**LIMITED))
    [waiting] = node.plan(pod).waiting
    assert ".scope is made by the runtime" in waiting
    node.apply(pod)
    scope = waiting.split()[1]
    node.fake.scope(scope, POD_PATH)
    steps = node.apply(pod).done
    assert {step.path for step in steps if step.action == "set"} == {scope}
    assert [step.file for step in steps if step.action == "write"] == ["memory.oom.group"]
    assert steps[-1].file == "memory.oom.group"  # each set brings systemd's own value back
    assert node.kernel.read(f"{POD_PATH}/{scope}/memory.max") == "1073741824\n"
    assert node.plan(pod).waiting == ()


def test_a_scope_gets_no_values_in_hierarchies_where_it_is_not(
    machine: Callable[..., Any], make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    node = machine(kernel=KernelFs(Kernel("v1", "6.1", cpus=4)))
    pod = make_pod(make_container(**LIMITED))
    [waiting] = node.plan(pod).waiting
    node.apply(pod)
    scope = waiting.split()[1]
    node.fake.scope(scope, POD_PATH)  # in no cpuset, as systemd has none
    outcome = node.apply(pod)
    assert outcome.failed == []
    assert ("set", scope) in {(step.action, step.path) for step in outcome.done}
    assert not any(step.path.startswith("cpuset/") for step in outcome.done)
    assert node.apply(pod).done == []


def test_a_pod_that_is_not_wanted_any_more_is_stopped(
    machine: Callable[..., Any], make_pod: Callable[..., Pod]
) -> None:
    node = machine()
    node.apply(make_pod(n=1), make_pod(n=2))
    node.apply(make_pod(n=2))
    assert node.called("StopUnit") == ["kubepods-besteffort-pod0aa1a5e2_0b3f_4d0e_8f31_000000000001.slice"]


@pytest.mark.parametrize("version", [1, 2])
def test_down_stops_what_was_made_children_first_and_nothing_else(
    version: int, machine: Callable[..., Any], make_pod: Callable[..., Pod]
) -> None:
    node = machine(version, cgroupRoot="/fcg")
    node.fake._realize("other.slice", "other.slice", {})
    node.apply(make_pod())
    assert node.down().failed == []
    stopped = node.called("StopUnit")
    for n, unit in enumerate(stopped):
        assert not any(later.startswith(unit.removesuffix(".slice") + "-") for later in stopped[n:])
    assert set(node.fake.units) == {"other.slice"}
    assert not any("fcg" in directory for directory in node.kernel.dirs)


def test_down_leaves_a_unit_with_a_unit_file_and_says_so(
    machine: Callable[..., Any], make_pod: Callable[..., Pod]
) -> None:
    node = machine()
    node.fake.operators.add("kubepods.slice")
    node.apply(make_pod())
    assert node.called("StartUnit") == ["kubepods.slice"]
    assert node.kernel.read("kubepods.slice/memory.max") == "8589934592\n"
    with closing(bus.connect("fake")) as systemd:
        assert node.down_plan(systemd).kept == (
            "/kubepods.slice: kubepods.slice was not made by this engine, so it stays",
        )
    node.down()
    assert set(node.fake.units) == {"kubepods.slice"}


def test_down_does_not_stop_units_while_a_process_lives_there(
    machine: Callable[..., Any], make_pod: Callable[..., Pod]
) -> None:
    node = machine()
    node.apply(make_pod())
    node.kernel.files["kubepods.slice/kubepods-besteffort.slice/cgroup.procs"] = "7"
    with pytest.raises(BusyCgroupError, match="process 7 lives in it"):
        node.down()
    assert node.called("StopUnit") == []


def test_a_directory_that_has_only_the_name_of_a_unit_elsewhere_does_not_stop_that_unit(
    machine: Callable[..., Any],
) -> None:
    node = machine()
    node.apply()
    node.fake._realize("system-pod1.slice", "system.slice/system-pod1.slice", {})
    node.kernel.mkdir("kubepods.slice/system-pod1.slice")
    node.apply()
    assert node.called("StopUnit") == []
    assert "kubepods.slice/system-pod1.slice" not in node.kernel.dirs


def test_what_depends_on_a_refused_unit_is_not_attempted(
    machine: Callable[..., Any], make_pod: Callable[..., Pod]
) -> None:
    node = machine()
    node.fake.refuse["kubepods-besteffort.slice"] = ("org.freedesktop.DBus.Error.AccessDenied", "Permission denied")
    outcome = node.apply(make_pod())
    [failure] = outcome.failed
    assert str(failure) == 'kubepods-besteffort.slice: start failed: systemd said: "Permission denied"; run as root'
    assert [step.path for step in outcome.skipped] == [
        "kubepods-besteffort-pod0aa1a5e2_0b3f_4d0e_8f31_000000000001.slice"
    ]


def test_the_cpus_of_the_node_level_are_a_property(machine: Callable[..., Any]) -> None:
    node = machine(kernel=KernelFs(Kernel("v2", "6.12", cpus=4)))
    node.node = replace(node.node, cpu_list="0-3")
    assert node.apply().failed == []
    assert [properties.get("AllowedCPUs") for _, _, properties in node.fake.calls] == [b"\x0f", None, None]
    assert node.kernel.read("kubepods.slice/cpuset.cpus") == "0-3\n"
    node.kernel.write("kubepods.slice/cpuset.cpus", "1")
    [step] = node.apply().done
    assert (step.path, step.text) == ("kubepods.slice", "AllowedCPUs=0-3")


def test_a_reserved_slice_below_the_cgroup_root_has_its_huge_pages_after_the_first_apply(
    machine: Callable[..., Any],
) -> None:
    node = machine(
        kernel=KernelFs(Kernel("v2", "6.12", cpus=4)),
        cgroupRoot="/fcg",
        enforceNodeAllocatable=["pods", "kube-reserved"],
        kubeReserved={"cpu": "1"},
        kubeReservedCgroup="/fcg-kube.slice",
        huge_pages={2 << 20: 0},
    )
    node.fake._realize("fcg.slice", "fcg.slice", {})
    node.fake._realize("fcg-kube.slice", "fcg.slice/fcg-kube.slice", {})
    assert node.apply().failed == []
    assert node.kernel.read("fcg.slice/fcg-kube.slice/hugetlb.2MB.max") == "0\n"


@pytest.mark.parametrize("goes", [True, False])
def test_down_takes_the_cpus_of_a_reserved_slice_back_whether_the_controller_goes_or_not(
    goes: bool, machine: Callable[..., Any]
) -> None:
    fields = {"enforceNodeAllocatable": ["kube-reserved"], "kubeReserved": {"cpu": "1"}}
    node = machine(kernel=KernelFs(Kernel("v2", "6.12", cpus=4)), kubeReservedCgroup="/kube.slice", **fields)
    node.node = replace(node.node, cpu_list="0-3")
    node.fake._realize("kube.slice", "kube.slice", {})
    assert node.apply().failed == []
    assert node.kernel.read("kube.slice/cpuset.cpus") == "0-3\n"
    node.fake.takes_cpuset_away = goes
    assert node.down().failed == []
    assert [each["AllowedCPUs"] for _, unit, each in node.fake.calls if unit == "kube.slice"] == [b"\x0f", b""]
    assert ("cpuset" in node.kernel.read("kube.slice/cgroup.controllers")) is not goes
    assert goes or node.kernel.read("kube.slice/cpuset.cpus") == "\n"


def test_a_qos_class_that_uses_more_than_is_left_to_it_is_limited_to_that(
    machine: Callable[..., Any],
    make_pod: Callable[..., Pod],
    make_container: Callable[..., dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cgroup_engine.change.apply._PATIENCE", 0.1)
    node = machine(1, featureGates={"QOSReserved": True}, qosReserved={"memory": "100%"})
    node.apply()
    directory = "memory/kubepods.slice/kubepods-besteffort.slice"
    node.kernel.files[f"{directory}/memory.usage_in_bytes"] = str(5 << 30)
    node.kernel.instead[f"{directory}/memory.limit_in_bytes"] = str(5 << 30)  # a lower limit is refused
    outcome = node.apply(make_pod(make_container(limits={"cpu": "1", "memory": "4Gi"})))
    assert outcome.failed == []
    [step] = [step for step in outcome.done if "more is in use" in step.why]
    assert (step.path, step.text) == ("kubepods-besteffort.slice", f"MemoryLimit={5 << 30}")
    limits = [properties["MemoryLimit"] for _, unit, properties in node.fake.calls if unit == step.path][-2:]
    assert limits == [4 << 30, 5 << 30]


def test_a_value_that_systemd_did_not_bring_into_the_tree_is_a_failure(
    machine: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cgroup_engine.change.apply._PATIENCE", 0.0)
    node = machine()
    node.apply()
    node.kernel.instead["kubepods.slice/memory.max"] = "4096"
    node.kernel.files["kubepods.slice/memory.max"] = "8192"
    [failure] = node.apply().failed
    assert str(failure).startswith('kubepods.slice/memory.max: shows "4096" after kubepods.slice was given MemoryMax=')


def test_without_systemd_the_machines_own_tree_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bus, "_BOOTED", str(tmp_path / "none"))
    with pytest.raises(RootError, match="no systemd runs here; use --driver cgroupfs, or --systemd-names-only"):
        bus.connect("/sys/fs/cgroup")


@pytest.mark.parametrize("address", ["unix:path=/nonexistent/bus", "tcp:host=localhost", "nonsense"])
def test_a_bus_that_cannot_be_reached_is_one_line(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bus, "_BOOTED", str(tmp_path))
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", address)
    with pytest.raises(SystemdError, match="systemd cannot be reached over D-Bus") as failed:
        bus.connect("/sys/fs/cgroup")
    assert "\n" not in str(failed.value)


@pytest.fixture
def command(machine: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """The command line on a machine's own root."""
    node = machine()
    monkeypatch.setattr(root, "MACHINE_ROOT", "/own")

    def run(name: str, *arguments: str) -> int:
        size = ["--cpus", "4", "--memory", "8Gi", "--max-pids", "32768", "--driver", "systemd"]
        return main([name, "--root", "/own", *size, *arguments], open_root=lambda path: node.kernel)

    return run


def test_the_commands_from_plan_to_down(
    command: Callable[..., int], example: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pods = str(example / "three-pods.yaml")
    assert command("plan", "-o", "json", pods) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["steps"][0]["do"] == "start"
    assert plan["steps"][0]["path"] == "kubepods.slice"
    assert plan["steps"][0]["properties"]["MemoryMax"] == 8 << 30
    assert len(plan["waiting"]) == 4
    assert command("apply", pods) == 0
    out = capsys.readouterr().out
    assert "start kubepods.slice CPUWeight=157 " in out
    assert "4 containers wait for their runtime" in out
    assert command("apply", pods) == 0
    assert "nothing to do" in capsys.readouterr().out
    assert command("status", pods) == 0
    assert "as wanted, 4 containers wait for their runtime" in capsys.readouterr().out
    assert command("down") == 0
    assert "stopped 6 units" in capsys.readouterr().out
    assert command("down") == 0
    assert "nothing to remove" in capsys.readouterr().out


def test_systemds_names_only_makes_directories_without_asking_systemd(
    command: Callable[..., int], example: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bus, "_BOOTED", "/nonexistent")
    pods = str(example / "three-pods.yaml")
    assert command("apply", pods) == 1
    assert "no systemd runs here" in capsys.readouterr().err
    assert command("apply", "--systemd-names-only", pods) == 0
    assert "mkdir kubepods.slice" in capsys.readouterr().out
    assert command("down", "--systemd-names-only") == 0


@pytest.mark.parametrize(("said", "expected"), [(1234, 1234), (INFINITY, -1)])
def test_a_scope_has_the_tasks_that_this_machines_systemd_gives_it(
    machine: Callable[..., Any],
    make_node: Callable[..., NodeConfig],
    make_pod: Callable[..., Pod],
    monkeypatch: pytest.MonkeyPatch,
    said: int,
    expected: int,
) -> None:
    """systemd 252 was asked: a percentage in system.conf.d is a number on the bus, and infinity is 2^64-1."""
    monkeypatch.setattr(root, "MACHINE_ROOT", "/own")
    machine().fake.default_tasks_max = said
    options = Namespace(root="/own", systemd_names_only=False)
    node = root.with_default_tasks_max(options, make_node(driver="systemd"))
    container = wanted_tree(node, [make_pod()])[-1]
    assert container.limits.pids == expected
    assert "on this machine" in container.reasons["pids"].why


def test_without_an_answer_a_scope_has_the_tasks_that_systemd_has_built_in(
    make_node: Callable[..., NodeConfig], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(root, "MACHINE_ROOT", "/own")
    monkeypatch.setattr(bus, "_BOOTED", str(tmp_path / "not booted"))
    node = make_node(driver="systemd")
    options = Namespace(root="/own", systemd_names_only=False)
    assert root.with_default_tasks_max(options, node) == node
    assert node.scope_tasks == node.max_pids * 15 // 100


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("kubepods.slice", True),
        ("kubepods.slice/kubepods-burstable.slice", True),
        ("kubepods.slice/burstable.slice", False),
        ("kubepods", False),
        ("x.slice/kubepods.slice", False),
        ("kubepods.slice/a.scope", False),
    ],
)
def test_a_path_is_a_slices_only_where_systemd_would_make_it(path: str, expected: bool) -> None:
    assert is_slice(path) is expected


@pytest.mark.parametrize("root", ["/a+b", "/a@b", "/a=b", "/a~b", "/a,b", "/" + "a" * 200 + "/" + "b" * 45])
def test_a_cgroup_root_that_is_no_unit_name_is_refused(root: str, make_node: Callable[..., NodeConfig]) -> None:
    with pytest.raises(ConfigError, match="cgroupRoot"):
        make_node(driver="systemd", cgroupRoot=root)
