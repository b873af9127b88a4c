"""What /proc says of processes."""

from __future__ import annotations

import os
from pathlib import Path

_KUBELET = "kubelet"


class Proc:
    """A machine's processes; ``directory`` is where procfs is mounted."""

    def __init__(self, directory: Path = Path("/proc")) -> None:
        self.directory = directory

    def kubelets(self) -> list[int]:
        """The kubelets outside of containers: those in the pid namespace of process 1."""
        host = self._namespace(1)
        pids = (int(entry.name) for entry in self.directory.iterdir() if entry.name.isdigit())
        return sorted(pid for pid in pids if self._name(pid) == _KUBELET and self._namespace(pid) == host)

    def is_kernel_thread(self, pid: int) -> bool:
        """Has it no executable (isKernelPid)? A process that is gone has none either."""
        return self._link(pid, "exe") is None

    def _name(self, pid: int) -> str:
        try:
            return (self.directory / str(pid) / "comm").read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            return ""

    def _namespace(self, pid: int) -> str | None:
        return self._link(pid, "ns/pid")

    def _link(self, pid: int, name: str) -> str | None:
        try:
            return os.readlink(self.directory / str(pid) / name)
        except OSError:
            return None
