"""A private apt: it finds and downloads packages of any Debian suite, and installs none."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from fakecgroup_mount.vm.errors import MachineError

_DEBIAN_SUITES = {"bullseye", "bookworm", "trixie", "forky", "sid", "stable", "testing", "unstable", "oldstable"}


class Apt:
    """Own sources, lists and cache in a directory; the machine's are not touched. Each method raises MachineError."""

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
        return first(re.findall(r"^Version: (\S+)", text, re.M), r".")

    def download(self, packages: list[str], target: Path) -> None:
        self._apt(["apt-get", "-q", "download", *packages], "downloading " + " ".join(packages), target)

    def download_with_dependencies(self, packages: list[str]) -> list[Path]:
        """The files of packages and of all that they depend on, as for an empty system."""
        command = ["apt-get", "-q", "-y", "--no-install-recommends", "--download-only", "install", *packages]
        self._apt(command, "downloading " + " ".join(packages))
        return sorted((self._home / "cache" / "archives").glob("*.deb"))

    def _apt(self, command: list[str], what: str, directory: Path | None = None) -> str:
        return run(command, what, self._environment, directory)


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
    raise MachineError("no Debian archive in /etc/apt/sources.list or sources.list.d; the kernels come from one")


def first(values: list[str], pattern: str) -> str:
    """The first value that matches. Raises MachineError."""
    for value in values:
        if re.match(pattern, value):
            return value
    raise MachineError(f"the archive has no package that matches {pattern}")


def run(command: list[str], what: str, environment: dict[str, str] | None = None, directory: Path | None = None) -> str:
    """What a command prints. Raises MachineError, with the last line of its stderr."""
    done = subprocess.run(command, env=environment, cwd=directory, capture_output=True, text=True)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise MachineError(f"{what} failed: {command[0]}: {last}")
    return done.stdout
