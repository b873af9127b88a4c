"""Debian's kernels: found with apt, unpacked into a cache directory, never installed."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .apt import Apt, first, run
from .cache import cache_directory, locked
from .errors import MachineError

#: The suite that carries each kernel series.  The newest package of the suite is taken.
SUITES = {"5.10": "bullseye", "6.1": "bookworm", "6.12": "trixie", "7.2": "sid"}
_FACTS = "kernel.json"


@dataclass(frozen=True)
class Kernel:
    """An unpacked kernel: ``series`` as users name it (6.12, 6.12/arm64), ``package`` and its Debian ``version``."""

    series: str
    package: str
    version: str
    vmlinuz: Path
    tree: Path

    @property
    def architecture(self) -> str:
        """Debian's name of it."""
        return number_and_architecture(self.series)[1]


def number_and_architecture(series: str) -> tuple[str, str]:
    """The two parts of what a user names: "6.12", "amd64" for "6.12"."""
    number, _, architecture = series.partition("/")
    return number, architecture or "amd64"


def needed(series: str, report: Callable[[str], None]) -> Kernel:
    """The unpacked kernel of a series, which is fetched if it is not here. Raises MachineError."""
    home = _home(series)
    with locked(home):
        if not (home / _FACTS).exists():
            report(f"fetching kernel {series} (about 30 MB)")
            _fetch(series, home)
        return _load(series, home)


def fetch(series: str) -> Kernel:
    """Downloads and unpacks the newest cloud kernel of a series (about 30 MB), from the machine's Debian mirror.

    Raises MachineError where apt cannot get it, and where the suite has moved on to another series.
    """
    home = _home(series)
    with locked(home):
        _fetch(series, home)
        return _load(series, home)


def _home(series: str) -> Path:
    return cache_directory() / "kernels" / series


def _load(series: str, home: Path) -> Kernel:
    facts = json.loads((home / _FACTS).read_text())
    tree = home / "tree"
    return Kernel(series, facts["package"], facts["version"], tree / facts["vmlinuz"], tree)


def _fetch(series: str, home: Path) -> None:
    (home / _FACTS).unlink(missing_ok=True)
    number, architecture = number_and_architecture(series)
    apt = Apt(home / "apt", SUITES[number], architecture)
    apt.update()
    image = first(apt.depends(f"linux-image-cloud-{architecture}"), r"linux-image-\d")
    if not image.startswith(f"linux-image-{number}."):
        raise MachineError(f"suite {SUITES[number]} has {image} now, not a {number} kernel")
    parts = [image, *(p for p in apt.depends(image) if re.match(r"linux-(binary|modules)-\d", p))]
    packages = home / "packages"
    shutil.rmtree(packages, ignore_errors=True)
    packages.mkdir(parents=True)
    apt.download(parts, packages)
    tree = home / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    for deb in sorted(packages.glob("*.deb")):
        run(["dpkg", "-x", str(deb), str(tree)], "unpacking a kernel package")
    found = [*tree.glob("boot/vmlinuz-*"), *tree.glob("usr/lib/modules/*/vmlinuz")]
    if not found:
        raise MachineError(f"no vmlinuz in {', '.join(parts)}")
    version = apt.version(image)
    shutil.rmtree(packages)
    facts = {"package": image, "version": version, "vmlinuz": str(found[0].relative_to(tree))}
    (home / _FACTS).write_text(json.dumps(facts, indent=1) + "\n")
