"""The programs that virtual machines take, and the Debian packages that they come from."""

from __future__ import annotations

import shutil

import debian_packages

from .architecture import ARCHITECTURES
from .errors import MachineError

#: apt-get and dpkg fetch and unpack; cpio packs what a machine boots with.
_PROGRAMS = {"apt-get": "apt", "dpkg": "dpkg", "cpio": "cpio"}
_COMPILER = {"gcc": "gcc libc6-dev"}


def provide(caller: str, architecture: str = "amd64", *, compiler: bool = False) -> None:
    """Installs what is missing, as root, and says so in the name of `caller`.

    Raises MachineError, which names all packages at once, where we are not root or apt-get fails.
    """
    emulator = {ARCHITECTURES[architecture].emulator: ARCHITECTURES[architecture].package}
    wanted = {**emulator, **_PROGRAMS, **(_COMPILER if compiler else {})}
    missing = [package for program, package in wanted.items() if shutil.which(program) is None]
    try:
        debian_packages.install(caller, " ".join(missing).split())
    except debian_packages.PackagesError as error:
        raise MachineError(str(error)) from None
