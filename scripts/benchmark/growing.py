"""Many cgroups in one tree: memory, and what operations cost beside the same in a tree of a thousand.

Costs are CPU time of client and daemon. The machine's own cgroups stand beside them, in small numbers.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from . import interruption, measured_cgroup
from .columns import host_root, mounting
from .cpu_time import cpu_ns
from .errors import UnavailableError
from .own_cgroup import own_cgroup
from .spread import spread

_DEPTH = 4
_FEW = 1000  # cgroups of the tree that costs are compared with
_BLOCK = 200  # operations of one kind in a round
_LISTED = 100_000  # children of the listed directory, at most
_HOST_LISTED = 2000  # those of the machine's own
_ENABLED = 100_000  # cgroups with every controller, at most
_SETTLE = 3.0  # seconds for the daemon to give memory back


class Tree(NamedTuple):
    """A mounted tree, and its daemon."""

    root: Path
    pid: int

    def cpu_ns(self) -> int:
        """CPU time of the daemon so far."""
        return cpu_ns(self.pid)

    def bytes(self) -> int:
        """Memory of the daemon: its proportional share (PSS)."""
        rollup = Path(f"/proc/{self.pid}/smaps_rollup").read_text()
        return int(rollup.split("\nPss:")[1].split()[0]) << 10

    def cost(self, operation: Callable[[], object]) -> int:
        """CPU time in ns of an operation, the daemon's included."""
        before, began = self.cpu_ns(), time.process_time_ns()
        operation()
        return time.process_time_ns() - began + self.cpu_ns() - before


def measure(counts: Sequence[int], rounds: int, directory: Path) -> dict[str, Any]:
    """For each number of cgroups: the daemon's memory, what it keeps when all are removed, and costs in µs of CPU time,
    with their ratio to those in a small tree in the same round.
    """
    with _mounted(directory / "few") as few:
        _fill(few.root, _FEW)
        found: dict[str, Any] = {}
        for count in sorted(counts):
            with _mounted(directory / f"many{count}") as many:
                found[str(count)] = _grown(few, many, count, rounds)
    enabled = min(_ENABLED, max(counts))
    with _mounted(directory / "enabled") as tree:
        found_enabled = {"cgroups": enabled, "per_cgroup_bytes": _with_controllers(tree, enabled)}
    with _mounted(directory / "unread") as tree:
        found_enabled["unread_bytes"] = _unread(tree, enabled)
    missing: dict[str, str] = {}
    listing: dict[str, Any] = {}
    with _mounted(directory / "flat") as flat, ExitStack() as stack:
        listing["native"] = _listing(flat.root, min(_LISTED, max(counts)), rounds, flat)
        try:
            cgroup = stack.enter_context(own_cgroup(host_root()[0]))
            listing["host"] = _listing(cgroup, min(_HOST_LISTED, max(counts)), rounds)
        except UnavailableError as reason:
            missing["host"] = str(reason)
    if "host" in listing:
        for kind in ("again_us", "changed_us"):
            its, theirs = (listing[tree][kind]["median"] for tree in ("native", "host"))
            listing["native"][kind]["ratio"] = round(its / theirs, 2)
        its, theirs = listing["native"]["first_us"], listing["host"]["again_us"]["median"]
        listing["native"]["first_ratio"] = round(its / theirs, 2)
    return {
        "run": {"rounds": rounds, "few": _FEW},
        "cgroups": found,
        "enabled": found_enabled,
        "listing": listing,
        "missing": missing,
    }


@contextmanager
def _mounted(at: Path) -> Iterator[Tree]:
    with mounting(at, ()) as daemon:
        yield Tree(at, daemon.process.pid)


def _paths(count: int) -> Iterator[str]:
    """Directories of a tree of depth 4 with so many of them, parents first."""
    width = 1
    while sum(width**level for level in range(1, _DEPTH + 1)) < count:
        width += 1

    def below(path: str, level: int) -> Iterator[str]:
        for number in range(width):
            yield (at := f"{path}n{number}")
            if level < _DEPTH:
                yield from below(f"{at}/", level + 1)

    return islice(below("", 1), count)


def _fill(root: Path, count: int) -> None:
    for path in _paths(count):
        os.mkdir(f"{root}/{path}")
        interruption.check()


def _grown(few: Tree, many: Tree, count: int, rounds: int) -> dict[str, Any]:
    empty = many.bytes()
    _fill(many.root, count)
    full = many.bytes()
    costs = _compared(few, many, rounds)
    for path in reversed(list(_paths(count))):
        os.rmdir(many.root / path)
        interruption.check()
    kept = _settled(many, full)
    return {
        "empty_mib": round(empty / 2**20, 1),
        "full_mib": round(full / 2**20, 1),
        "per_cgroup_bytes": round((full - empty) / count),
        "kept": round((kept - empty) / max(1, full - empty), 3),
        "operations": costs,
    }


def _with_controllers(tree: Tree, count: int) -> int:
    """Bytes for each of so many cgroups that have every controller."""
    empty = tree.bytes()
    measured_cgroup.enable_all(tree.root)
    for path in _paths(count):
        made = tree.root / path
        made.mkdir()
        if len(made.relative_to(tree.root).parts) < _DEPTH:
            measured_cgroup.enable_all(made)
        interruption.check()
    return round((tree.bytes() - empty) / count)


def _unread(tree: Tree, count: int) -> int:
    """Bytes for each of so many cgroups that have every controller, and no file of which was looked up: siblings."""
    measured_cgroup.enable_all(tree.root)
    empty = tree.bytes()
    for number in range(count):
        (tree.root / f"n{number}").mkdir()
        interruption.check()
    return round((tree.bytes() - empty) / count)


def _settled(tree: Tree, full: int) -> int:
    """Bytes that the daemon keeps once it has had time to give some back."""
    give_up = time.monotonic() + _SETTLE
    least = full
    while time.monotonic() < give_up:
        least = min(least, tree.bytes())
        time.sleep(0.2)
    return least


def _operations(root: Path) -> dict[str, Callable[[], object]]:
    """Each is one block."""
    work = root / "n0" / "n0" / "n0"
    names = [str(work / f"made{number}") for number in range(_BLOCK)]
    procs, stat = str(work / "cgroup.procs"), str(root / "cgroup.stat")

    def each(call: Callable[[str], object], paths: Sequence[str]) -> Callable[[], None]:
        def run() -> None:
            for path in paths:
                call(path)

        return run

    return {
        "mkdir": each(os.mkdir, names),
        "rmdir": each(os.rmdir, names),
        "stat": each(os.stat, [procs] * _BLOCK),
        "open+read+close": each(_read, [procs] * _BLOCK),
        "root cgroup.stat": each(_read, [stat] * _BLOCK),
    }


def _read(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:
        return file.readall()


def _compared(few: Tree, many: Tree, rounds: int) -> dict[str, Any]:
    """µs of each operation in the large tree, and the ratio to the small one in the same round."""
    here, there = _operations(many.root), _operations(few.root)
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in here}
    for _ in range(rounds + 1):
        for name in here:
            times[name].append((many.cost(here[name]) / _BLOCK / 1000, few.cost(there[name]) / _BLOCK / 1000))
            interruption.check()
    return {
        name: {"us": spread([mine for mine, _ in found[1:]], 2), "ratio": spread([a / b for a, b in found[1:]])}
        for name, found in times.items()
    }


def _listing(root: Path, count: int, rounds: int, tree: Tree | None = None) -> dict[str, Any]:
    """µs per entry of a listing of so many children: the first one, again, and after one more was made."""

    def listed() -> float:
        interruption.check()
        if tree is not None:
            return tree.cost(lambda: os.listdir(root)) / count / 1000
        began = time.process_time_ns()
        os.listdir(root)
        return (time.process_time_ns() - began) / count / 1000

    names = [str(root / f"made{number}") for number in range(count)]
    made = []
    try:
        for name in names:
            os.mkdir(name)
            made.append(name)
        first = listed()
        again, changed = [], []
        for number in range(rounds):
            again.append(listed())
            one = str(root / f"one{number}")
            os.mkdir(one)
            made.append(one)
            changed.append(listed())
    finally:
        for name in made:
            os.rmdir(name)
    return {
        "entries": count,
        "first_us": round(first, 3),
        "again_us": spread(again),
        "changed_us": spread(changed),
    }


def table(result: dict[str, Any]) -> str:
    """Memory, a row for each number and operation, and the listings."""
    lines = [f"{'cgroups':>9}  {'MiB':>7}  {'bytes each':>10}  {'kept':>5}"]
    for count, figures in result["cgroups"].items():
        lines.append(
            f"{count:>9}  {figures['full_mib']:7.1f}  {figures['per_cgroup_bytes']:>10}  {figures['kept']:5.0%}"
        )
    enabled = result["enabled"]
    lines.append(f"{enabled['cgroups']:>9}  {'':7}  {enabled['per_cgroup_bytes']:>10}  with every controller")
    lines.append(f"{enabled['cgroups']:>9}  {'':7}  {enabled['unread_bytes']:>10}  the same, and no file looked up")
    lines += ["", f"{'cgroups':>9}  {'':16}  {'CPU µs':>7}  ratio  (min–max)"]
    for count, figures in result["cgroups"].items():
        for name, one in figures["operations"].items():
            ratio = one["ratio"]
            lines.append(
                f"{count:>9}  {name:16}  {one['us']['median']:7.1f}  {ratio['median']:5.2f}  "
                f"({ratio['min']:.2f}–{ratio['max']:.2f})"
            )
    lines += ["", f"{'listdir':9}  {'entries':>8}  {'first':>7}  {'again':>7}  {'changed':>7}  CPU µs per entry"]
    for name, one in result["listing"].items():
        lines.append(
            f"{name:9}  {one['entries']:>8}  {one['first_us']:7.2f}  {one['again_us']['median']:7.2f}  "
            f"{one['changed_us']['median']:7.2f}"
        )
    if "host" in result["listing"]:
        mine = result["listing"]["native"]
        lines.append(
            f"{'ratio':9}  {'':8}  {mine['first_ratio']:7.2f}  {mine['again_us']['ratio']:7.2f}  "
            f"{mine['changed_us']['ratio']:7.2f}"
        )
    run = result["run"]
    lines += ["", f"{run['rounds']} rounds; a ratio is to a tree of {run['few']} cgroups in the same round"]
    lines += [f"no {name}: {reason}" for name, reason in result["missing"].items()]
    return "\n".join(lines)
