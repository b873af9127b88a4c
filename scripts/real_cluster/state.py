"""Where a cluster's files are, and whether it runs."""

from __future__ import annotations

import fcntl
import os
import re
import select
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import ClusterError
from .network import MOST_NODES

CONTROL_PLANE = "control-plane"
_LONGEST_SOCKET = 107  # bytes of its path (unix(7))
_SPACE = 256 << 20  # bytes; etcd alone takes 64 MiB twice before it has anything to keep
_PATIENCE = 60.0  # seconds for all processes of a cluster to end


class State:
    """The directory of a cluster. It runs as long as its keeper holds the lock there."""

    def __init__(self, name: str) -> None:
        """Raises ClusterError for a name that is not one of lower-case letters, digits and "-"."""
        if not re.fullmatch("[a-z0-9][a-z0-9-]{0,30}", name):
            raise ClusterError(f"{name!r} is no name for a cluster: take up to 31 of a-z, 0-9 and -")
        base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
        self.name = name
        self.directory = Path(base) / "fakecgroup" / "clusters" / name

    @property
    def kubeconfig(self) -> Path:
        """The administrator's, for programs of this machine."""
        return self.directory / "kubeconfig"

    def nodes(self) -> list[Path]:
        """The directories of the nodes. Raises ClusterError."""
        self.check_running()
        return sorted((self.directory / "nodes").iterdir(), key=lambda node: int(node.name.removeprefix("node-")))

    def node(self, name: str) -> Path:
        """The directory of a node. Raises ClusterError."""
        nodes = self.nodes()
        for node in nodes:
            if node.name == name:
                return node
        raise ClusterError(f"no node {name!r}; there are {', '.join(node.name for node in nodes)}")

    def commands(self, name: str) -> Path:
        """Where a node, or the control plane, takes commands. Raises ClusterError."""
        return (self.directory if name == CONTROL_PLANE else self.node(name)) / "commands"

    def check_running(self) -> None:
        """Raises ClusterError if it does not run."""
        if not self.is_running():
            raise ClusterError("no cluster runs; start one with: scripts/cluster up")

    def make(self) -> int:
        """Makes the directory; a descriptor that holds the lock. What a killed cluster has left there goes first.

        Raises ClusterError if one runs.
        """
        longest = self.directory / "nodes" / f"node-{MOST_NODES}" / "commands"
        if len(os.fsencode(longest)) > _LONGEST_SOCKET:
            raise ClusterError(f"{self.directory}: too long for sockets in it; set XDG_STATE_HOME to a shorter path")
        self.directory.parent.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(self.directory.parent).free
        if free < _SPACE:
            raise ClusterError(f"{self.directory.parent}: {free >> 20} MiB are free, and it takes {_SPACE >> 20} MiB")
        with self._alone():
            if self.is_running():
                raise ClusterError("there is a cluster already; end it first: scripts/cluster down")
            if self.directory.exists():
                shutil.rmtree(self.directory)
            self.directory.mkdir(mode=0o700)
            lock = os.open(self.directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(lock, fcntl.LOCK_EX)
        return lock

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """No other `up` or `down` makes or removes a directory meanwhile, so none takes a new one for a left one."""
        parent = os.open(self.directory.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(parent, fcntl.LOCK_EX)
            yield
        finally:
            os.close(parent)

    def is_running(self) -> bool:
        try:
            lock = os.open(self.directory / "lock", os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(lock)
        return False

    def remove(self) -> bool:
        """Ends the cluster if it runs, and removes the directory. False if there was none. Raises ClusterError."""
        if not self.directory.exists():
            return False
        if self.is_running():
            self._end()
        with self._alone():
            if self.directory.exists() and not self.is_running():
                shutil.rmtree(self.directory)
        return True

    def _end(self) -> None:
        """Kills the keeper, process 1 of its namespace. The kernel kills all others there before the parent hears.

        The parent is `unshare`, whose number is in the file `pid`.
        """
        parent = self._parent()
        if parent is None:
            return
        try:
            watched = os.pidfd_open(parent)
        except ProcessLookupError:
            return
        try:
            children = Path(f"/proc/{parent}/task/{parent}/children")
            for process in [*map(int, children.read_text().split()), *([] if children.read_text() else [parent])]:
                os.kill(process, signal.SIGKILL)
            if not select.select([watched], [], [], _PATIENCE)[0]:
                raise ClusterError(f"process {parent} does not end")
        except (FileNotFoundError, ProcessLookupError):
            pass
        finally:
            os.close(watched)

    def _parent(self) -> int | None:
        """Waits for the number, as `up` writes it in a moment, or does not and ends the keeper. None if that has ended.

        Raises ClusterError.
        """
        end = time.monotonic() + _PATIENCE
        while self.is_running():
            file = self.directory / "pid"
            if file.exists() and (text := file.read_text()):
                return int(text)
            if time.monotonic() > end:
                raise ClusterError(f"it runs, but its process is not in {file}")
            time.sleep(0.05)
        return None
