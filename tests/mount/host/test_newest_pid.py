"""The last pid that was given out, and which pids came after one."""

from __future__ import annotations

import subprocess

import pytest

from fakecgroup_mount.host.newest_pid import FILES, NewestPid


@pytest.mark.parametrize("missing", range(len(FILES)))
def test_a_process_that_was_made_since_is_known_by_its_pid(missing: int) -> None:
    pids = NewestPid(FILES[missing:])
    with subprocess.Popen(["sleep", "100"]) as older:
        then = pids.read()
        with subprocess.Popen(["sleep", "100"]) as newer:
            since = [pids.is_since(process.pid, then) for process in (older, newer)]
            newer.kill()
        older.kill()
    assert since == [False, True]


@pytest.mark.parametrize(("pid", "since"), [(998, False), (999, False), (1000, True), (2, True), (3, True), (4, False)])
def test_pids_begin_again_at_the_lowest(pid: int, since: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NewestPid, "read", lambda self: 3)
    assert NewestPid().is_since(pid, 999) is since
