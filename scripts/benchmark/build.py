"""Compiling the programs in C."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

from .errors import UnavailableError

_SOURCES = Path(__file__).parent


def compiled(name: str, directory: Path, library: str | None = None) -> Path:
    """The program made of NAME.c in `directory`, with a library that pkg-config knows.

    Raises UnavailableError, with what to install.
    """
    compiler = shlex.split(os.environ.get("CC", "cc"))
    if shutil.which(compiler[0]) is None:
        raise UnavailableError(f"no C compiler ({compiler[0]}): install gcc and libc6-dev (Debian packages)")
    program = directory / name
    if program.exists():  # made for another column
        return program
    command = [*compiler, "-O2", "-o", str(program), str(_SOURCES / f"{name}.c"), *_flags(library)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines() or ["?"]
        raise UnavailableError(f"{name}.c does not compile: {errors[0]}")
    return program


def _flags(library: str | None) -> list[str]:
    if library is None:
        return []
    if shutil.which("pkg-config") is None:
        raise UnavailableError("no pkg-config: install pkg-config (Debian package)")
    command = ["pkg-config", "--cflags", "--libs", library]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UnavailableError(f"pkg-config knows no {library}: install lib{library}-dev (Debian package)")
    return done.stdout.split()
