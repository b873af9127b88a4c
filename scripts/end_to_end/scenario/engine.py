"""cgroup-engine, each call in a process of its own, forked off so that Python starts only once: it is slow in a machine
that is emulated.
"""

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
class Called:
    """What cgroup-engine printed, and its exit code."""

    code: int
    out: str
    err: str


def call(arguments: Sequence[str]) -> Called:
    with tempfile.TemporaryDirectory(prefix="fcg-call-") as name:
        out, err = Path(name) / "out", Path(name) / "err"
        code = Running(arguments, out, err).wait()
        return Called(code, out.read_text(), err.read_text())


class Running:
    """A call that may go on, and what it prints, in files. It is killed at the end of the block, if there is one."""

    def __init__(self, arguments: Sequence[str], out: Path, err: Path | None = None) -> None:
        self.out = out
        for path in (out, err or out):
            path.touch()
        self._code: int | None = None
        self._end, writing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            _be(arguments, out, err or out)
        os.close(writing)

    def __enter__(self) -> Running:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.end(signal.SIGKILL)
        os.close(self._end)

    def replaced(self) -> None:
        """Waits until it has become another program, or has ended: a pipe closes then."""
        os.read(self._end, 1)

    def printed(self) -> str:
        """So far."""
        return self.out.read_text()

    def poll(self) -> int | None:
        """Its exit code, negative for the signal that killed it; None as long as it runs."""
        if self._code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self._code = os.waitstatus_to_exitcode(status) if pid else None
        return self._code

    def wait(self, seconds: float = float("inf")) -> int:
        """:raises TimeoutError: it still runs."""
        deadline = time.monotonic() + seconds
        while (code := self.poll()) is None:
            if time.monotonic() > deadline:
                raise TimeoutError(f"process {self.pid} still runs after {seconds:g} s")
            time.sleep(0.01)
        return code

    def end(self, number: signal.Signals) -> int:
        """Its exit code after a signal, or that with which it had ended before."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)
        return self.wait()


def _be(arguments: Sequence[str], out: Path, err: Path) -> None:
    """The child: never returns."""
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
