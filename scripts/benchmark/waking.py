"""From the kill of a cgroup's last process until who waits for that is awake: the fake, and this machine's own cgroup2.

Some wait in poll(2) on cgroup.events, some for its IN_MODIFY (inotify(7)). The next process comes when a kernel tells
of changes at once again, which it does after 12 ms.
"""

from __future__ import annotations

import ctypes
import os
import select
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from . import interruption
from .columns import host_root, native
from .errors import BenchmarkError, UnavailableError
from .own_cgroup import own_cgroup
from .spread import spread

WAYS = ("poll", "inotify")
_REST = 0.015  # seconds
_PATIENCE = 5.0  # seconds
_IN_MODIFY = 2
_libc = ctypes.CDLL(None, use_errno=True)


class _WatchedCgroup:
    """What waits for the changes of a cgroup.

    :raises BenchmarkError: there are too many inotify instances.
    """

    def __init__(self, cgroup: Path) -> None:
        self.cgroup = cgroup
        events = cgroup / "cgroup.events"
        self._inotify = int(_libc.inotify_init1(os.O_CLOEXEC))
        if self._inotify < 0:
            reason = os.strerror(ctypes.get_errno())
            raise BenchmarkError(
                f"inotify_init1(2): {reason}: fs.inotify.max_user_instances says how many there may be"
            )
        self._file = os.open(events, os.O_RDONLY | os.O_CLOEXEC)
        _libc.inotify_add_watch(self._inotify, os.fsencode(events), _IN_MODIFY)

    def close(self) -> None:
        for fd in (self._file, self._inotify):
            os.close(fd)

    def wake(self, way: str) -> float:
        """ms from the kill to the wake."""
        with subprocess.Popen(["sleep", "300"]) as process:
            try:
                (self.cgroup / "cgroup.procs").write_text(str(process.pid))
                time.sleep(_REST)
                poller = select.poll()
                if way == "poll":
                    os.pread(self._file, 100, 0)
                    poller.register(self._file, select.POLLPRI)
                else:
                    while select.select([self._inotify], [], [], 0)[0]:
                        os.read(self._inotify, 4096)
                    poller.register(self._inotify, select.POLLIN)
                begin = time.perf_counter()
                process.kill()
                woken = poller.poll(_PATIENCE * 1000)
                took = time.perf_counter() - begin
            finally:
                process.kill()
        time.sleep(_REST)
        if not woken:
            raise BenchmarkError(f"{self.cgroup}: {way} was not woken within {_PATIENCE:g} s")
        return took * 1000


@contextmanager
def _host(directory: Path) -> Iterator[tuple[str, Path]]:
    root, kind, _, _ = host_root()
    if kind != "cgroup2":
        raise UnavailableError("no cgroup2 is mounted")
    yield f"this machine's cgroup2, Linux {os.uname().release}", root


TREES: dict[str, Callable[[Path], Any]] = {"native": native, "host": _host}


def measure(count: int, directory: Path) -> dict[str, Any]:
    """For each tree and way of waiting: ms of `count` wakes, and of the fake's their ratio to the machine's.

    :raises BenchmarkError: somebody was not woken.
    """
    trees: dict[str, Any] = {}
    missing: dict[str, str] = {}
    times: dict[tuple[str, str], list[float]] = {}
    with ExitStack() as stack:
        watched: dict[str, _WatchedCgroup] = {}
        for name, make in TREES.items():
            try:
                what, root = stack.enter_context(make(directory))
                watched[name] = _WatchedCgroup(stack.enter_context(own_cgroup(root)))
            except UnavailableError as reason:
                missing[name] = str(reason)
                continue
            stack.callback(watched[name].close)
            trees[name] = {"what": what}
        for _ in range(count):
            for name, group in watched.items():
                for way in WAYS:
                    interruption.check()
                    times.setdefault((name, way), []).append(group.wake(way))
    for name, figures in trees.items():
        for way in WAYS:
            ratio = median(times[name, way]) / median(times["host", way]) if "host" in trees else None
            figures[way] = {"ms": spread(times[name, way]), "ratio": None if ratio is None else round(ratio, 3)}
    return {"run": {"wakes": count}, "trees": trees, "missing": missing}


def table(result: dict[str, Any]) -> str:
    """A row for each tree and way of waiting: median ms, the ratio of the medians, minimum and maximum."""
    lines = [f"{'':6}  {'':7}  {'ms':>6}  ratio  (min–max)"]
    for name, figures in result["trees"].items():
        for way in WAYS:
            ms, ratio = figures[way]["ms"], figures[way]["ratio"]
            beside = f"{'':5}" if ratio is None else f"{ratio:5.2f}"
            lines.append(f"{name:6}  {way:7}  {ms['median']:6.2f}  {beside}  ({ms['min']:.2f}–{ms['max']:.2f})")
    lines += ["", f"{result['run']['wakes']} wakes; from the kill of the last process on"]
    lines += [f"{name}: {tree['what']}" for name, tree in result["trees"].items()]
    lines += [f"no {name}: {reason}" for name, reason in result["missing"].items()]
    return "\n".join(lines)
