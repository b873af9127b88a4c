"""Debian's releases: which one this is, and running in the root of another."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NoReturn

import debian_packages

from .errors import ProgramsError
from .plain_user import REPOSITORY

SUITES = {"bookworm": "Debian 12", "trixie": "Debian 13", "sid": "Debian sid"}
"""The releases that the page has, by what debootstrap calls them."""
RELEASES = tuple(SUITES.values())
PYTHON = "/usr/bin/python3"
"""The Python of a root."""
_ENTERED = "FAKECGROUP_PROGRAMS_IN"

# The root is one that can be moved to, as a user namespace cannot be made where one was only changed to (chroot(2)).
_PROLOGUE = """
set -e
root=$1
shift
mount --bind "$root" "$root"
for name in proc sys dev; do mount --rbind "/$name" "$root/$name"; done
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mkdir -p "$root/mnt"
while [ "$1" != -- ]; do
  mkdir -p "$root$1"
  mount --bind "$1" "$root$1"
  shift
done
shift
cp --remove-destination /etc/resolv.conf "$root/etc/resolv.conf"
cd "$root"
pivot_root . mnt
umount -l /mnt
cd /
exec "$@"
"""


@cache
def this_release() -> str:
    """The release of this machine, or of the root that we are in; "" for one that is not Debian's."""
    try:
        lines = Path("/etc/os-release").read_text().splitlines()
    except OSError:
        return ""
    said = {name: value.strip('"') for name, _, value in (line.partition("=") for line in lines)}
    return f"Debian {said.get('VERSION_ID', 'sid')}" if said.get("ID") == "debian" else ""


def is_entered(suite: str) -> bool:
    """Whether we are in the root of that suite."""
    return os.environ.get(_ENTERED) == suite


def enter(suite: str, cache_directory: Path, argv: list[str], *, make: bool) -> NoReturn:
    """Runs scripts/programs with these arguments in the root of a suite, which is made if it is not there and `make` is
    set. As root. Raises ProgramsError.
    """
    root = provide(suite, cache_directory, f"scripts/programs --release {suite} --install", make=make)
    environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8", "HOME": "/root", _ENTERED: suite}
    environment |= {"PYTHONDONTWRITEBYTECODE": "1", "DEBIAN_FRONTEND": "noninteractive"}
    program = [PYTHON, str(REPOSITORY / "scripts" / "program.py"), "program_matrix", *argv]
    command = command_in(root, [REPOSITORY], program)
    os.execvpe(command[0], command, environment)


def provide(suite: str, cache_directory: Path, how: str, *, make: bool) -> Path:
    """The root of a suite, which is made if it is not there and `make` is set; else `how` is said to make it. As root.
    Raises ProgramsError.
    """
    root = cache_directory / "roots" / suite
    if os.geteuid() != 0:
        raise ProgramsError("only root can run them in the root of another release")
    if not root.exists():
        if not make:
            raise ProgramsError(f"no root of {suite} is here; get it with: {how}")
        _bootstrap(suite, root)
    return root


def command_in(root: Path, directories: Sequence[Path], command: Sequence[str]) -> list[str]:
    """A command that runs another one in a root, where these directories of the machine are as well."""
    return ["unshare", "-m", "sh", "-c", _PROLOGUE, "sh", str(root), *map(str, directories), "--", *command]


def _bootstrap(suite: str, root: Path) -> None:
    """Makes a root with little more than Python, in which no service is started."""
    if shutil.which("debootstrap") is None:
        try:
            debian_packages.install("programs", ["debootstrap"])
        except debian_packages.PackagesError as error:
            raise ProgramsError(str(error)) from None
    unfinished = root.with_name(f"{suite}.new")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    command = ["debootstrap", "--variant=minbase", "--include=ca-certificates,python3", suite, str(unfinished)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = ((done.stderr or done.stdout).strip().splitlines() or ["it said nothing"])[-1]
        raise ProgramsError(f"debootstrap {suite}: {last}")
    policy = unfinished / "usr/sbin/policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    unfinished.rename(root)
