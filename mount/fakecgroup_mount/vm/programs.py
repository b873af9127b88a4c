"""The programs that it takes to boot an image, and the Debian packages that they come from."""

from __future__ import annotations

import os
import shutil

from fakecgroup_mount.vm.architecture import ARCHITECTURES
from fakecgroup_mount.vm.errors import MachineError


def compilers(architecture: str) -> tuple[str, ...]:
    """The C compilers for an architecture, the best one first: the machine's own, else the cross compiler."""
    about = ARCHITECTURES[architecture]
    return ("cc", "gcc") if os.uname().machine == about.machine else (about.compiler,)


def missing(architecture: str, *, compiler: bool) -> dict[str, str]:
    """The programs that are not on PATH, each with the Debian packages that have it."""
    about = ARCHITECTURES[architecture]
    found = {}
    if shutil.which(about.emulator) is None:
        found[about.emulator] = about.package
    names = compilers(architecture)
    if compiler and not any(map(shutil.which, names)):
        found[names[0]] = "gcc libc6-dev" if names[0] == "cc" else about.compiler_packages
    return found


def require(architecture: str, *, compiler: bool) -> None:
    """Raises MachineError if a program is missing."""
    found = missing(architecture, compiler=compiler)
    if found:
        raise MachineError(
            f"missing: {', '.join(found)}, to boot a kernel; on Debian: apt-get install {' '.join(found.values())}"
        )
