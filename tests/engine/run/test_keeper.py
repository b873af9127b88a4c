"""Reconciles of a keeper on the model of the kernel, with a clock that the test sets."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from errno import EBUSY, EINVAL, ENOENT
from typing import Any

import pytest

from cgroup_engine.change.killing import ProcessKiller
from cgroup_engine.errors import RootError
from cgroup_engine.inputs.pod_object import pod_from_object
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.model.names import is_container_directory, is_pod_directory
from cgroup_engine.model.pod import Pod
from cgroup_engine.run.control import Control
from cgroup_engine.run.events import Complaint, Reason, Reconciled
from cgroup_engine.run.keeper import Keeper
from cgroup_engine.run.opened_root import OpenedRoot
from cgroup_engine.run.orphans import GRACE
from cgroup_engine.sources.source import Seen
from cgroup_engine.tree.found import FoundTree
from cgroup_engine.tree.layout import Controller, detect
from fakecgroup import KernelFs
from fakecgroup.kernel import Kernel

INTERVAL = 60.0
LAYOUTS = [("v1", "5.10"), ("v2", "5.10"), ("v2", "6.12")]


class Time:
    def __init__(self) -> None:
        self.now = 1000.0

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Recorded(KernelFs):
    """Counts changes of the tree, and refuses those in ``refuse``: path -> errno."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.changes: list[Any] = []
        self.refuse: dict[str, int] = {}

    def _changing(self, path: str) -> None:
        self.changes.append(path)
        if path in self.refuse:
            raise OSError(self.refuse[path], "refused", path)

    def mkdir(self, path: str) -> None:
        self._changing(path)
        super().mkdir(path)

    def rmdir(self, path: str) -> None:
        self._changing(path)
        super().rmdir(path)

    def write(self, path: str, data: str) -> None:
        self._changing(path)
        super().write(path, data)


class Doomed(ProcessKiller):
    """The model's processes: those that die at once, and the stubborn."""

    own = 4000000

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.stubborn: set[int] = set()
        self.kernel_threads: set[int] = set()
        self.killed: list[int] = []

    def is_kernel_thread(self, pid: int) -> bool:
        return pid in self.kernel_threads

    def kill(self, pid: int, is_there: Callable[..., Any]) -> None:
        if is_there():
            self.killed.append(pid)
            if pid not in self.stubborn:
                self.end(pid)

    def end(self, pid: int) -> None:
        self.kernel.task_exited(pid)
        self.kernel.task_reaped(pid)


class Kept:
    """A keeper of a model's tree, and the tree."""

    def __init__(self, node: NodeConfig, layout: str, version: str, **options: Any) -> None:
        self.kernel = Kernel(layout=layout, kernel=version, cpus=4, memory=8 << 30)
        self.fs = Recorded(self.kernel)
        self.layout = detect(self.fs, "model")
        self.node = replace(node, cgroup_version=self.layout.version, cpu_list=self.layout.cpus)
        self.time = Time()
        self.processes = Doomed(self.kernel)
        self.gone = False
        control = Control(self.time.clock, self.time.sleep)
        self.keeper = Keeper(self.opened, control, INTERVAL, processes=self.processes, **options)
        self.complaints: list[Complaint] = []

    @contextmanager
    def opened(self) -> Iterator[OpenedRoot]:
        if self.gone:
            raise RootError("model: is gone")
        yield OpenedRoot(self.node, FoundTree(self.fs, self.layout))

    def due(self) -> float:
        """When the keeper wants to try something again."""
        due = self.keeper.next_try()
        assert due is not None
        return due

    def look(
        self,
        *pods: Pod,
        after: float = 0.0,
        reason: Reason = "interval",
        complete: bool = True,
        by: dict[str, str] | None = None,
    ) -> Reconciled:
        """One reconcile; ``after``: seconds since the last."""
        self.time.now += after
        self.fs.changes.clear()
        done, self.complaints = self.keeper.reconcile(reason, Seen(pods, complete=complete), by or {})
        return done

    def file(self, controller: Controller, cgroup: str, name: str) -> str:
        return self.layout.file(controller, cgroup, name)

    def weight(self, cgroup: str) -> str:
        return self.file("cpu", cgroup, "cpu.shares" if self.layout.version == 1 else "cpu.weight")

    def write(self, path: str, text: str) -> None:
        self.kernel.write(f"/{path}", text)

    def read(self, path: str) -> str:
        return self.kernel.read(f"/{path}").strip()

    def pods(self) -> set[str]:
        names = {name for path in ("", "/burstable", "/besteffort") for name in self.names(f"kubepods{path}")}
        return {name for name in names if is_pod_directory(name, "cgroupfs")}

    def names(self, cgroup: str) -> set[str]:
        found = [self.layout.directory(tree, cgroup) for tree in self.layout.hierarchies]
        return {name for directory in found if self.fs.is_dir(directory) for name in self.fs.listdir(directory)}

    def make(self, cgroup: str) -> None:
        """As a stranger: in every hierarchy."""
        for tree in self.layout.hierarchies:
            self.kernel.mkdir("/" + self.layout.directory(tree, cgroup))

    def process_in(self, cgroup: str) -> int:
        pid = self.kernel.fork(1)
        self.write(self.file("memory", self.container_in(cgroup), "cgroup.procs"), str(pid))
        return pid

    def container_in(self, pod: str) -> str:
        """A process lives in a container: on v2 none may be in a cgroup with controllers for its children."""
        names = sorted(name for name in self.names(pod) if is_container_directory(name))
        return f"{pod}/{names[0]}" if names else pod


@pytest.fixture(params=LAYOUTS, ids="-".join)
def kept(request: pytest.FixtureRequest, make_node: Callable[..., NodeConfig]) -> Kept:
    return Kept(make_node(), *request.param)


POD = "kubepods/besteffort/pod0aa1a5e2-0b3f-4d0e-8f31-000000000001"
STRANGER = "kubepods/besteffort/pod0aa1a5e2-0b3f-4d0e-8f31-00000000abcd"


def test_the_second_look_changes_nothing(kept: Kept, make_pod: Callable[..., Pod]) -> None:
    first = kept.look(make_pod(), reason="start")
    assert (first.outcome.failed, first.drift, first.pods) == ([], (), {"BestEffort": 1})
    assert first.outcome.done
    second = kept.look(make_pod())
    assert (second.outcome.done, second.drift, kept.fs.changes) == ([], (), [])
    assert kept.keeper.next_try() is None


def test_what_somebody_else_wrote_is_told_and_put_right(kept: Kept, make_pod: Callable[..., Pod]) -> None:
    kept.look(make_pod())
    file = kept.weight(POD)
    before = kept.read(file)
    kept.write(file, "500")
    done = kept.look(make_pod(), by={file: "sh (pid 7)"})
    [drift] = done.drift
    assert (drift.path, drift.owner, drift.wanted, drift.found) == (file, "default/p1", before, "500")
    assert drift.by == "sh (pid 7)"
    assert kept.read(file) == before
    assert kept.look(make_pod()).drift == ()


def test_a_change_of_the_pods_is_no_drift(
    kept: Kept, make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    small = make_pod(make_container(requests={"cpu": "100m"}))
    large = make_pod(make_container(requests={"cpu": "900m"}), make_container("d"))
    kept.look(small)
    done = kept.look(large, reason="pods")
    assert done.outcome.done
    assert done.drift == ()


def test_a_removed_cgroup_is_told_once_and_made_again(kept: Kept, make_pod: Callable[..., Pod]) -> None:
    kept.look(make_pod())
    container = kept.container_in(POD)
    trees = kept.layout.hierarchies
    for tree in trees:
        kept.fs.rmdir(kept.layout.directory(tree, container))
    done = kept.look(make_pod())
    assert {drift.path for drift in done.drift} == {kept.layout.directory(tree, container) for tree in trees}
    assert {(drift.wanted, drift.found) for drift in done.drift} == {("a cgroup", "")}
    assert done.outcome.failed == []
    assert kept.look(make_pod()).outcome.done == []


def test_a_failed_step_waits_twice_as_long_each_time_and_the_others_do_not(
    kept: Kept, make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    file = kept.weight(POD)
    pods = make_pod(), make_pod(n=2)
    kept.fs.refuse[file] = EBUSY
    assert [str(failure.path) for failure in kept.look(*pods).outcome.failed] == [file]
    assert kept.fs.is_dir(kept.layout.directory(kept.layout.hierarchy_of["cpu"], POD.replace("001", "002")))
    tries = []
    end = kept.time.now + 300
    while (due := kept.due()) < end:
        waited = due - kept.time.now
        done = kept.look(*pods, after=waited, reason="retry")
        if file in kept.fs.changes:
            tries.append(waited)
            assert len(done.outcome.failed) == 1
    assert tries[:7] == [1, 2, 4, 8, 16, 32, 60]
    del kept.fs.refuse[file]
    done = kept.look(*pods, after=INTERVAL)
    assert done.outcome.failed == []
    assert kept.keeper.next_try() is None


def test_a_step_that_waits_is_not_attempted_and_counted(kept: Kept, make_pod: Callable[..., Pod]) -> None:
    file = kept.weight(POD)
    kept.fs.refuse[file] = EINVAL
    kept.look(make_pod())
    done = kept.look(make_pod(), after=0.5)
    assert (done.backed_off, done.outcome.failed, kept.fs.changes) == (1, [], [])


def test_another_value_is_tried_at_once(
    kept: Kept, make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    kept.look()
    pod = "kubepods/burstable/pod0aa1a5e2-0b3f-4d0e-8f31-000000000001"
    kept.fs.refuse[kept.weight(pod)] = EBUSY
    kept.look(make_pod(make_container(requests={"cpu": "500m"})))
    done = kept.look(make_pod(make_container(requests={"cpu": "1500m"})), after=0.1)
    assert len(done.outcome.failed) == 1


def test_a_fight_over_a_file_is_no_hot_loop_and_told_once(kept: Kept, make_pod: Callable[..., Pod]) -> None:
    kept.look(make_pod())
    file = kept.weight(POD)
    wanted = kept.read(file)
    repaired, complaints, start = 0, [], kept.time.now
    while kept.time.now < start + 100:
        kept.write(file, "500")
        done = kept.look(make_pod(), after=0.5, reason="drift", by={file: "runc (pid 9)"})
        repaired += kept.read(file) == wanted
        complaints += kept.complaints
        assert len(done.drift) == (kept.read(file) == wanted)
    assert repaired == 10  # 3 at once, then after 1, 2, 4, ... seconds
    [complaint] = complaints
    assert file in complaint.text
    assert "runc (pid 9)" in complaint.text
    kept.look(make_pod(), after=INTERVAL)
    assert kept.read(file) == wanted


def test_a_fight_over_many_files_is_told_in_one_line(
    make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod]
) -> None:
    kept = Kept(make_node(), "v2", "6.12")
    pods = [make_pod(n=n) for n in range(1, 4)]
    kept.look(*pods)
    complaints: list[Complaint] = []
    for _ in range(40):
        for name in kept.pods():
            kept.write(kept.weight(f"kubepods/besteffort/{name}"), "500")
        kept.look(*pods, after=0.5, reason="drift")
        complaints += kept.complaints
    [complaint] = complaints
    assert "cpu.weight and 2 more: somebody changes them again and again" in complaint.text


SMALL = {"requests": {"cpu": "500m", "memory": "256Mi"}, "limits": {"cpu": "1", "memory": "512Mi"}}
LARGE = {"requests": {"cpu": "1", "memory": "512Mi"}, "limits": {"cpu": "2", "memory": "1Gi"}}
RESIZED = "kubepods/burstable/pod0aa1a5e2-0b3f-4d0e-8f31-000000000001"


class Resized:
    """A pod that a kubelet resizes, beside a keeper of its tree."""

    def __init__(self, kept: Kept, make_object: Callable[..., dict[str, Any]], container: dict[str, Any]) -> None:
        self.kept = kept
        self._object, self._container = make_object, container

    def pod(self, spec: dict[str, Any], allocated: dict[str, Any], in_force: dict[str, Any] | None = None) -> Pod:
        """``in_force``: the resources before a resize that is in progress."""
        status = {"name": "c", "allocatedResources": allocated["requests"], "resources": in_force or allocated}
        conditions = [{"type": "PodResizeInProgress", "status": "True"}] if in_force else []
        told = {"qosClass": "Burstable", "containerStatuses": [status], "conditions": conditions}
        item = {**self._object({**self._container, "resources": spec}), "status": told}
        return pod_from_object(item, "test", self.kept.node.version)

    def limits(self) -> list[str]:
        """The memory limits of the pod and its container."""
        return [self.kept.read(path) for path in self._files()]

    def kubelet_writes(self, limit: int) -> None:
        for path in self._files():
            both = path.replace(".limit_in", ".memsw.limit_in")
            if both != path and self.kept.read(both) == self.kept.read(path):
                self.kept.write(both, str(limit))
            self.kept.write(path, str(limit))

    def _files(self) -> list[str]:
        name = "memory.limit_in_bytes" if self.kept.layout.version == 1 else "memory.max"
        return [self.kept.file("memory", each, name) for each in (RESIZED, self.kept.container_in(RESIZED))]


@pytest.fixture(params=LAYOUTS, ids="-".join)
def resized(
    request: pytest.FixtureRequest,
    make_node: Callable[..., NodeConfig],
    make_object: Callable[..., dict[str, Any]],
    make_container: Callable[..., dict[str, Any]],
) -> Resized:
    return Resized(Kept(make_node(), *request.param, taken_over=True), make_object, make_container())


_BEFORE, _AFTER = str(512 << 20), str(1 << 30)


def test_a_resize_that_a_kubelet_has_begun_is_left_to_it(resized: Resized) -> None:
    kept = resized.kept
    kept.look(resized.pod(SMALL, SMALL))
    done = kept.look(resized.pod(LARGE, SMALL), reason="pods")
    assert (resized.limits(), done.drift) == ([_BEFORE, _BEFORE], ())
    resized.kubelet_writes(1 << 30)
    for pod in (resized.pod(LARGE, SMALL), resized.pod(LARGE, LARGE, in_force=SMALL)):
        done = kept.look(pod, reason="drift")
        assert (resized.limits(), done.drift, done.outcome.done) == ([_AFTER, _AFTER], (), [])
    kept.look(resized.pod(LARGE, LARGE), reason="pods")
    assert kept.read(kept.weight(RESIZED)) == ("1024" if kept.layout.version == 1 else "39")


def test_a_limit_in_use_is_lowered_by_the_kubelet_in_its_own_time(resized: Resized) -> None:
    kept = resized.kept
    kept.look(resized.pod(LARGE, LARGE))
    kept.look(resized.pod(SMALL, SMALL, in_force=LARGE), reason="pods")
    assert resized.limits() == [_AFTER, _AFTER]
    assert kept.fs.changes == [kept.weight("kubepods/burstable")]  # counts the spec
    kept.look(resized.pod(SMALL, SMALL), reason="pods")
    assert resized.limits() == [_BEFORE, _BEFORE]


def test_a_raised_limit_stays_until_the_pods_should_have_told_of_it(resized: Resized) -> None:
    kept = resized.kept
    kept.look(resized.pod(SMALL, SMALL))
    resized.kubelet_writes(1 << 30)
    done = kept.look(resized.pod(SMALL, SMALL), reason="drift")
    assert (resized.limits(), done.drift) == ([_AFTER, _AFTER], ())
    done = kept.look(resized.pod(SMALL, SMALL), after=kept.due() - kept.time.now, reason="retry")
    assert resized.limits() == [_BEFORE, _BEFORE]
    assert {drift.found for drift in done.drift} == {_AFTER}
    assert kept.keeper.next_try() is None


def test_without_a_kubelet_the_allocated_values_are_kept(
    resized: Resized, make_node: Callable[..., NodeConfig]
) -> None:
    kept = resized.kept = Kept(make_node(), "v2", "6.12")
    kept.look(resized.pod(SMALL, SMALL))
    resized.kubelet_writes(1 << 30)
    kept.look(resized.pod(LARGE, SMALL), reason="drift")
    assert resized.limits() == [_BEFORE, _BEFORE]
    kept.look(resized.pod(LARGE, LARGE, in_force=SMALL), reason="pods")
    assert resized.limits() == [_AFTER, _AFTER]


def test_a_cgroup_that_vanishes_meanwhile_is_skipped_and_made_again(kept: Kept, make_pod: Callable[..., Pod]) -> None:
    kept.look()
    file = kept.weight(POD)
    made = kept.fs.write

    def removed_before_it_is_written(path: str, data: str) -> None:
        if path == file:
            kept.fs.write = made  # type: ignore[method-assign]
            for tree in kept.layout.hierarchies:
                directory = kept.layout.directory(tree, POD)
                if kept.fs.is_dir(directory):
                    kept.kernel.rmdir(f"/{directory}")
        made(path, data)

    kept.fs.write = removed_before_it_is_written  # type: ignore[method-assign]
    done = kept.look(make_pod(), reason="pods")
    assert (done.outcome.failed, done.outcome.refused) == ([], [])
    assert file in [step.path for step in done.outcome.skipped]
    done = kept.look(make_pod(), after=kept.due() - kept.time.now, reason="retry")
    assert done.outcome.failed == []
    assert kept.read(file) != "500"
    assert kept.look(make_pod(), after=INTERVAL).outcome.done == []


def test_a_file_that_is_missing_in_a_cgroup_that_is_there_is_a_failure(
    kept: Kept, make_pod: Callable[..., Pod]
) -> None:
    kept.fs.refuse[kept.weight(POD)] = ENOENT
    [failure] = kept.look(make_pod()).outcome.failed
    assert failure.errno == ENOENT


def test_a_pod_that_is_gone_goes_with_its_processes(kept: Kept, make_pod: Callable[..., Pod]) -> None:
    kept.look(make_pod(), make_pod(n=2))
    pid = kept.process_in(POD)
    done = kept.look(make_pod(n=2), reason="pods")
    assert done.killed == {POD: (pid,)}
    assert (done.outcome.failed, done.kept) == ([], ())
    assert kept.pods() == {"pod0aa1a5e2-0b3f-4d0e-8f31-000000000002"}


@pytest.mark.parametrize("kept", [("v1", "5.10"), ("v2", "5.10")], ids="-".join, indirect=True)
def test_processes_that_do_not_end_are_killed_again_later(kept: Kept, make_pod: Callable[..., Pod]) -> None:
    kept.look(make_pod())
    pid = kept.process_in(POD)
    kept.processes.stubborn.add(pid)
    done = kept.look(reason="pods")
    assert kept.processes.killed == [pid] * 5
    assert done.kept == (f"/{POD}: process {pid} lives in it after SIGKILL",)
    kept.look()
    assert len(kept.processes.killed) == 5
    kept.processes.stubborn.clear()
    done = kept.look(after=kept.due() - kept.time.now, reason="retry")
    assert done.killed == {POD: (pid,)}
    assert kept.pods() == set()
    assert kept.keeper.next_try() is None


@pytest.mark.parametrize("kept", [("v1", "5.10")], ids="-".join, indirect=True)
def test_a_frozen_pod_is_thawed_to_end_and_removed_from_every_hierarchy(
    kept: Kept, make_pod: Callable[..., Pod]
) -> None:
    kept.look(make_pod())
    pid = kept.process_in(POD)
    kept.kernel.write(f"/freezer/{POD}/cgroup.procs", str(pid))
    kept.kernel.write(f"/freezer/{POD}/freezer.state", "FROZEN")
    assert kept.look(reason="pods").killed == {POD: (pid,)}
    assert not kept.fs.is_dir(f"freezer/{POD}")
    assert kept.fs.is_dir("freezer/kubepods/besteffort")


def test_neither_itself_nor_the_first_process_is_ended(kept: Kept, make_pod: Callable[..., Pod]) -> None:
    kept.look(make_pod())
    kept.processes.own = kept.process_in(POD)
    done = kept.look(reason="pods")
    assert done.killed == {}
    assert done.kept == (f"/{POD}: this engine itself lives in it; start it elsewhere",)
    assert kept.pods()


def test_a_pod_that_nobody_knows_stays_for_a_while(kept: Kept, make_pod: Callable[..., Pod]) -> None:
    kept.look(make_pod())
    kept.make(STRANGER)
    done = kept.look(make_pod(), by={kept.layout.directory(kept.layout.hierarchies[0], STRANGER): "kubelet (pid 7)"})
    assert [(drift.wanted, drift.found, drift.by) for drift in done.drift] == [("", "a cgroup", "kubelet (pid 7)")]
    assert len(kept.pods()) == 2
    done = kept.look(make_pod(), after=kept.due() - kept.time.now)
    assert done.drift == ()
    assert len(kept.pods()) == 1


def test_what_lives_in_a_pod_that_nobody_knows_is_ended_in_the_end(kept: Kept, make_pod: Callable[..., Pod]) -> None:
    kept.look(make_pod())
    kept.make(STRANGER)
    pid = kept.process_in(STRANGER)
    done = kept.look(make_pod())
    assert done.killed == {}
    assert done.kept == (f"/{STRANGER}: not wanted, kept: process {pid} lives in it",)
    assert kept.look(make_pod(), after=kept.due() - kept.time.now).killed == {STRANGER: (pid,)}
    assert len(kept.pods()) == 1


def test_what_lives_in_a_pod_that_nobody_knows_is_not_ended_where_somebody_else_makes_pods(
    make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod]
) -> None:
    kept = Kept(make_node(), "v2", "6.12", taken_over=True)
    kept.look(make_pod())
    kept.make(STRANGER)
    pid = kept.process_in(STRANGER)
    for _ in range(3):
        done = kept.look(make_pod(), after=GRACE + 1)
        assert done.killed == {}
        assert done.kept == (f"/{STRANGER}: not wanted, kept: process {pid} lives in it",)
    assert kept.keeper.next_try() is None
    kept.processes.end(pid)
    kept.look(make_pod())
    assert len(kept.pods()) == 1


def test_a_pod_that_becomes_wanted_meanwhile_is_not_touched(kept: Kept, make_pod: Callable[..., Pod]) -> None:
    kept.look()
    kept.make(POD)
    kept.look()
    pid = kept.process_in(POD)
    done = kept.look(make_pod(), after=GRACE + 1)
    assert done.killed == {}
    assert str(pid) in kept.read(kept.file("memory", POD, "cgroup.procs"))


def test_what_an_earlier_run_made_goes_at_once(
    make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod]
) -> None:
    kept = Kept(make_node(), "v2", "6.12", known=[STRANGER])
    for cgroup in ("kubepods", "kubepods/besteffort", STRANGER):
        kept.make(cgroup)
    kept.look()
    assert kept.pods() == set()


def test_no_unknown_pod_goes_as_long_as_a_manifest_was_never_readable(kept: Kept, make_pod: Callable[..., Pod]) -> None:
    kept.look(make_pod())
    kept.make(STRANGER)
    for _ in range(3):
        kept.look(after=GRACE, complete=False)
    assert kept.pods() == {STRANGER.rpartition("/")[2]}  # the one that was seen before went


def test_what_an_earlier_run_made_stays_as_long_as_a_manifest_was_never_readable(
    make_node: Callable[..., NodeConfig],
) -> None:
    kept = Kept(make_node(), "v2", "6.12", known=[STRANGER])
    for cgroup in ("kubepods", "kubepods/besteffort", STRANGER):
        kept.make(cgroup)
    kept.look(complete=False)
    assert kept.pods() == {STRANGER.rpartition("/")[2]}
    kept.look()
    assert kept.pods() == set()


def test_an_empty_container_that_a_runtime_is_just_making_stays(kept: Kept, make_pod: Callable[..., Pod]) -> None:
    kept.look(make_pod())
    made = f"{POD}/{'ab' * 32}"
    kept.make(made)
    done = kept.look(make_pod())
    assert (done.outcome.done, done.drift) == ([], ())
    kept.look(make_pod(), after=GRACE + 1)
    assert made.rpartition("/")[2] not in kept.names(POD)


def test_the_processes_of_a_pod_that_changed_its_class_are_not_ended(
    kept: Kept, make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    kept.look(make_pod())
    pid = kept.process_in(POD)
    done = kept.look(make_pod(make_container(requests={"cpu": "1"})), reason="pods")
    assert done.killed == {}
    assert done.kept == (f"/{POD}: not wanted, kept: process {pid} lives in it",)


def test_a_root_that_is_gone_is_an_error_and_the_tree_stays(kept: Kept, make_pod: Callable[..., Pod]) -> None:
    kept.look(make_pod())
    kept.gone = True
    with pytest.raises(RootError):
        kept.look()
    kept.gone = False
    assert kept.look(make_pod()).outcome.done == []


def test_the_classes_are_right_before_the_pods_are(
    kept: Kept, make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    kept.look()
    done = kept.look(make_pod(make_container(requests={"cpu": "1"})), reason="pods")
    paths = [step.cgroup for step in done.outcome.done]
    assert paths.index("kubepods/burstable") < next(n for n, path in enumerate(paths) if "/pod" in path)


def test_a_dry_run_only_looks_and_tells_drift_once(
    make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod]
) -> None:
    kept, dry = Kept(make_node(), "v2", "6.12"), Kept(make_node(), "v2", "6.12", dry_run=True)
    dry.fs = kept.fs
    kept.look(make_pod())
    kept.write(kept.weight(POD), "500")
    kept.make(STRANGER)
    pid = kept.process_in(STRANGER)
    done = dry.look(make_pod())
    assert {drift.path for drift in done.drift} == {kept.weight(POD), STRANGER}
    assert (done.planned, done.dry_run, done.outcome.done, kept.fs.changes) == (1, True, [], [])
    assert dry.look(make_pod(), after=2 * GRACE).drift == ()
    assert str(pid) in kept.read(f"{STRANGER}/cgroup.procs")


def test_many_looks_leave_nothing_behind(make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod]) -> None:
    kept = Kept(make_node(), "v2", "6.12")
    pods = [make_pod(n=n) for n in range(6)]

    def look(turns: int) -> None:
        for turn in range(turns):
            shown = pods[turn % 3 : turn % 3 + 3]
            kept.write(kept.weight("kubepods"), str(200 + turn % 50))
            kept.look(*shown, after=7.0, by={kept.weight("kubepods"): f"sh (pid {turn})"})

    kept.look(*pods)
    look(20)
    gc.collect()
    tracemalloc.start()
    look(7)  # ends with the same pods as below
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    look(22)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 20_000, grown
