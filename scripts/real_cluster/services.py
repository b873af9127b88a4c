"""Programs that are kept running, each with a log, by the process that is number 1 of its namespace."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .errors import ClusterError

_PAUSE = 1.0  # seconds until a program that ended is started again


@dataclass
class _Service:
    command: Sequence[str]
    environment: Mapping[str, str]
    descriptors: Sequence[int]
    process: subprocess.Popen[bytes]
    again: bool


class Services:
    """The log of a program is `logs/NAME.log`, its process the number in `processes/NAME`."""

    def __init__(self, directory: Path) -> None:
        self._logs, self._processes = directory / "logs", directory / "processes"
        self._logs.mkdir()
        self._processes.mkdir()
        self._services: dict[str, _Service] = {}

    def start(
        self,
        name: str,
        command: Sequence[str],
        environment: Mapping[str, str] = os.environ,
        *,
        descriptors: Sequence[int] = (),
        again: bool = True,
    ) -> None:
        """With `again` it is started once more whenever it ends. It gets the descriptors. Raises ClusterError."""
        process = self._run(name, command, environment, descriptors)
        self._services[name] = _Service(command, environment, descriptors, process, again)

    def check(self, name: str) -> None:
        """Raises ClusterError, with the end of the log, if the program has ended."""
        code = self._services[name].process.poll()
        if code is not None:
            raise ClusterError(f"{name} ended with status {code}: {self._last_line(name)}")

    def keep(self) -> None:
        """Does not return: starts again what ends, and takes leave of the processes that nobody else waits for."""
        while True:
            ended, _ = os.waitpid(-1, 0)
            for name, service in self._services.items():
                if service.process.pid == ended:
                    service.process.returncode = 0  # it is known to have ended
                    if service.again:
                        time.sleep(_PAUSE)
                        service.process = self._run(name, service.command, service.environment, service.descriptors)

    def _run(
        self, name: str, command: Sequence[str], environment: Mapping[str, str], descriptors: Sequence[int]
    ) -> subprocess.Popen[bytes]:
        with (self._logs / f"{name}.log").open("ab") as log:
            try:
                process = subprocess.Popen(
                    command,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    pass_fds=descriptors,
                )
            except OSError as error:
                raise ClusterError(f"{name}: {command[0]}: {error.strerror}") from None
        (self._processes / name).write_text(f"{process.pid}\n")
        return process

    def _last_line(self, name: str) -> str:
        """Of a Go program that ended by a panic: the line before the stacks."""
        lines = (self._logs / f"{name}.log").read_text(errors="replace").strip().splitlines()
        panics = [line for line in lines if line.startswith(("panic: ", "fatal error: "))]
        return [*lines, *panics][-1].strip() if lines else "it said nothing"
