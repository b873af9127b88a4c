"""A fake's snapshot restores to the identical state: it answers as it would have, whatever comes next."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from fakecgroup import JoinedProcesses, Kernel, ProcessTable, TaskInfo, Workload, personalities
from fakecgroup.conformance import recording
from fakecgroup.conformance.case import Answer, Op
from fakecgroup.conformance.recording import RecordedCase
from fakecgroup.conformance.replay import replay
from fakecgroup.conformance.target_model import ModelTarget
from fakecgroup.controllers.memory.css import Memory
from fakecgroup.core.cgroup import Cgroup
from fakecgroup.credentials.caller import ROOT
from fakecgroup.snapshot import SeenProcess, Snapshot, SnapshotError, compare, of_kernel, restore
from fakecgroup.snapshot.files import unpack
from fakecgroup.snapshot.lines import pack
from fakecgroup.snapshot.state.kinds import ALONE, KINDS
from fakecgroup.snapshot.state.whole import _alone
from fakecgroup.tasks.tid import FIRST_SIMULATED

from .busy import busy_kernel, tops

PAIRS = personalities()


def restored_from(kernel: Kernel, **options: Any) -> Kernel:
    """A kernel restored from the bytes of a file."""
    return restore(unpack(pack(of_kernel(kernel))), **options)


def assert_same(one: Kernel, other: Kernel) -> None:
    """Every file, and what stat(2) and readdir(3) say."""
    assert compare(of_kernel(one), of_kernel(other)) == []
    for top in tops(one) or [""]:
        for path in (f"{top}/", f"{top}/app", f"{top}/app/web"):
            assert one.listdir(path) == other.listdir(path)
            for name in (*one.listdir(path), "."):
                assert one.stat(f"{path}/{name}") == other.stat(f"{path}/{name}"), (path, name)


@pytest.mark.parametrize(("layout", "version"), PAIRS)
def test_the_state_is_identical_and_time_goes_on_alike(layout: str, version: str) -> None:
    kernel = busy_kernel(layout, version)
    restored = restored_from(kernel)
    assert restored.differs == ()
    assert_same(kernel, restored)
    for seconds in (0.35, 3, 10, 30):
        kernel.advance(seconds)
        restored.advance(seconds)
        assert_same(kernel, restored)


def test_what_is_made_next_is_the_same() -> None:
    kernel = busy_kernel("v2", "6.12")
    restored = restored_from(kernel)
    for one in (kernel, restored):
        one.mkdir("/next")
        one.fork(one.processes.all()[-1])
        one.spawn("/next", Workload([{"for": "5s", "cpu": 0.5}]))
        one.advance(2)
    assert kernel.stat("/next") == restored.stat("/next")
    assert kernel.read("/next/cgroup.procs") == restored.read("/next/cgroup.procs")
    assert_same(kernel, restored)


# -- whatever comes next ----------------------------------------------------------------------------


class RestoredTarget(ModelTarget):
    """A model that is restored from its snapshot before each `every`th operation, while no file is open."""

    def __init__(self, layout: str, version: str, machine: str, every: int) -> None:
        super().__init__(layout, version, machine)
        self.every = every
        self.times = 0
        self.done = 0

    def do(self, op: Op) -> Answer:
        self.done += 1
        if self.done % self.every == 0 and not self._busy:
            self._restore()
        return super().do(op)

    @property
    def _busy(self) -> bool:
        """Whether somebody has something that is no part of a snapshot."""
        actors = [*self.actors.values(), self.actor]
        handles = any(one.handles or one.others or one.cgroup_root for one in actors)
        listens = any(css.event_fds for css in self._memory())
        return bool(handles or listens or self.epolls or self.later)

    def _memory(self) -> Iterator[Memory]:
        for hierarchy in self.kernel.hierarchies:
            for cgroup in (hierarchy.root, *hierarchy.root.descendants()):
                css = cgroup.csses.get("memory")
                if isinstance(css, Memory):
                    yield css

    def _restore(self) -> None:
        self.times += 1
        table, old = self._new_table(), self.kernel
        agents = [hierarchy.release_agent_of for hierarchy in old.hierarchies]
        self.kernel = restored_from(old, processes=table, clock=lambda: self.now)
        assert self.kernel.differs == ()
        for hierarchy, agent in zip(self.kernel.hierarchies, agents, strict=True):
            hierarchy.release_agent_of = agent  # which no snapshot keeps
        self.table = table
        table.kernel = self.kernel
        self.kernel.on_release = self._release
        self.kernel.on_notify = self._notify
        self.kernel.on_notify_later = old.on_notify_later
        self.vfs = self.kernel.vfs


@cache
def cases(layout: str, version: str, machine: str) -> tuple[RecordedCase, ...]:
    return recording.load(layout, version, machine).cases


REPLAYED = [(layout, version, recording.PLAIN) for layout, version in PAIRS]
REPLAYED += [("v2", "6.12", recording.SWAP), ("v1", "6.1", recording.SWAP)]


@pytest.mark.parametrize(("layout", "version", "machine"), REPLAYED)
def test_recorded_cases_are_answered_as_without_a_snapshot_between(layout: str, version: str, machine: str) -> None:
    """Some of the cases, each with a snapshot before every eleventh operation."""
    chosen = random.Random(f"{layout} {version}").sample(cases(layout, version, machine), 8)
    restored, plain = RestoredTarget(layout, version, machine, 11), ModelTarget(layout, version, machine)
    different = [
        str(difference)
        for one in chosen
        for difference in replay(one, restored).differences
        if difference not in replay(one, plain).differences
    ]
    assert different == []
    assert restored.times > 5


# -- workloads --------------------------------------------------------------------------------------


def random_tree(seed: int, layout: str = "v2", version: str = "6.12") -> Kernel:
    """Some workloads of all kinds under some limits, a while after they began."""
    chance = random.Random(seed)
    kernel = Kernel(
        layout,
        version,
        cpus=chance.choice([1, 2, 4]),
        memory="1Gi",
        swap=chance.choice(["0", "256Mi"]),
        block_devices="259:0",
        clock=lambda: 10**18,
        seed=seed,
    )
    top = "" if layout == "v2" else "/memory"
    if layout == "v2":
        kernel.write("/cgroup.subtree_control", "+cpu +memory +io +hugetlb +cpuset +pids")
    for name in ("a", "b", "c"):
        for place in tops(kernel):
            kernel.mkdir(f"{place}/{name}")
            if "cpuset" in place:
                kernel.write(f"{place}/{name}/cpuset.cpus", "0")
                kernel.write(f"{place}/{name}/cpuset.mems", "0")
        _limit(kernel, top, name, chance)
        homes = [f"{place}/{name}" for place in tops(kernel)]
        for _ in range(chance.randint(0, 3)):
            kernel.spawn(homes, _workload(chance))
    kernel.advance(chance.uniform(0, 20))
    return kernel


def _limit(kernel: Kernel, top: str, name: str, chance: random.Random) -> None:
    v2 = kernel.layout == "v2"
    choices = {
        "cpu.max" if v2 else "": f"{chance.choice([20, 50, 130])}000 100000",
        "cpu.weight" if v2 else "": str(chance.choice([1, 100, 3000])),
        "memory.max" if v2 else "memory.limit_in_bytes": f"{chance.choice([20, 60, 200])}M",
        "memory.high" if v2 else "": f"{chance.choice([15, 50])}M",
        "memory.oom.group" if v2 else "memory.oom_control": "1",
        "io.max" if v2 else "": "259:0 rbps=1000000",
        "pids.max" if v2 else "": str(chance.choice([2, 20])),
        "hugetlb.2MB.max" if v2 else "": "4M",
        "cgroup.freeze" if v2 else "": "1",
    }
    for file, text in choices.items():
        if file and chance.random() < 0.5:
            kernel.write(f"{top}/{name}/{file}", text)


def _workload(chance: random.Random) -> Workload:
    phases: list[dict[str, object]] = []
    for _ in range(chance.randint(1, 4)):
        phase: dict[str, object] = {
            "for": f"{chance.choice([50, 700, 3000])}ms",
            "cpu": chance.choice([0, 0.3, 1, 1.7]),
        }
        if chance.random() < 0.3:
            phase = {"run": f"{chance.choice([5, 35, 400])}ms"}
        elif chance.random() < 0.3:
            phase["io"] = {"device": "259:0", "read": "3Mi/s", "write": "1Mi/s"}
        if chance.random() < 0.5:
            phase["memory"] = {"start": f"{chance.choice([1, 30, 90])}Mi", "grow": f"{chance.choice([0, 5, 40])}Mi/s"}
        if chance.random() < 0.3:
            phase["file"] = f"{chance.choice([5, 50])}Mi"
        if chance.random() < 0.2:
            phase["hugetlb"] = {"2Mi": f"{chance.choice([2, 8])}Mi"}
        phases.append(phase)
    return Workload(
        phases,
        name=chance.choice([None, "some"]),
        instances=chance.randint(1, 3),
        threads=chance.randint(2, 4),
        nice=chance.choice([0, 5]),
        oom_score_adj=chance.choice([0, -1000, 500]),
        loop=chance.choice(["1", "5", "forever"]),
        delay=chance.choice(["0", "2s"]),
        restart=chance.choice(["never", "always"]),
    )


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("layout", "version"), [("v2", "6.12"), ("v2", "5.10"), ("v1", "6.1"), ("v2", "7.2")])
def test_workloads_go_on_as_they_would_have(layout: str, version: str, seed: int) -> None:
    kernel = random_tree(seed, layout, version)
    restored = restored_from(kernel)
    assert restored.differs == ()
    for seconds in (0.01, 1.5, 20):
        kernel.advance(seconds)
        restored.advance(seconds)
        assert compare(of_kernel(kernel), of_kernel(restored)) == []
        assert kernel.kills == restored.kills
        assert kernel.next_event() == restored.next_event()


# -- under a mount ----------------------------------------------------------------------------------


def mounted(real: ProcessTable) -> JoinedProcesses:
    """The processes of a mount: those of a machine, and simulated ones."""
    return JoinedProcesses(real)


def test_a_models_processes_get_other_numbers_in_a_mount() -> None:
    kernel = busy_kernel("v2", "6.12")
    restored = restored_from(kernel, processes=mounted(ProcessTable()))
    pids = [int(line) for line in restored.read("/app/web/cgroup.procs").splitlines()]
    assert len(pids) == 2
    assert min(pids) >= FIRST_SIMULATED
    assert compare(of_kernel(kernel), of_kernel(restored)) == []
    for seconds in (1, 10):
        kernel.advance(seconds)
        restored.advance(seconds)
        assert compare(of_kernel(kernel), of_kernel(restored)) == []


def test_real_processes_of_a_mount_become_idle_ones() -> None:
    real = ProcessTable()
    real.take(TaskInfo(300, 300, 7, 7))
    real.take(TaskInfo(301, 300, 7, 7))
    kernel = Kernel("v2", "6.12", processes=mounted(real))
    kernel.write("/cgroup.subtree_control", "+pids")
    kernel.mkdir("/app")
    kernel.write("/app/cgroup.procs", "300")
    kernel.spawn("/app", Workload([{"for": "9s", "cpu": 1}]))
    kernel.advance(1)
    restored = restored_from(kernel, processes=mounted(ProcessTable()))
    assert restored.differs == ()
    assert restored.read("/app/pids.current") == "3\n"
    pids = [int(line) for line in restored.read("/app/cgroup.procs").splitlines()]
    assert len(pids) == 2
    assert min(pids) >= FIRST_SIMULATED
    assert sorted(task.uid for pid in pids if (task := restored.processes.find(pid))) == [0, 7]
    restored.advance(2)
    restored.write("/app/cgroup.kill", "1")
    restored.advance(0)
    assert restored.read("/app/pids.current") == "0\n"


def test_a_thread_that_ends_while_the_snapshot_is_taken_is_in_no_list() -> None:
    real = ProcessTable()
    for tid in (300, 301):
        real.take(TaskInfo(tid, 300, 7, 7))
    kernel = Kernel("v2", "6.12", processes=mounted(real))
    taken = of_kernel(kernel, lambda pid: SeenProcess(300, threads=(300,)) if pid == 300 else None)
    restored = restore(unpack(pack(taken)), processes=mounted(ProcessTable()))
    assert restored.differs == ()
    assert len(restored.read("/cgroup.threads").splitlines()) == len(kernel.read("/cgroup.threads").splitlines()) - 1


def test_a_hierarchy_of_v1_has_names_as_long_as_a_path() -> None:
    kernel = Kernel("v1", "6.1")
    kernel.mkdir("/pids/" + "n" * 4000)
    assert "n" * 4000 in restored_from(kernel).listdir("/pids")


# -- what is kept -----------------------------------------------------------------------------------

WIRING = {
    "VirtualClock": "_clock",
    "OnlineCpus": "possible",
    "TopDirectory": "content",
    "Symlink": "target",
    "Hierarchy": "environment personality machine cpus processes membership now notify notify_later dfl options "
    "nsdelegate name taken release_agent_of controllers told_of_tasks counts_cpu counts_memory root_table child_table "
    "_core counts_huge_pages _inheritance _promises _counts _listings root gone child_changed "
    "files_changed signed_char",
    "Membership": "processes hierarchies css_sets cpu memory huge_pages on_task affinities "
    "reclaimer enforcer awaited triggers simulated _makers _pinned _newest _woken",
    "CssSets": "_processes",
    "CpuAccounts": "_processes _now _children ends_reported",
    "MemoryCharges": "_processes",
    "AffinityTable": "_initial",
    "ProcessTable": "on_kill before_cpu memory_of",
    "World": "table _host _clock _counted _changed _writes restarts _pressure _triggers _cpu _memory resources",
    "Restarts": "",
    "CpuResource": "_world _pressure _cpus scheduler _waits _waited",
    "Scheduler": "_cpus _offset _close _agenda _demands _nodes _groups _limited _pools _bound _lowered "
    "_root _changed _unthrottled _roomy _widest",
    "MemoryResource": "_world _version _batch _total _swap _hierarchy _charges _busy _killer _reclaim _homes _growers "
    "_next _settled",
    "HugetlbResource": "_world",
    "IoResource": "_world _processes _transfers _changed",
}
"""What there is one of, and its attributes that are no state: they follow from the rest, or are of the process."""


def test_every_attribute_is_kept_or_known_not_to_be() -> None:
    kernel = busy_kernel("v1", "6.1")
    alone = {type(one).__name__: one for one in _alone(kernel).values()}
    assert alone.keys() == WIRING.keys() == {cls.__name__ for cls in ALONE}
    for name, one in alone.items():
        kept, wiring = KINDS.fields(type(one)).keys(), set(WIRING[name].split())
        assert vars(one).keys() <= kept | wiring, name


@pytest.mark.parametrize(("layout", "version"), PAIRS)
def test_every_attribute_of_a_cgroup_is_kept_or_known_not_to_be(layout: str, version: str) -> None:
    kernel = busy_kernel(layout, version)
    for hierarchy in kernel.hierarchies:
        for cgroup in (hierarchy.root, *hierarchy.root.descendants()):
            for one in (cgroup, *cgroup.csses.made(), *cgroup.files.values()):
                left_out = frozenset().union(*(KINDS.left_out(cls) for cls in type(one).__mro__))
                assert vars(one).keys() <= KINDS.fields(type(one)).keys() | left_out, type(one).__name__


# -- from strangers ---------------------------------------------------------------------------------


def test_a_state_of_another_version_is_restored_from_the_files() -> None:
    snapshot = of_kernel(busy_kernel("v2", "6.12"))
    snapshot.state[0]["schema"] = "another"
    restored = restore(snapshot)
    assert restored.differs == ("its state is of another version of fakecgroup: the tree is made of its files",)
    assert compare(snapshot, of_kernel(restored)) == []


_ODD: list[Any] = [None, True, -1, 0, 1, 1 << 70, 1.5, "", "/", "x" * 300, [], {}, [[]], [1, 2], "max"]


def _mutated(state: Any, chance: random.Random) -> None:
    """Changes a value somewhere in it."""
    while True:
        keys = list(state) if isinstance(state, dict) else list(range(len(state)))
        if not keys:
            return
        key = chance.choice(keys)
        if isinstance(state[key], (dict, list)) and state[key] and chance.random() < 0.9:
            state = state[key]
            continue
        if chance.random() < 0.2:
            del state[key]
        else:
            state[key] = chance.choice(_ODD)
        return


@pytest.mark.hostile("a state of a model with values that were changed at random", times=100)
def test_a_mutated_state_is_refused_in_one_line_or_restored() -> None:
    snapshot = of_kernel(busy_kernel("hybrid", "6.1"))
    refused = 0
    for seed in range(100):
        chance = random.Random(seed)
        mutated: Snapshot = replace(snapshot, state=copy.deepcopy(snapshot.state))
        for _ in range(chance.randint(1, 3)):
            _mutated(chance.choice(mutated.state), chance)
        try:
            restored = restore(mutated)
        except SnapshotError as error:
            refused += 1
            assert str(error).startswith("the tree is no snapshot: its state: "), seed
            assert str(error).isprintable(), seed
        else:
            assert isinstance(restored.root.find("memory"), Cgroup)
            assert restored.read("/memory/memory.limit_in_bytes", ROOT)
    assert refused > 50
