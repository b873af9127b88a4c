"""Installs Debian packages, as environment.sh does."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

_ENVIRONMENT = Path(__file__).with_name("environment.sh")


class PackagesError(Exception):
    """Packages are missing and could not be installed; the text is one line that names all of them."""


def install(caller: str, packages: Sequence[str]) -> None:
    """Installs packages, as root, and says so on stderr in the name of `caller`. Raises PackagesError."""
    if not packages:
        return
    names = " ".join(packages)
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise PackagesError(f"missing programs; install them as root: apt-get install {names}")
    command = ["bash", "-c", 'environment=$1; shift; source "$environment"; apt_install "$@"', caller]
    done = subprocess.run(
        [*command, str(_ENVIRONMENT), *packages], stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False
    )
    if done.returncode:
        raise PackagesError(f"apt-get install {names} failed")
