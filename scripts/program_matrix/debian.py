"""The Debian packages that the programs come from."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable

import debian_packages

from .errors import ProgramsError
from .program import Program


def version(program: Program) -> str:
    """The version of a program: what the program says itself, else that of its package; or ""."""
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


def install(programs: Iterable[Program]) -> None:
    """Installs the packages that are missing, as root, and says so. Raises ProgramsError."""
    wanted = dict.fromkeys(name for program in programs for name in (program.package, *program.also) if name)
    try:
        debian_packages.install("programs", [name for name in wanted if not package_version(name)])
    except debian_packages.PackagesError as error:
        raise ProgramsError(str(error)) from None
