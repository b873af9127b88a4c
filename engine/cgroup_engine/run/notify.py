"""Tells systemd the state of ``run``, as sd_notify(3) does."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from contextlib import suppress

from cgroup_engine.run.events import Event, Reconciled, Started, Stopping, Waiting
from cgroup_engine.run.log import printable


class Notify:
    """Sends events to ``NOTIFY_SOCKET``; nothing without that variable.

    The service is ready when the keeper holds its lock and follows its source: an API server that is away must not keep
    a node from booting. Each turn of the loop is a sign of life for WatchdogSec=.
    """

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        name = environment.get("NOTIFY_SOCKET", "")
        self._address = "\0" + name[1:] if name.startswith("@") else name

    def hear(self, event: Event) -> None:
        if isinstance(event, Started):
            self._send("READY=1", "STATUS=has not seen its pods yet")
        elif isinstance(event, Waiting):
            self._send("WATCHDOG=1")
        elif isinstance(event, Stopping):
            self._send("STOPPING=1", f"STATUS={printable(event.signal)}")
        elif isinstance(event, Reconciled):
            failed = len(event.outcome.failed)
            what = (
                f"{failed} steps failed" if failed else f"{event.planned} steps to do" if event.planned else "as wanted"
            )
            self._send(f"STATUS={sum(event.pods.values())} pods: {what}")

    def _send(self, *lines: str) -> None:
        if not self._address:
            return
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as end:
            end.setblocking(False)
            end.sendto("\n".join(lines).encode(), self._address)
