"""The page of benchmarks: what a recording of measurements says, beside what is aimed at."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from . import calls, curves, running
from .operation_goals import bound_of, goal_of

REPOSITORY = Path(__file__).resolve().parents[2]
RECORDING = Path(__file__).with_name("recorded.json")
PAGE = REPOSITORY / "docs" / "evidence" / "benchmarks.md"

Recording = dict[str, Any]
Spread = dict[str, float]

_TEMPLATE = Path(__file__).with_name("page.md")


class Figure(NamedTuple):
    """One figure, what is aimed at, and why it is not better where it is not reached."""

    what: str
    spread: Spread
    goal: float | None = None
    least: bool = False  # the goal is the least, not the most
    unit: str = ""
    bound: str = ""

    @property
    def reached(self) -> bool:
        value = self.spread["median"]
        return self.goal is None or (value >= self.goal if self.least else value <= self.goal)


def text(recording: Recording) -> str:
    """The page."""
    parts = recording["parts"]
    sections: list[tuple[str, str, Callable[[Any], Iterator[Figure]]]] = [
        ("operations", _OPERATIONS, _operations),
        ("cgroups", _CGROUPS, _cgroups),
        ("run", _STARTS, _run),
        ("calls", _CALLS, _calls),
        ("start", _COMMANDS, _start),
        ("apply", _APPLY, _apply),
        ("pods", _PODS, _pods),
    ]
    lines: list[str] = []
    for name, head, figures in sections:
        if name not in parts:
            continue
        found = list(figures(parts[name]))
        lines.append(f"\n{head}\n\n{_table(found)}\n")
        lines += [f"\n{'; '.join(whats)}: {bound}\n" for bound, whats in _bounds(found).items()]
        lines += [f"\nNot measured: {what}: {why}.\n" for what, why in parts[name].get("missing", {}).items()]
        if name == "cgroups":
            lines.append(f"\n![{curves.TITLE}](../growth.png)\n")
    template = _TEMPLATE.read_text(encoding="utf-8")
    shown = "".join(lines).strip()
    return template.format(minutes=recording["minutes"], machine=recording["machine"], figures=shown)


def _bounds(figures: list[Figure]) -> dict[str, list[str]]:
    """Why goals are not reached, and of which figures."""
    found: dict[str, list[str]] = {}
    for figure in figures:
        if figure.bound and not figure.reached:
            found.setdefault(figure.bound, []).append(figure.what)
    return found


def _table(figures: list[Figure]) -> str:
    rows = ["| | median | min–max | goal |", "|---|---|---|---|"]
    for what, spread, goal, least, unit, _ in figures:
        aim = "" if goal is None else f"{'≥' if least else '≤'} {goal:g}{unit}"
        digits = 0 if spread["max"] >= 100 else 1 if spread["max"] >= 10 else 2
        shown = [f"{spread[name]:,.{digits}f}" for name in ("median", "min", "max")]
        rows.append(f"| {what} | {shown[0]}{unit} | {shown[1]}–{shown[2]} | {aim} |")
    return "\n".join(rows)


def _alone(value: float) -> Spread:
    return {"min": value, "median": value, "max": value}


_OPERATIONS = """\
## Operations

`scripts/bench`. Operations per second, divided by those of a FUSE file system in C that does nothing. 1 is as fast as
FUSE without caches lets anyone be. Client and daemon share one CPU. `model` is `fakecgroup.Kernel` in the client's own
process, without FUSE."""


def _operations(part: Any) -> Iterator[Figure]:
    for operation, columns in part["operations"].items():
        for column, figures in columns.items():
            if figures["ratio"] is not None and column != "null":
                goal = goal_of(operation) if column == "native" else None
                python = part.get("python", {}).get(operation)
                bound = "" if python is None else bound_of(python)
                yield Figure(f"{operation}, {column}", figures["ratio"], goal, least=True, bound=bound)
    for operation, percent in part.get("python", {}).items():
        yield Figure(f"{operation}, Python in the daemon, of the CPU time", _alone(percent), unit=" %")


_CGROUPS = """\
## Many cgroups

`scripts/bench --cgroups`. Cgroups in one tree of depth 4, made through a mount. Memory is the daemon's (PSS). A ratio
is CPU time of client and daemon, divided by that in a tree of 1,000 cgroups in the same round."""


_COPIED = "most of the time goes into the copies of records by the kernel: the daemon keeps them packed and in order."
_BETWEEN = "one with no files looked up takes {:,}. The directories between have files that were read and written."
_GIB, _MILLION = 2**30, 10**6


def _cgroups(part: Any) -> Iterator[Figure]:
    most = max(map(int, part["cgroups"]))
    figures = part["cgroups"][str(most)]
    yield Figure(f"memory of {most:,} cgroups", _alone(figures["full_mib"]), 1024, unit=" MiB")
    yield Figure("bytes for each", _alone(figures["per_cgroup_bytes"]))
    enabled = part["enabled"]
    what = f"bytes for each of {enabled['cgroups']:,} that have every controller"
    between = _BETWEEN.format(enabled["unread_bytes"]) if "unread_bytes" in enabled else ""
    yield Figure(what, _alone(enabled["per_cgroup_bytes"]), _GIB // _MILLION, bound=between)
    yield Figure("kept of it when all are removed", _alone(100 * figures["kept"]), 20, unit=" %")
    for name, one in figures["operations"].items():
        yield Figure(f"{name} at {most:,}", one["ratio"], 1.2 if name == "mkdir" else None)
    listing = part["listing"]
    if "host" in listing:
        entries = (
            f"listing of {listing['native']['entries']:,} cgroups, to this machine's of {listing['host']['entries']:,}"
        )
        for when, ratio in (
            ("again, per entry", listing["native"]["again_us"]["ratio"]),
            ("after one was made", listing["native"]["changed_us"]["ratio"]),
            ("the first time", listing["native"]["first_ratio"]),
        ):
            yield Figure(f"{entries}: {when}", _alone(ratio), 3, bound=_COPIED)


_STARTS = """\
## Starts of `fakecgroup run`

`scripts/bench --run`. Milliseconds by the clock until `true` has run, and what the same takes without it."""


def _run(part: Any) -> Iterator[Figure]:
    bare = part["starts_ms"]["unshare -Urm true"]["median"]
    for name, spread in part["starts_ms"].items():
        run, mount = round(bare + 60, 1), 60.0
        goals = {running.START: run, running.WARM_START: run, running.MOUNT: mount, running.WARM_MOUNT: mount}
        goal = (goals | {running.TREE: 5.0}).get(name)
        bound = running.where_it_goes(part, name)
        plain = name in (running.VM, running.TREE, running.GONE, running.WARM_START, running.WARM_MOUNT)
        yield Figure(name if plain else f"`{name}`", spread, goal, unit=" ms", bound=bound)
    for name, figures in part["compile"].items():
        yield Figure(f"a compile job, {name}, to a bare one", figures["clock"]["ratio"])


_CALLS = """\
## Trapped calls

`scripts/bench --calls`. Microseconds that a call takes more than without a supervisor, on one CPU: under `fakecgroup
run`, and with a seccomp supervisor in C that lets every call go. No supervisor costs less than that one."""
_MORE_GOALS = {calls.OPEN: 8, calls.LIMITED: 20}
_FLOOR = (
    "the least is {least:.1f} µs for an open, {reads:.1f} if its path is read, and {fork:.1f} for a fork. The rest is "
    "Python, and for a fork under a pids.max [two system calls more](programs.md#what-it-costs)."
)


def _calls(part: Any) -> Iterator[Figure]:
    ways = part["calls"]
    if not ways:
        return
    opens, forks = ways[calls.OPEN], ways[calls.FORK]
    least = {"least": opens[calls.LETS], "reads": opens[calls.READS], "fork": forks[calls.LETS]}
    bound = _FLOOR.format(**{name: one["more_us"]["median"] for name, one in least.items()})
    for call, found in ways.items():
        for way, figures in found.items():
            if way != calls.BARE:
                goal = _MORE_GOALS.get(call) if way == calls.OURS else None
                yield Figure(f"{call}, {way}", figures["more_us"], goal, unit=" µs", bound=bound)


_COMMANDS = """\
## Starts of commands

`scripts/bench --start`. CPU time of whole processes, divided by that of `python -c pass` in the same round."""


def _start(part: Any) -> Iterator[Figure]:
    for name, figures in part["starts"].items():
        yield Figure(f"`{name}`", figures["to_pass"], 2.0 if name == "fakecgroup --help" else None)


_APPLY = """\
## The engine on a tree

`scripts/bench --apply 500`. CPU time with the daemon's, divided by that of a bare loop of the same system calls: a
first apply beside mkdir and writing, and beside the same loop that reads back what it wrote, as apply does; and one
that changes nothing beside reading the files."""
_COMPUTED = (
    "to compute what 500 pods want takes 0.06 s of CPU, and to order the steps 0.06 s. On the host the first loop "
    "takes 0.65 s, and reading the files 0.2 s. Beyond the loop's calls there are 5,000 openat2(2) of a pod's "
    "directory (0.04 s), as no link is followed, and pread(2) of what was written. The rest is Python around 17,117 "
    "steps or 9,534 reads."
)


_PHASES = (
    ("first", "first apply", 1.3),
    ("verified", "first apply, to a loop that reads back", None),
    ("idle", "idle apply", 1.5),
)


def _apply(part: Any) -> Iterator[Figure]:
    for name, tree in part["trees"].items():
        for phase, what, goal in _PHASES:
            yield Figure(f"{what}, {name}", tree[phase]["ratio"], goal, bound=_COMPUTED if goal else "")


_PODS = """\
## Planning

`scripts/bench --pods`. CPU time of `cgroup-engine plan`, divided by that of parsing the same file: YAML with PyYAML's C
loader, JSON with `json`."""


_STEPS = (
    "10,000 pods are 174,016 steps, each an object with path, value and reason. A profile: decoding the pods 16 %, "
    "the kubelet's values 32 %, the steps 30 %, writing them out 15 %; no function has more than 6 %. What only "
    "parses the pods and writes as many lines, and computes nothing, stands beside."
)


def _pods(part: Any) -> Iterator[Figure]:
    for count, kinds in part["pods"].items():
        for kind, figures in kinds.items():
            goal = 1.0 if kind == "json" else None
            yield Figure(f"{int(count):,} pods, {kind.upper()}", figures["ratio"], goal, bound=_STEPS if goal else "")
            if "print_ratio" in figures:
                yield Figure(f"{int(count):,} pods, only parsed, and as many lines written", figures["print_ratio"])


def read() -> Recording:
    """The recording."""
    recording: Recording = json.loads(RECORDING.read_text(encoding="utf-8"))
    return recording


def write(recording: Recording) -> None:
    """Keep a recording, and write the page and the picture's data."""
    RECORDING.write_text(json.dumps(recording, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(text(recording), encoding="utf-8")


def is_current() -> bool:
    """True if the page is what the recording says."""
    return PAGE.read_text(encoding="utf-8") == text(read())
