from __future__ import annotations

from pathlib import Path

import pytest

from .stand_in import StandIn


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """A program in QEMU's place, and an empty file for the guest."""
    directory = tmp_path / "bin"
    directory.mkdir()
    monkeypatch.setenv("PATH", str(directory), prepend=":")
    guest = tmp_path / "guest"
    guest.touch()
    monkeypatch.setattr("fakecgroup_mount.vm.asking.guest", lambda architecture: guest)
    return StandIn(directory)
