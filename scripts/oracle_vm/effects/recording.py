"""What kernels did in scenarios, as it is kept: a file per kernel, a line of JSON per scenario after one for all."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .catalogue import Entry

DIRECTORY = Path(__file__).resolve().parents[3] / "tests" / "fakecgroup" / "effects" / "recorded"
KERNELS = ("5.10", "6.1", "6.12", "7.2")


@dataclass(frozen=True)
class Recorded:
    """A scenario on a kernel.

    `seen`: of each expectation of the scenario what its file said, a number for each run. `killed`: the tasks that were
    killed in each run, in order. `heard`: of each listener when it had events in each run, ns since the start.
    """

    entry: Entry
    seen: list[list[float]]
    killed: list[list[str]]
    heard: list[list[list[int]]]

    def as_json(self) -> dict[str, Any]:
        """The line of the file."""
        seen = [[int(value) if value == int(value) else value for value in values] for values in self.seen]
        about: dict[str, Any] = {"name": self.entry.name, "scenario": self.entry.text, "seen": seen}
        if any(self.killed):
            about["killed"] = self.killed
        if self.heard:
            about["heard"] = self.heard
        return about


def path_of(kernel: str) -> Path:
    return DIRECTORY / f"effects-{kernel}.jsonl"


def head_of(kernel: str) -> dict[str, Any]:
    """The version that was asked, the date, and the machine; empty if there is no recording."""
    path = path_of(kernel)
    if not path.exists():
        return {}
    with open(path, encoding="utf-8") as file:
        head: dict[str, Any] = json.loads(file.readline())
    return head


def load(kernel: str) -> list[Recorded]:
    """The recorded scenarios of a kernel; none if it was not asked."""
    path = path_of(kernel)
    if not path.exists():
        return []
    found = []
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        row = json.loads(line)
        runs = len(row["seen"][0]) if row["seen"] else 0
        entry = Entry(row["name"], row["scenario"], runs)
        found.append(Recorded(entry, row["seen"], row.get("killed", [[]] * runs), row.get("heard", [])))
    return found


def save(kernel: str, head: dict[str, Any], recorded: list[Recorded]) -> Path:
    """Write a kernel's file anew."""
    path = path_of(kernel)
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [head, *(one.as_json() for one in recorded)]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return path
