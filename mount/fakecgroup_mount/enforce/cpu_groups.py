"""The groups of the cpu controller with real processes, as they are in the model."""

from __future__ import annotations

import os

from fakecgroup import Kernel
from fakecgroup.controllers.cpu.css import RUNTIME_INF, Cpu
from fakecgroup.controllers.cpu.weight import SHARES_IDLE
from fakecgroup.core.cgroup import Cgroup
from fakecgroup.effects.bandwidth import Group
from fakecgroup.tasks.joined_processes import is_simulated
from fakecgroup_mount.enforce.quota import Quota
from fakecgroup_mount.enforce.runner import Limited, Runner
from fakecgroup_mount.enforce.shares import Contestant, Node
from fakecgroup_mount.host import tasks
from fakecgroup_mount.host.usage import cpu_clock, stat_of

_INIT = 1
_PARENT = 1  # in the result of `stat_of`


class CpuGroups:
    """Processes outside of the root's group, and groups with a quota.

    `spared` are pids that are never held, beside init, this process and its children.
    """

    def __init__(self, kernel: Kernel, cpus: int, spared: frozenset[int]) -> None:
        self.runners: dict[int, Runner] = {}
        self.limited: dict[Cpu, Limited] = {}
        self.changes = 0
        """How often processes may have come or gone."""
        self._nodes: dict[Cpu, Node] = {}
        self._cpus = cpus
        self._spared = {_INIT, os.getpid(), *spared}
        self._hierarchy = next((one for one in kernel.hierarchies if "cpu" in one.controllers), None)

    def gather(self) -> list[Runner]:
        """Takes groups and processes as they are now. Returns those that are gone or in the root's group.

        The caller holds the model's lock.
        """
        if self._hierarchy is None:
            return []
        self.changes += 1
        runners, self.runners = self.runners, {}
        limited, self.limited = self.limited, {}
        nodes, self._nodes = self._nodes, {}
        self._hierarchy.membership.adopt_forked()
        stack: list[tuple[Cgroup, Cpu | None, list[Limited]]] = [(self._hierarchy.root, None, [])]
        while stack:
            cgroup, above, quotas = stack.pop()
            for child in cgroup.children.values():
                home, its_quotas = above, quotas
                css = child.csses.get("cpu")
                if isinstance(css, Cpu):
                    home = css
                    self._take_node(css, above, nodes)
                    one = None if css.quota == RUNTIME_INF else limited.pop(css, None) or self._begin(css)
                    if one is not None:
                        self._renew(one)
                        its_quotas = [*quotas, one]
                if home is not None:
                    for tid, tgid in child.tasks.items():
                        if tid == tgid and not is_simulated(tgid):
                            self._take(tgid, home, its_quotas, runners)
                stack.append((child, home, its_quotas))
        for one in limited.values():
            one.quota.group.throttled = False
        return list(runners.values())

    def _take_node(self, css: Cpu, above: Cpu | None, nodes: dict[Cpu, Node]) -> None:
        node = self._nodes[css] = nodes.get(css) or Node(None if above is None else self._nodes[above])
        node.weight = SHARES_IDLE if css.idle else css.shares
        node.most = float("inf") if css.quota == RUNTIME_INF else css.quota / css.period

    def _begin(self, css: Cpu) -> Limited | None:
        """None where simulated processes have used the quota: theirs is another time."""
        if css.throttling is not None and css.throttling.runners:
            return None
        css.throttling = css.throttling or Group(cpus=self._cpus)
        return Limited(css, Quota(css.throttling, self._cpus), accounted=account(css.cgroup))

    def _renew(self, one: Limited) -> None:
        css = one.css
        self.limited[css] = one
        if one.quota.limit(css.quota, css.period, css.burst):
            one.due = 0
        one.runners = []

    def _take(self, tgid: int, home: Cpu, quotas: list[Limited], runners: dict[int, Runner]) -> None:
        runner = runners.pop(tgid, None)
        if runner is None:
            stat, clock = stat_of(tgid), cpu_clock(tgid)
            if not stat or clock is None:
                return
            spared = tgid in self._spared or int(stat[_PARENT]) == os.getpid()
            runner = Runner(tgid, stat[tasks.START], clock, Contestant(self._nodes[home], spared=spared), home)
        runner.home, runner.contestant.node = home, self._nodes[home]
        runner.limited = quotas
        for one in quotas:
            one.runners.append(runner)
        self.runners[tgid] = runner

    def count_halted(self, one: Limited, time: int) -> None:
        """Counts the ns for which a group was throttled, in each group below with processes that were held.

        The time counts once for each CPU on which they wait (cpu.stat.local), and once if more groups are throttled.
        """
        threads: dict[Cpu, int] = {}
        for runner in one.runners:
            outermost = next(above for above in runner.limited if above is one or above.quota.group.throttled)
            if runner.held and outermost is one:
                for css in (runner.home, *runner.home.ancestors()):
                    threads[css] = threads.get(css, 0) + runner.held
                    if css is one.css:
                        break
        for css, waiting in threads.items():
            css.throttling = css.throttling or Group(cpus=self._cpus)
            css.throttling.halted_time += min(waiting, self._cpus) * time


def account(cgroup: Cgroup) -> int:
    """ns that processes have used in a cgroup, those included that have exited. The caller holds the model's lock."""
    cgroup.hierarchy.membership.count_cpu(cgroup)
    return sum(time.run for time in cgroup.cpu.values())
