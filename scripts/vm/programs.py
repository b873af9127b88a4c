"""The programs that virtual machines take here, and the Debian packages that they come from."""

from __future__ import annotations

import shutil

import debian_packages
from fakecgroup_mount.vm.errors import MachineError
from fakecgroup_mount.vm.programs import missing

#: They fetch and unpack packages.
_PROGRAMS = {"apt-get": "apt", "dpkg": "dpkg"}


def provide(caller: str, architecture: str = "amd64", *, compiler: bool = False) -> None:
    """Installs what is missing, as root, and says so in the name of `caller`.

    Raises MachineError, which names all packages at once, where we are not root or apt-get fails.
    """
    packages = [package for program, package in _PROGRAMS.items() if shutil.which(program) is None]
    packages += missing(architecture, compiler=compiler).values()
    try:
        debian_packages.install(caller, " ".join(packages).split())
    except debian_packages.PackagesError as error:
        raise MachineError(str(error)) from None
