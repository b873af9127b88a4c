"""The tree that the fixture `cgroupfs` gives."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PosixPath
from typing import Any

from fakecgroup import Kill, Workload
from fakecgroup.simulation.clock import to_ns
from fakecgroup_mount.control.client import ask_at
from fakecgroup_mount.control.directory import CONTROL_XATTR
from fakecgroup_mount.control.errors import CommandError
from fakecgroup_mount.control.tracing_client import start_trace, stop_trace
from fakecgroup_mount.record.options import DEFAULT_LIMIT, parse_limit
from fakecgroup_mount.testing.tree_fault import TreeFault


class CgroupTree(PosixPath):
    """The mount point of a tree. Paths below it are paths and nothing more.

    Time stands still in the tree, but for what it is advanced by. Real processes live on meanwhile. The methods raise
    MountError if the daemon of the tree has ended.
    """

    _control: str | None = None

    def spawn(self, cgroups: str | Path | Sequence[str | Path], workload: Workload) -> list[int]:
        """Starts the processes of a workload in a cgroup, on v1 in one of each hierarchy that matters.

        A cgroup is a text such as "/app", from the root of the tree, or a path in the tree. Returns the pids.

        Raises OSError as a write to cgroup.procs would, and ValueError for a path elsewhere and for a block device that
        the machine does not have. Nothing is left of the processes then.
        """
        given = [cgroups] if isinstance(cgroups, (str, Path)) else list(cgroups)
        paths = [self._below(path) for path in given]
        told = self._ask("workload spawn", cgroups=json.dumps(paths), words=json.dumps(workload.words))
        if "errno" in told:
            raise OSError(told["errno"], os.strerror(told["errno"]), ", ".join(map(str, given)))
        if "wrong" in told:
            raise ValueError(told["wrong"])
        return list(told["pids"])

    def advance(self, seconds: float) -> None:
        """Lets time pass: simulated processes live for `seconds`, and pollers and watchers of files are woken.

        Who is woken finds the tree as it is at the end. Raises ValueError for negative times.
        """
        self._ask("workload advance", ns=str(to_ns(seconds)))

    @property
    def kills(self) -> tuple[Kill, ...]:
        """The simulated processes that were killed so far, in order."""
        rows = self._ask("workload kills")["kills"]
        return tuple(Kill(time, pid, name, tuple(cgroups)) for time, pid, name, cgroups in rows)

    @contextmanager
    def trace(self, file: str | Path, *, limit: int | str = DEFAULT_LIMIT) -> Iterator[None]:
        """Records meanwhile what is done to the tree, as `fakecgroup ctl TREE trace start FILE` does.

        `fakecgroup.trace.files.replay_file` makes the calls again on other kernels. Raises ValueError for a limit that
        is no size.
        """
        start_trace(str(self), str(file), parse_limit(str(limit)))
        try:
            yield
        finally:
            stop_trace(str(self))

    def fault(self, rule: str, *, any_errno: bool = False) -> TreeFault:
        """Adds a rule such as "write */memory.max = 1*error(EBUSY)->off", for files that are opened from now on.

        It is in force until the tree is gone, `remove`, or the end of a `with`. Raises FaultError, a ValueError, for a
        rule that is wrong, impossible on this kernel (but for `any_errno`) or can never match.
        """
        from fakecgroup.faults import FaultError  # takes a while to load

        try:
            told = self._ask("fault add", text=rule, any_errno="yes" if any_errno else "")
        except CommandError as error:
            raise FaultError(str(error)) from None
        return TreeFault(told["id"], rule, self._ask)

    def _below(self, path: str | Path) -> str:
        return path if isinstance(path, str) else str(path.relative_to(self))

    def _ask(self, command: str, **arguments: str) -> Any:
        if self._control is None:
            try:
                self._control = os.fsdecode(os.getxattr(self, CONTROL_XATTR))
            except OSError as error:
                raise ValueError(f"{self} is no tree of the fixture cgroupfs: {error.strerror}") from None
        if not self._control:
            raise RuntimeError(f"{self}: the daemon of this tree has no control socket")
        return ask_at(self._control, str(self), command, arguments, patience=None)
