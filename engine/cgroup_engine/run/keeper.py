"""One tree that is kept: what differs from what the pods want is found, told and put right, whenever it is asked to.

Nothing here waits but for the moment that ended processes take; ``cgroup_engine.run.loop`` says when to look.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace

from cgroup_engine.change.apply import execute
from cgroup_engine.change.killing import Killing, Processes
from cgroup_engine.change.oom_score import set_kubelets_oom_score_adj
from cgroup_engine.errors import RecordError
from cgroup_engine.gc_pause import gc_paused
from cgroup_engine.kubelet.qos import qos_class
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.model.wanted_cgroup import WantedCgroup
from cgroup_engine.plan.for_driver import plan_for_driver
from cgroup_engine.plan.status import compare
from cgroup_engine.plan.step import Plan, Step
from cgroup_engine.plan.system_cgroups import with_moves
from cgroup_engine.run.backoff import FIRST_DELAY, BackOff
from cgroup_engine.run.drift import A_CGROUP, Left, differs, drift_since, left_by, paths_of
from cgroup_engine.run.events import Complaint, Drift, Reason, Reconciled
from cgroup_engine.run.orphans import Orphans, Verdict
from cgroup_engine.run.tree import Control, Tree
from cgroup_engine.sources.source import Seen
from cgroup_engine.tree.fs import CgroupFs
from cgroup_engine.tree.layout import Layout

#: How often what somebody else changes is put right at once; from then on it waits.
PATIENCE_WITH_OTHERS = 3


class Keeper:
    """Reconciles a tree with pods.

    ``open_tree`` is entered for each reconcile and raises EngineError if the tree cannot be used. ``interval``: the
    longest that anything is left alone, in seconds. ``known``: paths of cgroups that an earlier run has made.
    ``taken_over``: kubepods is not of this engine's making. With ``dry_run`` it only looks.
    """

    def __init__(
        self,
        open_tree: Callable[[], AbstractContextManager[Tree]],
        control: Control,
        interval: float,
        *,
        known: Sequence[str] = (),
        taken_over: bool = False,
        dry_run: bool = False,
        processes: Processes | None = None,
    ) -> None:
        self._open_tree = open_tree
        self._control = control
        self._dry_run = dry_run
        self._processes = processes or Processes()
        self._orphans = Orphans(control, interval, known, taken_over=taken_over)
        self._failing = BackOff(interval, control.clock)
        self._fought_over = BackOff(interval, control.clock, PATIENCE_WITH_OTHERS)
        self._left: Left | None = None
        self._fs: CgroupFs | None = None
        self._told: dict[str, Drift] = {}
        self._unrecorded = ""

    def next_try(self) -> float | None:
        """When something that waits may be tried again, by the clock; None if nothing waits."""
        waiting = (self._failing.due(), self._fought_over.due(), self._orphans.due())
        return min((due for due in waiting if due is not None), default=None)

    def concerned(self, paths: Iterable[str]) -> bool:
        """Does anything at these paths, of which "" is any, differ from how it was left, and may be put right now?"""
        if self._left is None or self._fs is None:
            return False
        left, fs, fought_over = self._left, self._fs, self._fought_over
        return any(differs(left, path, fs) and not fought_over.holds(path) for path in paths)

    def reconcile(self, reason: Reason, seen: Seen, by: Mapping[str, str]) -> tuple[Reconciled, list[Complaint]]:
        """Puts right what differs. ``by``: path -> who has written there, made or removed it.

        :raises EngineError: the tree cannot be read; nothing was changed.
        :raises Ended: a signal came before anything was changed.
        """
        started = self._control.clock()
        complaints: list[Complaint] = []
        with gc_paused(), ExitStack() as stack:
            with self._control.reading():
                tree = stack.enter_context(self._open_tree())
                self._fs = tree.found.fs
                wanted = wanted_tree(tree.node, seen.pods or ())
                verdict = self._orphans.judge(tree, wanted, seen)
            classes = Counter(qos_class(pod, tree.node.version) for pod in seen.pods or () if not pod.ended)
            blank = Reconciled(reason, 0.0, dict(classes), dry_run=self._dry_run)
            if self._dry_run:
                done = self._look(blank, tree, wanted, verdict, by)
            else:
                done, complaints = self._put_right(blank, tree, wanted, verdict, by)
        return replace(done, duration=self._control.clock() - started), [*tree.complaints, *complaints]

    def _look(
        self, blank: Reconciled, tree: Tree, wanted: Sequence[WantedCgroup], verdict: Verdict, by: Mapping[str, str]
    ) -> Reconciled:
        with self._control.reading():
            plan = _plan(tree, wanted, verdict)
            rows = compare(wanted, tree.found, tree.node.driver, by_systemd=tree.systemd is not None)
        drift = {
            row.path: Drift(row.path, row.owner, row.wanted, row.found, by.get(row.path, ""))
            for row in rows
            if row.state == "drift"
        }
        new = [one for path, one in drift.items() if path not in self._told or self._told[path].found != one.found]
        self._told = drift
        self._left = Left(tree.found.layout, {cgroup.path: cgroup for cgroup in wanted}, frozenset(drift))
        return replace(blank, drift=(*new, *_made(verdict, tree, by)), kept=plan.kept, planned=len(plan.steps))

    def _put_right(
        self, blank: Reconciled, tree: Tree, wanted: Sequence[WantedCgroup], verdict: Verdict, by: Mapping[str, str]
    ) -> tuple[Reconciled, list[Complaint]]:
        killing = Killing(
            tree.found.fs,
            tree.found.layout,
            self._processes,
            sleep=self._control.sleep,
            ending=self._control.ending,
        )
        killed = self._orphans.end(verdict.doomed, killing) if verdict.doomed else {}
        with self._control.reading():
            plan = with_moves(_plan(tree, wanted, verdict), tree.node, tree.found)
            plan = replace(plan, steps=(*plan.steps, *_left_elsewhere(verdict, killing, plan.layout)))
            drift = drift_since(self._left, plan, tree.found, by) if self._left is not None else []
        contested = {one.path for one in drift if self._fought_over.holds(one.path)}
        drift = [one for one in drift if one.path not in contested]
        waiting: list[Step] = []

        def held(step: Step) -> bool:
            holds = not contested.isdisjoint(paths_of(step)) or self._failing.holds(step.path, step.text)
            if holds:
                waiting.append(step)
            return holds

        set_kubelets_oom_score_adj(tree.node)
        complaints = self._record(tree, wanted)
        outcome = execute(plan, tree.found.fs, systemd=tree.systemd, held=held, ending=self._control.ending)
        self._left = left_by(plan, outcome, wanted, contested)
        for step in outcome.refused:
            self._failing.strike(step.path, step.text)
        self._failing.keep_only([step.path for step in (*outcome.refused, *waiting)])
        complaints = self._record(tree, wanted) or complaints
        complaints += [Complaint(text, "drift") for one in drift if (text := self._contest(one))]
        self._fought_over.forget_quiet()
        kept = [note for note in plan.kept if note.split(":")[0].lstrip("/") not in killing.left]
        done = replace(
            blank,
            outcome=outcome,
            drift=(*drift, *(_made(verdict, tree, by) if blank.reason != "start" else ())),
            killed=killed,
            kept=(*kept, *killing.left.values()),
            backed_off=len(waiting),
        )
        return done, complaints

    def _record(self, tree: Tree, wanted: Sequence[WantedCgroup]) -> list[Complaint]:
        """Without a record the tree is kept all the same; the next start would take it for a stranger's."""
        try:
            tree.record(wanted)
        except RecordError as failed:
            told, self._unrecorded = self._unrecorded, str(failed)
            return [Complaint(self._unrecorded, "record")] if self._unrecorded != told else []
        self._unrecorded = ""
        return []

    def _contest(self, drift: Drift) -> str:
        """Notes that a path was put right; returns what to say if somebody changes it again and again."""
        delay = self._fought_over.strike(drift.path, drift.wanted)
        if delay != FIRST_DELAY:
            return ""
        who = drift.by or "somebody"
        return (
            f"{drift.path}: {who} changes it again and again; it is put right less and less often; "
            "find out who else manages this tree"
        )


def _plan(tree: Tree, wanted: Sequence[WantedCgroup], verdict: Verdict) -> Plan:
    """The plan without what is not to be removed now."""
    plan = plan_for_driver(wanted, tree.found, tree.node.driver, tree.systemd)
    if not verdict.staying:
        return plan
    return replace(plan, steps=tuple(step for step in plan.steps if not verdict.spares(step)))


def _left_elsewhere(verdict: Verdict, killing: Killing, layout: Layout) -> Iterator[Step]:
    for orphan in verdict.doomed:
        if orphan.path not in killing.left:
            for directory in killing.elsewhere(orphan.path, layout.trees):
                yield Step("rmdir", directory, orphan.path, "its runtime left it", "", during="remove")


def _made(verdict: Verdict, tree: Tree, by: Mapping[str, str]) -> list[Drift]:
    """The cgroups that somebody else has made."""
    made = []
    for stranger in verdict.strangers:
        directories = [tree.found.layout.directory(each, stranger.path) for each in sorted(stranger.trees)]
        who = next((by[directory] for directory in directories if directory in by), "")
        made.append(Drift(directories[0], "", "", A_CGROUP, who))
    return made
