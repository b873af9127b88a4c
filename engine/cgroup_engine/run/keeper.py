"""Keeps one tree: each reconcile finds, reports and repairs the differences from the tree that the pods want.

It waits only for killed processes to end. ``cgroup_engine.run.loop`` decides when to reconcile.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace

from cgroup_engine.change.apply import execute
from cgroup_engine.change.killing import Killing, ProcessKiller
from cgroup_engine.change.oom_score import set_kubelets_oom_score_adj
from cgroup_engine.errors import RecordError
from cgroup_engine.gc_pause import gc_paused
from cgroup_engine.kubelet.qos import qos_class
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.model.wanted_cgroup import WantedCgroup
from cgroup_engine.plan.for_driver import plan_for_driver
from cgroup_engine.plan.resizing import as_resized
from cgroup_engine.plan.status import compare
from cgroup_engine.plan.step import Plan, Step
from cgroup_engine.plan.system_cgroups import with_moves
from cgroup_engine.run.backoff import BackOff
from cgroup_engine.run.control import Control
from cgroup_engine.run.drift import A_CGROUP, Baseline, baseline_after, differs, drift_since, paths_of
from cgroup_engine.run.events import Complaint, Drift, Kept, Reason, Reconciled
from cgroup_engine.run.opened_root import OpenedRoot
from cgroup_engine.run.orphans import GRACE, Orphans, Verdict
from cgroup_engine.run.raised_limits import RaisedLimits
from cgroup_engine.run.vanished import without_vanished
from cgroup_engine.sources.source import Seen
from cgroup_engine.tree.fs import CgroupFs
from cgroup_engine.tree.layout import Layout

#: How many times a path that somebody else changes is repaired at once; after that its repair waits.
IMMEDIATE_REPAIRS = 3


class Keeper:
    """Reconciles a tree with pods.

    ``open_root``: entered for each reconcile; raises EngineError if the tree cannot be used. ``interval``: the longest
    delay before an attempt, in seconds. ``known``: paths of cgroups that an earlier run made. ``taken_over``: somebody
    else made kubepods, such as a kubelet, which resizes pods there. ``dry_run``: only look and report.
    """

    def __init__(
        self,
        open_root: Callable[[], AbstractContextManager[OpenedRoot]],
        control: Control,
        interval: float,
        *,
        known: Sequence[str] = (),
        taken_over: bool = False,
        dry_run: bool = False,
        processes: ProcessKiller | None = None,
    ) -> None:
        self._open_root = open_root
        self._control = control
        self._dry_run = dry_run
        self._beside_kubelet = taken_over or dry_run
        self._processes = processes or ProcessKiller()
        self._orphans = Orphans(control, interval, known, taken_over=taken_over)
        self._failing = BackOff(interval, control.clock)
        self._fought_over = BackOff(interval, control.clock, IMMEDIATE_REPAIRS)
        self._raised = RaisedLimits(min(interval, GRACE) if taken_over else 0.0, control.clock)
        self._baseline: Baseline | None = None
        self._fs: CgroupFs | None = None
        self._reported: dict[str, Drift] = {}
        self._unrecorded = ""

    def next_try(self) -> float | None:
        """The time of the next attempt, by the clock; None if nothing waits."""
        waiting = (self._failing.due(), self._fought_over.due(), self._orphans.due(), self._raised.due())
        return min((due for due in waiting if due is not None), default=None)

    def concerned(self, paths: Iterable[str]) -> bool:
        """Does any of these paths differ from the last reconcile, and may be repaired now? The path "" is any."""
        if self._baseline is None or self._fs is None:
            return False
        baseline, fs, fought_over = self._baseline, self._fs, self._fought_over
        return any(differs(baseline, path, fs) and not fought_over.in_backoff(path) for path in paths)

    def reconcile(self, reason: Reason, seen: Seen, by: Mapping[str, str]) -> tuple[Reconciled, list[Complaint]]:
        """Repairs all differences. ``by``: path -> who wrote there, made or removed it.

        :raises EngineError: the tree cannot be read; nothing was changed.
        :raises Ended: a signal came before the first change.
        """
        started = self._control.clock()
        complaints: list[Complaint] = []
        with gc_paused(), ExitStack() as stack:
            with self._control.reading():
                root = stack.enter_context(self._open_root())
                self._fs = root.found.fs
                wanted = wanted_tree(root.node, seen.pods or ())
                if self._beside_kubelet:
                    wanted = as_resized(wanted, root.found)
                verdict = self._orphans.judge(root, wanted, seen)
            classes = Counter(qos_class(pod, root.node.version) for pod in seen.pods or () if not pod.ended)
            kept = Kept(root.found.layout, wanted, root.systemd is not None)
            blank = Reconciled(reason, 0.0, dict(classes), dry_run=self._dry_run, kept_tree=kept)
            if self._dry_run:
                done = self._look(blank, root, wanted, verdict, by)
            else:
                done, complaints = self._put_right(blank, root, wanted, verdict, by)
        return replace(done, duration=self._control.clock() - started), [*root.complaints, *complaints]

    def _look(
        self,
        blank: Reconciled,
        root: OpenedRoot,
        wanted: Sequence[WantedCgroup],
        verdict: Verdict,
        by: Mapping[str, str],
    ) -> Reconciled:
        with self._control.reading():
            plan = _plan(root, wanted, verdict)
            rows = compare(wanted, root.found, root.node.driver, by_systemd=root.systemd is not None)
        drift = {
            row.path: Drift(row.path, row.owner, row.wanted, row.found, by.get(row.path, ""))
            for row in rows
            if row.state == "drift"
        }
        new = [
            one for path, one in drift.items() if path not in self._reported or self._reported[path].found != one.found
        ]
        self._reported = drift
        self._baseline = Baseline(root.found.layout, {cgroup.path: cgroup for cgroup in wanted}, frozenset(drift))
        return replace(blank, drift=(*new, *_made(verdict, root, by)), kept=plan.kept, planned=len(plan.steps))

    def _put_right(
        self,
        blank: Reconciled,
        root: OpenedRoot,
        wanted: Sequence[WantedCgroup],
        verdict: Verdict,
        by: Mapping[str, str],
    ) -> tuple[Reconciled, list[Complaint]]:
        killing = Killing(
            root.found.fs,
            root.found.layout,
            self._processes,
            sleep=self._control.sleep,
            ending=self._control.ending,
        )
        killed = self._orphans.end(verdict.to_kill, killing) if verdict.to_kill else {}
        with self._control.reading():
            plan = with_moves(_plan(root, wanted, verdict), root.node, root.found)
            plan = replace(plan, steps=(*plan.steps, *_elsewhere(verdict, killing, plan.layout)))
            drift = drift_since(self._baseline, plan, root.found, by) if self._baseline is not None else []
        contested = {one.path for one in drift if self._fought_over.in_backoff(one.path)}
        contested.update(self._raised.staying(drift))
        drift = [one for one in drift if one.path not in contested]
        waiting: list[Step] = []

        def held(step: Step) -> bool:
            in_backoff = not contested.isdisjoint(paths_of(step)) or self._failing.in_backoff(step.path, step.text)
            if in_backoff:
                waiting.append(step)
            return in_backoff

        set_kubelets_oom_score_adj(root.node)
        complaints = self._record(root, wanted)
        outcome = execute(plan, root.found.fs, systemd=root.systemd, held=held, ending=self._control.ending)
        outcome, vanished = without_vanished(outcome, root.found.fs)
        self._baseline = baseline_after(plan, outcome, wanted, contested)
        for step in (*outcome.refused, *vanished):
            self._failing.back_off(step.path, step.text)
        self._failing.keep_only([step.path for step in (*outcome.refused, *vanished, *waiting)])
        complaints = self._record(root, wanted) or complaints
        complaints += self._contest(drift)
        self._fought_over.forget_quiet()
        kept = [note for note in plan.kept if note.split(":")[0].lstrip("/") not in killing.not_ended]
        done = replace(
            blank,
            outcome=outcome,
            drift=(*drift, *(_made(verdict, root, by) if blank.reason != "start" else ())),
            killed=killed,
            kept=(*kept, *killing.not_ended.values()),
            backed_off=len(waiting),
        )
        return done, complaints

    def _record(self, root: OpenedRoot, wanted: Sequence[WantedCgroup]) -> list[Complaint]:
        """Records the tree. If that fails, the tree is kept all the same, but the next start refuses it as foreign."""
        try:
            root.record(wanted)
        except RecordError as failed:
            told, self._unrecorded = self._unrecorded, str(failed)
            return [Complaint(self._unrecorded, "record")] if self._unrecorded != told else []
        self._unrecorded = ""
        return []

    def _contest(self, drift: Iterable[Drift]) -> list[Complaint]:
        """Notes which paths were repaired; complains once of those that somebody changes again and again."""
        begun = []
        for one in drift:
            self._fought_over.back_off(one.path, one.wanted)
            begun += [one] if self._fought_over.count(one.path) == IMMEDIATE_REPAIRS + 1 else []
        if not begun:
            return []
        path, who, more = begun[0].path, begun[0].by or "somebody", len(begun) - 1
        where, it, is_put = (f"{path} and {more} more", "them", "they are put") if more else (path, "it", "it is put")
        text = f"{where}: {who} changes {it} again and again; {is_put} right less and less often"
        return [Complaint(f"{text}; find out who else manages this tree", "drift")]


def _plan(root: OpenedRoot, wanted: Sequence[WantedCgroup], verdict: Verdict) -> Plan:
    """The plan without the removals that have to wait."""
    plan = plan_for_driver(wanted, root.found, root.node.driver, root.systemd)
    if not verdict.to_keep:
        return plan
    return replace(plan, steps=tuple(step for step in plan.steps if not verdict.spares(step)))


def _elsewhere(verdict: Verdict, killing: Killing, layout: Layout) -> Iterator[Step]:
    for orphan in verdict.to_kill:
        if orphan.path not in killing.not_ended:
            for directory in killing.elsewhere(orphan.path, layout.hierarchies):
                yield Step("rmdir", directory, orphan.path, "its runtime left it", "", during="remove")


def _made(verdict: Verdict, root: OpenedRoot, by: Mapping[str, str]) -> list[Drift]:
    """The cgroups that somebody else made, as drift."""
    made = []
    for cgroup in verdict.foreign:
        directories = [root.found.layout.directory(each, cgroup.path) for each in sorted(cgroup.hierarchies)]
        who = next((by[directory] for directory in directories if directory in by), "")
        made.append(Drift(directories[0], "", "", A_CGROUP, who, cgroup.path))
    return made
