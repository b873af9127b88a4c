"""cgroup-engine, each call in a process of its own, forked off so that Python starts only once: it is slow in a machine
that is emulated.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from engine.cli import main


@dataclass(frozen=True)
class Called:
    """What cgroup-engine printed, and its exit code."""

    code: int
    out: str
    err: str


def call(arguments: Sequence[str]) -> Called:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        _, status = os.waitpid(_fork(arguments, out, err), 0)
        return Called(os.waitstatus_to_exitcode(status), _text(out), _text(err))


class Running:
    """A call that goes on until it is ended, at the latest with the block."""

    def __init__(self, arguments: Sequence[str], log: Path) -> None:
        self._log = log
        with open(log, "wb") as file:
            self._pid = _fork(arguments, file, file)
        self._code: int | None = None

    def __enter__(self) -> Running:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.end(signal.SIGKILL)

    def log(self) -> str:
        """All that it has printed so far."""
        return self._log.read_text()

    def end(self, number: signal.Signals) -> int:
        """Its exit code after a signal, negative if the signal killed it."""
        if self._code is None:
            os.kill(self._pid, number)
            self._code = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        return self._code


def _fork(arguments: Sequence[str], out: BinaryIO, err: BinaryIO) -> int:
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            code = main(arguments)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    return pid


def _text(file: BinaryIO) -> str:
    file.seek(0)
    return file.read().decode()
