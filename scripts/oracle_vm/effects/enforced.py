"""Plays scenarios with real processes of this machine, under limits that `fakecgroup run` enforces."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fakecgroup_mount.vm.architecture import ARCHITECTURES
from fakecgroup_mount.vm.errors import MachineError

from .machine import player
from .plan import lines_of
from .record import recorded_of
from .recording import Recorded
from .seen import runs_of


@dataclass(frozen=True)
class Beside:
    """One number of a scenario: the mean of a kernel's runs, and what came out here."""

    name: str
    what: str
    seconds: float
    kernel: float
    here: float

    @property
    def error(self) -> float:
        """How far off it is, as a part of the greater; 0 for equal numbers."""
        return (self.here - self.kernel) / max(abs(self.kernel), abs(self.here), 1)


def enforced(recorded: Recorded, kernel: str, limits: str) -> Iterator[Beside]:
    """Plays a recorded scenario once. Raises MachineError."""
    entry, cpus = recorded.entry, len(os.sched_getaffinity(0))
    if entry.cpus > cpus:
        raise MachineError(f"{entry.name}: it is for {entry.cpus} CPUs, here are {cpus}")
    with tempfile.NamedTemporaryFile("w", prefix="fcg-plan-") as plan:
        plan.writelines(f"{line}\n" for line in lines_of(entry.name, entry, 1))
        plan.flush()
        here = next(name for name, one in ARCHITECTURES.items() if one.machine == platform.machine())
        words: list[str | Path] = [
            Path(sys.executable).with_name("fakecgroup"),
            "run",
            "--kernel",
            kernel,
            "--enforce",
            limits,
        ]
        words += ["--cpus", str(entry.cpus), "--", player(here), plan.name]
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise MachineError(f"{entry.name}: {done.stderr.strip() or f'it ended with {done.returncode}'}")
    seen = recorded_of(entry, runs_of(done.stdout.splitlines())).seen
    for one, (number,), runs in zip(entry.scenario.expect, seen, recorded.seen, strict=True):
        what = f"{one.file or 'killed'} {one.key or ''}".strip()
        yield Beside(entry.name, what, one.time / 1e9, sum(runs) / len(runs), number)
