"""How long a machine has been silent: without the time that it waited for a CPU of a busy host."""

from __future__ import annotations

import time
from pathlib import Path


class Silence:
    """Counts the seconds since the last sign of life of a process, QEMU's."""

    def __init__(self, pid: int) -> None:
        self._threads = Path(f"/proc/{pid}/task")
        self.ends()

    def ends(self) -> None:
        """The process has given a sign of life."""
        self._since = time.monotonic()
        self._waited = _waited(self._threads)

    def seconds(self) -> float:
        """Since the last sign of life, without what the thread that waited longest has waited for a CPU."""
        now = _waited(self._threads)
        waited = max((now[thread] - self._waited.get(thread, 0) for thread in now), default=0)
        return time.monotonic() - self._since - waited / 1e9


def _waited(threads: Path) -> dict[str, int]:
    """Nanoseconds that each thread was ready and did not run (schedstat); none where the host does not count them."""
    found = {}
    for file in threads.glob("*/schedstat"):
        try:
            found[file.parent.name] = int(file.read_text().split()[1])
        except (OSError, ValueError, IndexError):
            continue  # the thread has ended
    return found
