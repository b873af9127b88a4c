"""A release agent that leaves a note of each run."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

_PATIENCE = 2.0  # seconds for expected runs
_AFTERWARDS = 0.03  # seconds for unexpected runs; a later one counts for the next call

_PROGRAM = """\
#!{python} -IS
import os, sys
opened = []
for fd in range(64):
    try:
        os.fstat(fd)
        opened.append(fd)
    except OSError:
        pass
mask = os.umask(0)
with open("/proc/self/environ", "rb") as file:
    environment = file.read().split(b"\\0")[:-1]
own = os.path.dirname(os.path.abspath(__file__))
arguments = [os.fsencode(argument) for argument in sys.argv]
note = arguments[1] + b"\\0argv " + b" ".join([b"$agent", *arguments[1:]])
note += b"\\nenviron " + b" ".join(environment) + b"\\ncwd " + os.getcwdb()
note += b"\\nuid %d gid %d\\numask %03o" % (os.getuid(), os.getgid(), mask)
note += b"\\ndescriptors" + b"".join(b" %d" % fd for fd in opened) + b"\\n"
fresh = f"{{own}}/.{{os.getpid()}}"
with open(fresh, "wb") as file:
    file.write(note)
os.rename(fresh, f"{{own}}/run-{{os.getpid()}}")
"""


class Agent:
    """The agent's program, in a directory of its own. Each run leaves a file there."""

    def __init__(self) -> None:
        self._home = ""

    @property
    def made(self) -> bool:
        return self._home != ""

    @property
    def program(self) -> str:
        """The path of the program; "$agent" before `make`."""
        return os.path.join(self._home, "agent") if self.made else "$agent"

    def make(self) -> None:
        self._home = tempfile.mkdtemp(prefix="fcg-agent-")
        os.chmod(self._home, 0o777)
        Path(self.program).write_text(_PROGRAM.format(python=sys.executable))
        os.chmod(self.program, 0o755)

    def remove(self) -> None:
        shutil.rmtree(self._home, ignore_errors=True)
        self._home = ""

    def runs(self, count: int, what: str) -> list[str]:
        """The notes of the runs since the last call, sorted. Waits up to 2 s for ``count`` runs."""
        deadline = time.monotonic() + _PATIENCE
        while len(self._notes()) < count and time.monotonic() < deadline:
            time.sleep(0.005)
        time.sleep(_AFTERWARDS)
        found = []
        for note in self._notes():
            argument, _, process = note.read_bytes().partition(b"\0")
            found.append((process if what == "process" else argument).decode("utf-8", "surrogateescape"))
            note.unlink()
        return sorted(found)

    def _notes(self) -> list[Path]:
        return list(Path(self._home).glob("run-*")) if self.made else []
