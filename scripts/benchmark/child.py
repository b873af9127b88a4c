"""The daemons and clients that the benchmark starts."""

from __future__ import annotations

import ctypes
import select
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import IO

from . import interruption
from .errors import BenchmarkError

_PR_SET_PDEATHSIG = 1
_PATIENCE = 5  # seconds that a process has to end
_libc = ctypes.CDLL(None)


class Child:
    """A running process and what it says."""

    def __init__(self, process: subprocess.Popen[str], complaints: IO[bytes]) -> None:
        self.process = process
        self._complaints = complaints

    @property
    def running(self) -> bool:
        return self.process.poll() is None

    def end(self) -> None:
        """SIGTERM, and SIGKILL if that does not help; returns when it is gone."""
        self.process.terminate()
        try:
            self.process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except BrokenPipeError:
                    pass  # what was not read by it

    def complaint(self) -> str:
        """The first line on its stderr."""
        self._complaints.seek(0)
        line = self._complaints.read().decode(errors="replace").strip().partition("\n")[0]
        return line or f"it ended with status {self.process.poll()} and no word"


@contextmanager
def started(command: Sequence[str], environment: dict[str, str] | None = None) -> Iterator[Child]:
    """Runs `command` until the context ends, and then ends it.

    It has a session of its own, so that a Ctrl-C at the terminal reaches the benchmark alone, and ends with the
    benchmark even if that is killed.
    """
    with TemporaryFile() as complaints:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
            env=environment,
            start_new_session=True,
            preexec_fn=lambda: _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM),
        )
        child = Child(process, complaints)
        try:
            yield child
        finally:
            child.end()


class Client:
    """A child that runs operations when it is told to: `client.c`, or `python_client`."""

    def __init__(self, child: Child) -> None:
        self._child = child
        assert child.process.stdin is not None
        self._stdin = child.process.stdin
        self.pid = child.process.pid

    def measure(self, operation: str, count: int) -> int:
        """The ns that `count` operations took. Raises BenchmarkError, StoppedError."""
        try:
            self._stdin.write(f"{operation} {count}\n")
            self._stdin.flush()
        except BrokenPipeError:
            pass  # it has ended, and says nothing more
        return int(answer(self._child))


def answer(child: Child) -> str:
    """The next line that a child says. Raises BenchmarkError with its complaint if it ends instead, StoppedError."""
    stdout = child.process.stdout
    assert stdout is not None
    while not select.select([stdout], [], [], interruption.POLL)[0]:
        interruption.check()
    interruption.check()
    line = stdout.readline()
    if not line:
        child.process.wait(_PATIENCE)
        raise BenchmarkError(child.complaint())
    return line
