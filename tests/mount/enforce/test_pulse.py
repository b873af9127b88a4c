"""Whether a process has run since it was looked at."""

from __future__ import annotations

import os
import subprocess
import sys

from fakecgroup_mount.enforce.footprint import anon_bytes
from fakecgroup_mount.enforce.pulse import Pulse

from ...waiting import wait_until


def test_one_that_runs_is_looked_at() -> None:
    pulse = Pulse()
    assert pulse.look(os.getpid(), 0.0).anon > 0
    while sum(range(100_000)) and pulse.resting(os.getpid(), 1.0) is not None:
        pass  # until its clock has moved
    assert pulse.resting(os.getpid(), 1.0) is None


def test_one_that_sleeps_has_what_it_had() -> None:
    program = "import sys; sys.stdout.write('.'); sys.stdout.flush(); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-S", "-c", program], stdin=-1, stdout=-1, bufsize=0) as process:
        assert process.stdout is not None and process.stdin is not None
        process.stdout.read(1)
        pulse, now = Pulse(), 0.0

        def rests() -> bool:
            nonlocal now
            now += 1.0
            known = pulse.resting(process.pid, now)
            if known is None:
                pulse.look(process.pid, now)
            return known is not None and known.anon == anon_bytes(process.pid)

        wait_until(rests)
        pulse.keep([])
        assert pulse.resting(process.pid, now + 1) is None
        process.stdin.close()
