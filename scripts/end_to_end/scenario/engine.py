"""cgroup-engine, each call in a process of its own, forked off so that Python starts only once: it is slow in a machine
that is emulated.
"""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
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
