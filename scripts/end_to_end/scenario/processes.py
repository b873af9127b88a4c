"""Processes in containers, started by ``cgroup-engine exec``."""

from __future__ import annotations

import itertools
import signal
from collections.abc import Sequence
from contextlib import ExitStack
from types import TracebackType

from .calls import RunningCommand
from .node import Node

BURN = ["sh", "-c", "while :; do :; done"]
SLEEP = ["sleep", "3600"]


class Processes:
    """Starts processes in containers. As a context manager it kills those that still run at the end."""

    _numbers = itertools.count(1)

    def __init__(self, node: Node) -> None:
        self._node = node
        self._left = ExitStack()

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._left.close()

    def start(self, container: str, command: Sequence[str], cpu: int | None = None) -> RunningCommand:
        """Returns once the command runs in POD/CONTAINER; ``cpu``: the only one that it may run on."""
        on = ["taskset", "-c", str(cpu)] if cpu is not None else []
        out = self._node.directory / f"process-{next(self._numbers)}"
        process = RunningCommand(self._node.exec_arguments(container, [*on, *command]), out)
        self._left.enter_context(process)
        process.wait_for_exec()
        return process


def alive(process: RunningCommand) -> bool:
    return process.poll() is None


def how_it_ended(code: int) -> str:
    """``killed`` or the exit status, of the exit code of a process."""
    return "killed" if code == -signal.SIGKILL else f"exit {code}"
