"""Processes in containers."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType

from .tree import Tree

BURN = ["sh", "-c", "while :; do :; done"]
SLEEP = ["sleep", "3600"]
#: Lets the parent move the shell into a container before it becomes the command.
_GATE = 'read -r go && exec "$@" </dev/null'


class Processes:
    """Starts processes in cgroups; those that are left are ended with the block."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._started: list[subprocess.Popen[str]] = []

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for process in self._started:
            end(process)

    def start(self, cgroup: str, command: Sequence[str], cpu: int | None = None) -> subprocess.Popen[str]:
        """Starts a command inside a cgroup; ``cpu``: the only one that it may run on. Its output can be read."""
        gated = ["sh", "-c", _GATE, "sh", *command]
        process = subprocess.Popen(gated, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._started.append(process)
        for directory in self._tree.directories(cgroup):
            (directory / "cgroup.procs").write_text(str(process.pid))
        if cpu is not None:
            os.sched_setaffinity(process.pid, {cpu})  # entering a cpuset forgets it on 6.1, not on 6.18
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.close()
        return process


def end(process: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError):
        process.kill()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def alive(process: subprocess.Popen[str]) -> bool:
    return process.poll() is None


def fate(code: int) -> str:
    """Of a process that ended, by its exit code as subprocess gives it."""
    return "killed" if code == -signal.SIGKILL else f"exit {code}"
