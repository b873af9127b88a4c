"""Debian's kernels: found with apt, unpacked into a cache directory, never installed."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from fakecgroup_mount.vm.cache import locked
from fakecgroup_mount.vm.errors import MachineError
from fakecgroup_mount.vm.kernels import FACTS, Kernel, cached, home_of, number_and_architecture

from .apt import Apt, first, run

#: The suite that carries each kernel series.  The newest package of the suite is taken.
SUITES = {"5.10": "bullseye", "6.1": "bookworm", "6.12": "trixie", "7.2": "sid"}


def needed(series: str, report: Callable[[str], None]) -> Kernel:
    """The unpacked kernel of a series, which is fetched if it is not here. Raises MachineError."""
    home = home_of(series)
    with locked(home):
        if not (home / FACTS).exists():
            report(f"fetching kernel {series} (about 30 MB)")
            _fetch(series, home)
        return _load(series)


def fetch(series: str) -> Kernel:
    """Downloads and unpacks the newest cloud kernel of a series (about 30 MB), from the machine's Debian mirror.

    Raises MachineError where apt cannot get it, and where the suite has moved on to another series.
    """
    home = home_of(series)
    with locked(home):
        _fetch(series, home)
        return _load(series)


def _load(series: str) -> Kernel:
    kernel = cached(series)
    assert kernel is not None, "it was fetched"
    return kernel


def _fetch(series: str, home: Path) -> None:
    (home / FACTS).unlink(missing_ok=True)
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
    (home / FACTS).write_text(json.dumps(facts, indent=1) + "\n")
