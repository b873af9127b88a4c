"""Runs commands with a tree by `fakecgroup run`."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from fakecgroup_mount.seccomp.syscalls import ARCHITECTURES

from ..conftest import run

Sandboxed = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def sandboxed(fuse: None, state_home: object) -> Sandboxed:
    """Runs a sh script in front of a tree with options such as layout="v1"; its exit status, stdout and stderr."""
    if platform.machine() not in ARCHITECTURES:
        pytest.skip(f"fakecgroup run is for {' and '.join(ARCHITECTURES)}")
    tried = subprocess.run(["unshare", "-Urm", "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"no user namespaces here: {tried.stderr.strip()}")

    def sandboxed(script: str, *, timeout: int = 100, input: str | None = None, **options: str) -> Any:
        stdin = {} if input is None else {"stdin": None, "input": input}
        command = [*(f"--{name}={value}" for name, value in options.items()), "--", "sh", "-c", script]
        return run("run", *command, timeout=timeout, **stdin)

    return sandboxed


def said(done: subprocess.CompletedProcess[str]) -> str:
    """The output of a script that has worked and had nothing to complain about."""
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout
