"""``run`` on a tree whose cgroups systemd makes: a fake systemd on a fake tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from cgroup_engine.change.systemd import bus
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.model.pod import Pod
from cgroup_engine.run.control import Control
from cgroup_engine.run.events import Reconciled
from cgroup_engine.run.keeper import Keeper
from cgroup_engine.run.opened_root import OpenedRoot
from cgroup_engine.sources.source import Seen
from cgroup_engine.tree.found import FoundTree
from cgroup_engine.tree.layout import detect

from ...conftest import StubKernel
from .fake_systemd import FakeSystemd

POD = "kubepods-besteffort-pod0aa1a5e2_0b3f_4d0e_8f31_000000000001.slice"
WEIGHT = f"kubepods.slice/kubepods-besteffort.slice/{POD}/cpu.weight"


class Kept:
    def __init__(self, kernel: StubKernel, fake: FakeSystemd, node: NodeConfig) -> None:
        self.kernel, self.fake, self.node, self.now = kernel, fake, node, 1000.0
        self.keeper = Keeper(self.opened, Control(lambda: self.now, self.sleep), 60.0)

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    @contextmanager
    def opened(self) -> Iterator[OpenedRoot]:
        with closing(bus.connect("fake")) as systemd:
            yield OpenedRoot(self.node, FoundTree(self.kernel, detect(self.kernel, "fake")), systemd)

    def look(self, *pods: Pod) -> Reconciled:
        """One reconcile."""
        self.now += 0.5
        done, _ = self.keeper.reconcile("interval", Seen(pods), {})
        assert done.outcome.failed == []
        return done


@pytest.fixture
def kept(
    stub: type[StubKernel], make_node: Callable[..., NodeConfig], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Kept]:
    booted = tmp_path / "booted"
    booted.mkdir()
    monkeypatch.setattr(bus, "_BOOTED", str(booted))
    kernel = stub(2)
    fake = FakeSystemd(kernel, tmp_path)
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", fake.address)
    yield Kept(kernel, fake, make_node(driver="systemd"))
    fake.close()


def test_the_second_look_calls_nothing(kept: Kept, make_pod: Callable[..., Pod]) -> None:
    kept.look(make_pod())
    calls = len(kept.fake.calls)
    done = kept.look(make_pod())
    assert (done.outcome.done, done.drift, len(kept.fake.calls)) == ([], (), calls)


def test_drift_in_a_unit_is_told_by_file_and_set_back(kept: Kept, make_pod: Callable[..., Pod]) -> None:
    kept.look(make_pod())
    kept.kernel.write(WEIGHT, "500")
    done = kept.look(make_pod())
    assert [(drift.path, drift.wanted, drift.found) for drift in done.drift] == [(WEIGHT, "1", "500")]
    assert [step.action for step in done.outcome.done] == ["set"]


def test_a_fight_over_a_unit_is_no_hot_loop(kept: Kept, make_pod: Callable[..., Pod]) -> None:
    kept.look(make_pod())
    calls = len(kept.fake.calls)
    for _ in range(60):  # 30 seconds
        kept.kernel.write(WEIGHT, "500")
        kept.look(make_pod())
    assert len(kept.fake.calls) - calls <= 9


def test_a_pod_that_is_gone_is_stopped_and_a_slice_that_was_stopped_is_started_again(
    kept: Kept, make_pod: Callable[..., Pod]
) -> None:
    kept.look(make_pod(), make_pod(n=2))
    other = POD.replace("01.slice", "02.slice")
    kept.look(make_pod(n=2))
    assert [unit for method, unit, _ in kept.fake.calls if method == "StopUnit"] == [POD]
    with closing(bus.connect("fake")) as systemd:
        systemd.stop(other)
    done = kept.look(make_pod(n=2))
    assert [(drift.wanted, drift.found) for drift in done.drift] == [("a cgroup", "")]
    assert [(step.action, step.path) for step in done.outcome.done] == [("start", other)]
