"""Random families of processes that come and go: each ns is counted once, where it was used."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from fakecgroup import CpuUse, End, Kernel, TaskInfo
from fakecgroup.core.cgroup import Cgroup

from .test_usage import Machine

MS = 1_000_000
Places = tuple[Cgroup, ...]


class Families(Machine):
    """Processes under one that is in no cgroup and takes up orphans. `used_in` is what was used, by cgroup, in ms."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.choice = random.Random(seed)
        self.kernel = Kernel("v2", kernel="6.12", cpus=2, processes=self, clock=iter(range(0, 10**15, MS)).__next__)
        self.used_in: Counter[str] = Counter()
        self.where: dict[int, str] = {}
        self.zombies: set[int] = set()
        self.new: dict[int, Places] = {}  # forked, and nobody knows
        self.passed: dict[int, Places] = {}  # and gone
        self.top = self.process()
        self.paths = ["a", "a/b", "c"]
        for path in self.paths:
            self.kernel.mkdir(path)
        for path in self.paths:
            pid = self.fork(self.top)
            del self.new[pid]
            self.kernel.write(f"{path}/cgroup.procs", str(pid))
            self.where[pid] = path

    def place(self, pid: int) -> Places:
        found = self.kernel.walk(self.where[pid])
        assert isinstance(found, Cgroup)
        return (found,)

    def forked(self) -> list[tuple[TaskInfo, Places]]:
        new, self.new = self.new, {}
        self.passed |= {pid: places for pid, places in new.items() if pid not in self.used}
        return [(TaskInfo(pid, pid, zombie=pid in self.zombies), new[pid]) for pid in new.keys() & self.used.keys()]

    def ended(self) -> list[End] | None:
        ends = super().ended()
        return ends and [end._replace(places=self.passed.pop(end.tgid, None)) for end in ends]

    @property
    def alive(self) -> list[int]:
        return sorted(self.where.keys() - self.zombies)

    def fork(self, parent: int) -> int:
        pid = self.process(parent)
        if parent != self.top:
            self.where[pid] = self.where[parent]
            self.new[pid] = self.place(pid)
        else:
            self.new[pid] = ()
        return pid

    def burn(self, pid: int) -> None:
        ms = self.choice.randrange(1, 50)
        self.runs(pid, ms / 1000)
        self.used_in[self.where[pid]] += ms

    def move(self, pid: int) -> None:
        path = self.choice.choice(self.paths)
        self.kernel.write(f"{path}/cgroup.procs", str(pid))
        self.where[pid] = path

    def exit(self, pid: int, *, told: bool = True) -> None:
        """Told of itself before, by the kernel after, or by nobody: then a signal has killed it."""
        if self.ends is None and told:
            line: list[Any] = []
            above = pid
            while not self.kernel.membership.has_account(above) and above in self.where:
                line.insert(0, (above, self.place(above)))
                above = self.used[above].parent
            mine = [child for child, use in self.used.items() if use.parent == pid and child in self.where]
            line += [(child, self.place(child)) for child in mine if not self.kernel.membership.has_account(child)]
            self.kernel.membership.process_exits(line, pid, 0)
        elif self.ends is not None and told:
            own = self.used[pid].own
            self.ends.append(End(pid, pid, own.run, own))
        self.zombies.add(pid)
        for child, use in self.used.items():
            if use.parent == pid:
                self.used[child] = use._replace(parent=self.top)
        self.used[pid] = self.used[pid]._replace(zombie=True)

    def wait(self, pid: int) -> None:
        """Its parent waits for it."""
        use = self.used.pop(pid)
        whole = use.own.plus(use.children)
        parent = self.used[use.parent]
        self.used[use.parent] = CpuUse(parent.start, parent.parent, parent.own, parent.children.plus(whole))
        self.zombies.remove(pid)
        del self.where[pid]

    def live(self, steps: int, *, kills: float = 0) -> None:
        """At the end all are gone and looked for."""
        for step in range(steps):
            alive = self.alive
            doing = self.choice.randrange(10)
            if self.zombies and doing in (0, 1):
                self.wait(self.choice.choice(sorted(self.zombies)))
            elif alive and doing < 4:
                self.burn(self.choice.choice(alive))
            elif alive and doing < 6:
                self.fork(self.choice.choice(alive))
            elif alive and doing == 6 and step > steps // 4:
                self.exit(self.choice.choice(alive), told=self.choice.random() >= kills)
            elif alive and doing == 7:
                self.move(self.choice.choice(alive))
            elif doing == 8:
                self.kernel.read(f"{self.choice.choice(self.paths)}/cpu.stat")
            else:
                self.kernel.look()
        for pid in self.alive:
            self.exit(pid, told=self.choice.random() >= kills)
        while self.zombies:
            self.wait(self.choice.choice(sorted(self.zombies)))
            if not self.choice.randrange(4):
                self.kernel.look()
        for _ in range(3):
            self.kernel.look()

    def counted(self) -> Counter[str]:
        """In ms, without what is in the cgroups below."""
        here: Counter[str] = Counter()
        for path in self.paths:
            found = self.kernel.walk(path)
            assert isinstance(found, Cgroup)
            here[path] = sum(time.run for time in found.cpu.values()) // MS
        here["a"] -= here["a/b"]
        return here


@pytest.mark.parametrize("tells", ["processes", "kernel"])
def test_all_is_counted_where_it_was_used_if_all_ends_are_told(tells: str) -> None:
    for seed in range(60):
        families = Families(seed)
        families.ends = [] if tells == "kernel" else None
        families.live(150)
        assert families.counted() == families.used_in, seed


@pytest.mark.parametrize("tells", ["processes", "kernel"])
def test_nothing_is_counted_twice_if_some_ends_are_not_told(tells: str) -> None:
    for seed in range(60):
        families = Families(seed)
        families.ends = [] if tells == "kernel" else None
        families.live(150, kills=0.3)
        assert families.counted().total() <= families.used_in.total(), seed


def test_nothing_is_counted_twice_if_nobody_tells_of_ends() -> None:
    for seed in range(60):
        families = Families(seed)
        families.live(150, kills=1)
        assert families.counted().total() <= families.used_in.total(), seed
