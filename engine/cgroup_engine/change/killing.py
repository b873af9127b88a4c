"""Kills every process in a cgroup and below it: by cgroup.kill if there is one, else one by one as a kubelet does.

Source: ``pkg/kubelet/cm/pod_container_manager_linux.go`` (killOnePid, and tryKillingCgroupProcesses: up to five rounds
over all processes), the same from 1.24 to 1.36. Unlike a kubelet this thaws a frozen v1 cgroup first: no signal takes
effect in it.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Container, Iterable, Iterator, Sequence

from cgroup_engine.change.migration import is_kernel_thread
from cgroup_engine.errors import errno_name
from cgroup_engine.plan.removal import who_lives
from cgroup_engine.tree.fs import CgroupFs, cgroups_at
from cgroup_engine.tree.layout import Layout, all_hierarchies

#: Seconds after each round; a killed process takes a moment to end.
_ROUNDS = (0.01, 0.02, 0.04, 0.08, 0.1)


class ProcessKiller:
    """Kills processes of this machine; ``own``: this engine's pid."""

    own = os.getpid()

    def is_kernel_thread(self, pid: int) -> bool:
        """Is it a thread of the kernel? False for a process that is gone."""
        return is_kernel_thread(pid) is True

    def kill(self, pid: int, is_there: Callable[[], bool]) -> None:
        """Sends SIGKILL, if ``is_there`` is still True once a pidfd pins the process.

        :raises OSError: it is not allowed.
        """
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        try:
            if is_there():
                signal.pidfd_send_signal(handle, signal.SIGKILL)
        except ProcessLookupError:
            pass
        finally:
            os.close(handle)


class Killing:
    """Kills the processes of some cgroups. ``not_ended``: path of a cgroup that still has processes -> a line."""

    def __init__(
        self,
        fs: CgroupFs,
        layout: Layout,
        processes: ProcessKiller,
        *,
        sleep: Callable[[float], None] = time.sleep,
        ending: Callable[[], bool] = lambda: False,
    ) -> None:
        self._fs = fs
        self._sleep = sleep
        self._ending = ending
        self._processes = processes
        self._hierarchies = all_hierarchies(fs, layout)
        self._unified = layout.version == 2
        self.not_ended: dict[str, str] = {}

    def end(self, paths: Sequence[str]) -> dict[str, tuple[int, ...]]:
        """Kills all processes in cgroups and below them; returns their pids by path."""
        killed: dict[str, set[int]] = {path: set() for path in paths}
        waiting = {path: pids for path in paths if (pids := self._pids(path))}
        for pause in _ROUNDS:
            waiting = {path: pids for path, pids in waiting.items() if self._kill(path, pids, killed[path])}
            if not waiting or self._ending():
                break
            self._sleep(pause)
            waiting = {path: pids for path in waiting if (pids := self._pids(path))}
        for path, pids in waiting.items():
            self.not_ended.setdefault(path, f"/{path}: {who_lives(sorted(pids))} in it after SIGKILL")
        return {path: tuple(sorted(pids)) for path, pids in killed.items() if pids}

    def elsewhere(self, path: str, but: Container[str]) -> list[str]:
        """The directories of a cgroup and of all below it in hierarchies other than ``but``, children first.

        A runtime made them, and a kubelet removes them with the pod (libcontainer's Destroy).
        """
        others = [hierarchy for hierarchy in self._hierarchies if hierarchy not in but]
        return [directory for other in others for directory in reversed(list(cgroups_at(self._fs, f"{other}/{path}")))]

    def _kill(self, path: str, pids: Iterable[int], killed: set[int]) -> bool:
        """Kills once; False if no process in the cgroup may be killed."""
        spared = {pid for pid in pids if pid in (1, self._processes.own) or pid <= 0}
        spared |= {pid for pid in pids if pid > 0 and self._processes.is_kernel_thread(pid)}
        if spared:
            self.not_ended[path] = f"/{path}: {_why_spared(spared, self._processes.own)}"
        elif self._unified and self._written(f"{path}/cgroup.kill", "1"):
            killed.update(pids)
            return True
        self._thaw(path)
        victims = set(pids) - spared
        for pid in victims:
            try:
                self._processes.kill(pid, lambda pid=pid: pid in self._pids(path))  # type: ignore[misc]
                killed.add(pid)
            except OSError as failed:
                name = errno_name(failed.errno or 0)
                self.not_ended[path] = f"/{path}: process {pid} cannot be ended: {name}; run as root or with CAP_KILL"
        return bool(victims)

    def _thaw(self, path: str) -> None:
        for directory in () if self._unified else self._directories(path):
            if self._text(f"{directory}/freezer.state").strip() in ("FROZEN", "FREEZING"):
                self._written(f"{directory}/freezer.state", "THAWED")

    def _pids(self, path: str) -> set[int]:
        directories = self._directories(path)
        return {int(pid) for directory in directories for pid in self._text(f"{directory}/cgroup.procs").split()}

    def _directories(self, path: str) -> Iterator[str]:
        """A cgroup and all below it in every hierarchy, parents first."""
        for hierarchy in self._hierarchies:
            yield from cgroups_at(self._fs, f"{hierarchy}/{path}" if hierarchy else path)

    def _text(self, file: str) -> str:
        try:
            return self._fs.read(file)
        except OSError:  # gone, or of threads
            return ""

    def _written(self, file: str, text: str) -> bool:
        try:
            self._fs.write(file, text)
        except OSError:
            return False
        return True


def _why_spared(pids: Iterable[int], own: int) -> str:
    if own in pids:
        return "this engine itself lives in it; start it elsewhere"
    if any(pid <= 0 for pid in pids):
        return "processes of another pid namespace live in it; run the engine in the machine's own"
    return f"{who_lives(sorted(pids))} in it, which must not be ended"
