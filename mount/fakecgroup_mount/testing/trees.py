"""Mounts trees for the tests of one process, each with a daemon of its own."""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import tempfile
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from fakecgroup_mount.errors import MountError
from fakecgroup_mount.testing.tree import CgroupTree

_PATIENCE = 20  # seconds to unmount all trees


class Trees:
    """A connection to the server. It starts with the first tree and ends, with all trees, on exit. For one thread."""

    def __init__(self) -> None:
        self._server: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Trees:
        return self

    def __exit__(self, *_: object) -> None:
        if self._server is None:
            return
        self._connection.close()
        try:
            self._server.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._server.kill()
            self._server.wait()
        self._stderr.close()

    def mount(self, options: argparse.Namespace) -> CgroupTree:
        """Mounts a tree, and returns it. Raises MountError if the machine forbids it, RuntimeError for
        a bug.
        """
        if self._server is None:
            self._start()
        outcome, said = self._ask(("mount", options))
        if outcome == "refused":
            raise MountError(said)
        if outcome == "failed":
            raise RuntimeError(said)
        return CgroupTree(said)

    def take_down(self, path: Path) -> str:
        """Unmounts the tree at `path`, even if it is in use. Returns the daemon's complaints; "" without any."""
        return str(self._ask(("take down", str(path))))

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed in __exit__
        with theirs:
            self._server = subprocess.Popen(
                [sys.executable, "-m", "fakecgroup_mount.testing.server", str(theirs.fileno()), str(os.getpid())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._stderr,
                cwd="/",
                start_new_session=True,  # Ctrl-C goes to pytest only, which then unmounts the trees
            )
        self._connection = Connection(ours.detach())

    def _ask(self, request: tuple[str, object]) -> Any:
        try:
            self._connection.send(request)
            return self._connection.recv()
        except (EOFError, OSError):
            self._stderr.seek(0)
            said = self._stderr.read().decode(errors="replace").strip()
            raise RuntimeError(f"the process that mounts trees for tests has ended: {said or 'killed?'}") from None
