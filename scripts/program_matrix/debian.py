"""The Debian packages that the programs come from."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable

from .errors import ProgramsError
from .program import Program


def version(program: Program) -> str:
    """The version of the program, which is that of its package but for some; or ""."""
    return program.version() if program.version else package_version(program.package)


def package_version(package: str) -> str:
    """The version of an installed package, or ""."""
    try:
        done = subprocess.run(
            ["dpkg-query", "--show", "--showformat=${db:Status-Status} ${Version}", package],
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        return ""
    state, _, number = done.stdout.partition(" ")
    return number.strip() if state == "installed" else ""


def install(programs: Iterable[Program]) -> list[str]:
    """Gets the packages that are not there yet, with apt-get, as root; returns their names. Raises ProgramsError."""
    wanted = dict.fromkeys(name for program in programs for name in (program.package, *program.also) if name)
    missing = [name for name in wanted if not package_version(name)]
    if not missing:
        return []
    if os.geteuid() != 0:
        raise ProgramsError(f"only root can install packages; as root: apt-get install {' '.join(missing)}")
    command = ["apt-get", "install", "--yes", "--no-install-recommends", *missing]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise ProgramsError("no apt-get here: this is for Debian") from None
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise ProgramsError(f"apt-get install {' '.join(missing)}: {last} (apt-get update may help)")
    return missing
