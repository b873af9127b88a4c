"""sd_notify."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from cgroup_engine.run.events import Complaint, Event, Reconciled, Started, Stopping, Waiting
from cgroup_engine.run.notify import Notify

EVENTS: list[Event] = [
    Started("/cg", "v2", "kubepods", dry_run=False),
    Reconciled("start", 0.1, {"Burstable": 2}),
    Complaint("x"),
    Waiting(60),
    Stopping("SIGTERM"),
]


@pytest.mark.parametrize("abstract", [False, True])
def test_systemd_hears_when_it_is_ready_alive_and_stopping(tmp_path: Path, abstract: bool) -> None:
    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
        end.bind("\0" + path if abstract else path)
        end.settimeout(1)
        notify = Notify({"NOTIFY_SOCKET": "@" + path if abstract else path})
        for event in EVENTS:
            notify.hear(event)
        heard = [end.recv(1000).decode() for _ in range(4)]
    assert heard == [
        "READY=1\nSTATUS=has not seen its pods yet",
        "STATUS=2 pods: as wanted",
        "WATCHDOG=1",
        "STOPPING=1\nSTATUS=SIGTERM",
    ]


def test_without_systemd_no_socket_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    monkeypatch.setattr(socket, "socket", made.append)
    for event in EVENTS:
        Notify({}).hear(event)
    assert made == []


def test_a_socket_that_is_gone_is_no_error(tmp_path: Path) -> None:
    notify = Notify({"NOTIFY_SOCKET": str(tmp_path / "none")})
    for event in EVENTS:
        notify.hear(event)
    assert list(tmp_path.iterdir()) == []
