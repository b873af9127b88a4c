"""Calls of cgroup-engine, each in a forked process: a new Python would start slowly in an emulated machine."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from cgroup_engine.cli import main


@dataclass(frozen=True)
class Finished:
    """A call that has ended: its exit code, and what it printed."""

    code: int
    out: str
    err: str


def call(arguments: Sequence[str]) -> Finished:
    """Runs cgroup-engine to its end."""
    with tempfile.TemporaryDirectory(prefix="fcg-call-") as name:
        out, err = Path(name) / "out", Path(name) / "err"
        code = RunningCommand(arguments, out, err).wait()
        return Finished(code, out.read_text(), err.read_text())


class RunningCommand:
    """A call that runs beside the scenario and prints into files. As a context manager it is killed at the end."""

    def __init__(self, arguments: Sequence[str], out: Path, err: Path | None = None) -> None:
        self.out = out
        for path in (out, err or out):
            path.touch()
        self._code: int | None = None
        self._end, writing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            _run_child(arguments, out, err or out)
        os.close(writing)

    def __enter__(self) -> RunningCommand:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.end(signal.SIGKILL)
        os.close(self._end)

    def wait_for_exec(self) -> None:
        """Waits until it has executed another program or has ended: both close its end of a pipe."""
        os.read(self._end, 1)

    def printed(self) -> str:
        """What it has printed so far."""
        return self.out.read_text()

    def poll(self) -> int | None:
        """Its exit code, negative for the signal that killed it; None while it runs."""
        if self._code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self._code = os.waitstatus_to_exitcode(status) if pid else None
        return self._code

    def wait(self, seconds: float = float("inf")) -> int:
        """Waits for its exit code. Raises TimeoutError if it still runs after so many seconds."""
        deadline = time.monotonic() + seconds
        while (code := self.poll()) is None:
            if time.monotonic() > deadline:
                raise TimeoutError(f"process {self.pid} still runs after {seconds:g} s")
            time.sleep(0.01)
        return code

    def end(self, number: signal.Signals) -> int:
        """Sends a signal if it still runs. Returns its exit code."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)
        return self.wait()


def _run_child(arguments: Sequence[str], out: Path, err: Path) -> None:
    """What the forked child does. Never returns."""
    code = 1
    try:
        for path, number in ((out, 1), (err, 2)):
            file = os.open(path, os.O_WRONLY | os.O_APPEND)
            os.dup2(file, number)
            os.close(file)
        code = main(arguments)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
