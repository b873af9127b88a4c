"""Debian's kernels: found with apt, unpacked into a cache directory, never installed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

#: The suite that carries each kernel series.  The newest package of the suite is taken.
SUITES = {"5.10": "bullseye", "6.1": "bookworm", "6.12": "trixie", "7.2": "sid"}

#: Programs the oracle runs, and the Debian package each of them comes from.
PROGRAMS = {
    "cpio": "cpio",
    "gcc": "gcc libc6-dev",
    "dpkg": "dpkg",
    "apt-get": "apt",
}


#: QEMU and its package, by Debian's name of what it emulates.
EMULATORS = {
    "amd64": ("qemu-system-x86_64", "qemu-system-x86"),
    "arm64": ("qemu-system-aarch64", "qemu-system-arm"),
}


class OracleError(Exception):
    """Something the oracle needs is missing or did not work; the text is one line for the user."""


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


def cache_directory() -> Path:
    """Where kernels and the guest are kept: ``$XDG_CACHE_HOME/fakecgroup``."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "fakecgroup"


def check_programs(architecture: str = "amd64") -> None:
    """Raise OracleError naming the packages to install, if a program is missing."""
    programs = [EMULATORS[architecture], *PROGRAMS.items()]
    missing = [package for program, package in programs if shutil.which(program) is None]
    if missing:
        raise OracleError(f"missing programs; install them as root: apt-get install {' '.join(missing)}")


def load(series: str) -> Kernel:
    """The unpacked kernel of a series; OracleError if it was not fetched."""
    about = cache_directory() / "kernels" / series / "kernel.json"
    try:
        facts = json.loads(about.read_text())
    except FileNotFoundError:
        raise OracleError(f"kernel {series} is not here; get it with: scripts/oracle fetch {series}") from None
    tree = about.parent / "tree"
    return Kernel(series, facts["package"], facts["version"], tree / facts["vmlinuz"], tree)


def fetch(series: str) -> Kernel:
    """Download and unpack the newest cloud kernel of a series (about 30 MB; the machine's mirror).

    Raises OracleError when apt cannot get it or when the suite has moved on to another series.
    """
    home = cache_directory() / "kernels" / series
    number, architecture = number_and_architecture(series)
    apt = Apt(home / "apt", SUITES[number], architecture)
    apt.update()
    image = _first(apt.depends(f"linux-image-cloud-{architecture}"), r"linux-image-\d")
    if not image.startswith(f"linux-image-{number}."):
        raise OracleError(f"suite {SUITES[number]} has {image} now, not a {number} kernel")
    parts = [image, *(p for p in apt.depends(image) if re.match(r"linux-(binary|modules)-\d", p))]
    packages = home / "packages"
    shutil.rmtree(packages, ignore_errors=True)
    packages.mkdir(parents=True)
    apt.download(parts, packages)
    tree = home / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    for deb in sorted(packages.glob("*.deb")):
        _run(["dpkg", "-x", str(deb), str(tree)], "unpacking a kernel package")
    found = [*tree.glob("boot/vmlinuz-*"), *tree.glob("usr/lib/modules/*/vmlinuz")]
    if not found:
        raise OracleError(f"no vmlinuz in {', '.join(parts)}")
    version = apt.version(image)
    shutil.rmtree(packages)
    facts = {"package": image, "version": version, "vmlinuz": str(found[0].relative_to(tree))}
    (home / "kernel.json").write_text(json.dumps(facts, indent=1) + "\n")
    return load(series)


class Apt:
    """A private apt: own sources, lists and cache, so that the machine's own are not touched."""

    def __init__(self, home: Path, suite: str, architecture: str) -> None:
        self._home = home
        for part in ("lists/partial", "cache/archives/partial"):
            (home / part).mkdir(parents=True, exist_ok=True)
        (home / "status").touch()
        sources = [f"deb {_archive(False)} {suite} main"]
        if suite != "sid":
            sources.append(f"deb {_archive(True)} {suite}-security main")
        (home / "sources.list").write_text("\n".join(sources) + "\n")
        settings = {
            "Dir::Etc::sourcelist": home / "sources.list",
            "Dir::Etc::sourceparts": "-",
            "Dir::State": home,
            "Dir::State::lists": home / "lists",
            "Dir::State::status": home / "status",
            "Dir::Cache": home / "cache",
            "Acquire::Languages": "none",
            "Acquire::Check-Valid-Until": "false",
            "APT::Architecture": architecture,
        }
        lines = [f'{name} "{value}";' for name, value in settings.items()]
        (home / "apt.conf").write_text("\n".join(lines) + "\n")
        self._environment = {**os.environ, "APT_CONFIG": str(home / "apt.conf")}

    def update(self) -> None:
        self._apt(["apt-get", "-q", "update"], "reading the package lists")

    def depends(self, package: str) -> list[str]:
        text = self._apt(["apt-cache", "depends", package], f"looking up {package}")
        return re.findall(r"^\s*\|?Depends: (\S+)", text, re.M)

    def version(self, package: str) -> str:
        text = self._apt(["apt-cache", "show", "--no-all-versions", package], f"looking up {package}")
        return _first(re.findall(r"^Version: (\S+)", text, re.M), r".")

    def download(self, packages: list[str], target: Path) -> None:
        self._apt(["apt-get", "-q", "download", *packages], "downloading " + " ".join(packages), target)

    def download_with_dependencies(self, packages: list[str]) -> list[Path]:
        """The files of packages and of all that they depend on, as for an empty system."""
        command = ["apt-get", "-q", "-y", "--no-install-recommends", "--download-only", "install", *packages]
        self._apt(command, "downloading " + " ".join(packages))
        return sorted((self._home / "cache" / "archives").glob("*.deb"))

    def _apt(self, command: list[str], what: str, directory: Path | None = None) -> str:
        return _run(command, what, self._environment, directory)


def _archive(security: bool) -> str:
    """The Debian archive that this machine's own apt sources name."""
    files = [Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*"))]
    for file in files:
        if not file.is_file():
            continue
        for address, suite in re.findall(
            r"^(?:deb (?:\[[^]]*\] )?|URIs: )(\S+)(?:\nSuites:)? (\S+)", file.read_text(), re.M
        ):
            is_security = "security" in suite
            if "debian" in address and suite.split("-")[0] in _DEBIAN_SUITES and is_security == security:
                return str(address)
    if security:
        return _archive(False).rstrip("/") + "-security"
    raise OracleError("no Debian archive in /etc/apt/sources.list or sources.list.d; the kernels come from one")


_DEBIAN_SUITES = {"bullseye", "bookworm", "trixie", "forky", "sid", "stable", "testing", "unstable", "oldstable"}


def _first(values: list[str], pattern: str) -> str:
    for value in values:
        if re.match(pattern, value):
            return value
    raise OracleError(f"the archive has no package that matches {pattern}")


def _run(
    command: list[str], what: str, environment: dict[str, str] | None = None, directory: Path | None = None
) -> str:
    done = subprocess.run(command, env=environment, cwd=directory, capture_output=True, text=True)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise OracleError(f"{what} failed: {command[0]}: {last}")
    return done.stdout
