"""``cgroup-engine apply`` of many pods, beside a bare loop of the system calls that are needed.

The first time everything is made: beside mkdir, and open, write and close; then beside the same with a read of what was
written, as apply reads all back ("verified"). The second time nothing changes: beside open, read and close of the same
files. Time is CPU time, that of the fake's daemon included; system calls are counted
by strace in a round of its own.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from cgroup_engine.errors import EngineError
from cgroup_engine.tree.fs import OsFs
from cgroup_engine.tree.layout import detect

from .apply_client import END, PHASES, mark
from .child import answer, started
from .columns import mounting, scripts_environment
from .errors import BenchmarkError, UnavailableError
from .planning import pod_list
from .spread import spread

_OWN = "/sys/fs/cgroup"
_MOST_CONTAINERS = 2  # of a pod
_BESIDE = {"first": ("first", "bare"), "verified": ("first", "reading_back"), "idle": ("idle", "reading")}
"""A row: two phases of `apply_client`. What is first made is read back, so it stands beside a loop with and without."""


@dataclass(frozen=True)
class AppliedRoot:
    """A root that pods are applied to. ``daemon``: the pid of the fake's daemon, 0 for the kernel."""

    what: str
    root: str
    cgroup_root: str
    daemon: int = 0


@contextmanager
def _fake(directory: Path, layout: str, kernel: str) -> Iterator[AppliedRoot]:
    at = directory / layout
    options = ("--layout", layout, "--kernel", kernel, "--cpus", "64", "--memory", "256Gi")
    with mounting(at, options) as daemon:
        yield AppliedRoot(
            f"fakecgroup mount --layout {layout} --kernel {kernel}", str(at), "fcg-bench", daemon.process.pid
        )


@contextmanager
def _host(directory: Path) -> Iterator[AppliedRoot]:
    """A cgroupRoot of its own in this machine's v1 hierarchies; on v2 the root's controllers would be left enabled."""
    try:
        layout = detect(OsFs(_OWN), _OWN)
    except EngineError as reason:
        raise UnavailableError(str(reason)) from None
    if layout.version != 1:
        raise UnavailableError("this machine has no v1 hierarchies of cpu and memory")
    places = [Path(_OWN, tree) for tree in layout.hierarchies]
    closed = [str(place) for place in places if not os.access(place, os.W_OK)]
    if closed:
        raise UnavailableError(f"cannot make a cgroup in {closed[0]}")
    name = f"fcg-bench-{secrets.token_hex(4)}"
    try:
        yield AppliedRoot(f"this machine's v1 hierarchies, Linux {os.uname().release}", _OWN, name)
    finally:
        for place in places:  # as far as a round did not end
            for path, _, _ in os.walk(place / name, topdown=False):
                os.rmdir(path)


ROOTS: dict[str, Callable[[Path], Any]] = {
    "v1": partial(_fake, layout="v1", kernel="6.1"),
    "v2": partial(_fake, layout="v2", kernel="6.12"),
    "host": _host,
}


def measure(count: int, rounds: int, directory: Path) -> dict[str, Any]:
    """For each tree: steps, system calls, CPU seconds, and their ratios round by round.

    :raises BenchmarkError: a step was refused, or the second time there was one.
    """
    pods = directory / "pods.yaml"
    pods.write_text("".join(pod_list(count, _MOST_CONTAINERS)))
    trees: dict[str, Any] = {}
    missing: dict[str, str] = {}
    with ExitStack() as stack:
        ready: dict[str, AppliedRoot] = {}
        for name, make in ROOTS.items():
            try:
                ready[name] = stack.enter_context(make(directory))
            except UnavailableError as reason:
                missing[name] = str(reason)
        done: dict[str, list[dict[str, Any]]] = {name: [] for name in ready}
        for number in range(rounds):
            for name, tree in ready.items():
                done[name].append(_round(tree, pods, bare_first=bool(number % 2)))
        for name, tree in ready.items():
            trees[name] = {"what": tree.what, **_figures(done[name], _calls(tree, pods, directory, missing))}
    return {"run": {"pods": count, "rounds": rounds}, "trees": trees, "missing": missing}


def _round(tree: AppliedRoot, pods: Path, *, bare_first: bool, before: Sequence[str] = ()) -> dict[str, Any]:
    arguments = [tree.root, tree.cgroup_root, str(pods), str(tree.daemon), str(int(bare_first))]
    command = [*before, sys.executable, "-m", "benchmark.apply_client", *arguments]
    with started(command, scripts_environment()) as child:
        line = answer(child)
    result: dict[str, Any] = json.loads(line)
    if result["idle_steps"]:
        raise BenchmarkError(f"{tree.what}: a second apply had {result['idle_steps']} steps, and there should be none")
    return result


def _calls(tree: AppliedRoot, pods: Path, directory: Path, missing: dict[str, str]) -> dict[str, int] | None:
    """System calls of each phase; None without strace."""
    if shutil.which("strace") is None:
        missing["system calls"] = "no strace: install it (Debian package)"
        return None
    log = directory / "strace"
    _round(tree, pods, bare_first=True, before=("strace", "-qq", "-f", "-e", "signal=none", "-o", str(log)))
    marks = {mark(phase): phase for phase in (*PHASES, END)}
    counted: Counter[str] = Counter()
    phase = END
    with log.open(errors="replace") as lines:
        for line in lines:
            found = re.match(r'\d+ +access\("([^"]*)"', line)
            if found and found[1] in marks:
                phase = marks[found[1]]
            else:
                counted[phase] += 1
    if missing_phases := [phase for phase in PHASES if not counted[phase]]:
        missing["system calls"] = f"strace saw nothing of {', '.join(missing_phases)}"
        return None
    return dict(counted)


def _figures(rounds: Sequence[dict[str, Any]], calls: dict[str, int] | None) -> dict[str, Any]:
    one = rounds[0]
    result: dict[str, Any] = {name: one[name] for name in ("mkdirs", "writes", "files")}
    for row, (phase, beside) in _BESIDE.items():
        pairs = [(each["seconds"][phase], each["seconds"][beside]) for each in rounds]
        result[row] = {
            "seconds": spread([ours for ours, _ in pairs]),
            "bare_seconds": spread([bare for _, bare in pairs]),
            "ratio": spread([ours / bare for ours, bare in pairs]),
            "calls": None if calls is None else {"apply": calls[phase], "bare": calls[beside],
                                                 "ratio": round(calls[phase] / calls[beside], 3)},
        }  # fmt: skip
    return result


def table(result: dict[str, Any]) -> str:
    """Two rows for each tree: system calls and median CPU seconds of both, and the ratios."""
    lines = [f"{'':4}  {'':8}  {'calls':>7}  {'bare':>7}  ratio  {'CPU s':>7}  {'bare s':>7}  ratio  (min–max)"]
    for name, tree in result["trees"].items():
        for phase in _BESIDE:
            calls, ratio = tree[phase]["calls"], tree[phase]["ratio"]
            counted = f"{'':>7}  {'':>7}  {'':>5}"
            if calls is not None:
                counted = f"{calls['apply']:>7}  {calls['bare']:>7}  {calls['ratio']:5.2f}"
            lines.append(
                f"{name:4}  {phase:8}  {counted}  {tree[phase]['seconds']['median']:7.2f}  "
                f"{tree[phase]['bare_seconds']['median']:7.2f}  {ratio['median']:5.2f}  "
                f"({ratio['min']:.2f}–{ratio['max']:.2f})"
            )
    run = result["run"]
    lines += ["", f"{run['pods']} pods, {run['rounds']} rounds; CPU time, that of the fake's daemon included"]
    for name, tree in result["trees"].items():
        needed = f"{tree['mkdirs']} mkdirs and {tree['writes']} writes first, none later; {tree['files']} files read"
        lines.append(f"{name}: {tree['what']}: {needed}")
    lines += [f"no {name}: {reason}" for name, reason in result["missing"].items()]
    return "\n".join(lines)
