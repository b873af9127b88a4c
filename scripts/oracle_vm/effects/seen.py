"""What the guest saw, out of the lines that it said.

run NAME NUMBER
look NS                     then a line of a file each: = PATH LINE
event NUMBER NS             a listener had one then, since the start
counted NUMBER EVENTS       so many since the start, by this look
killed|exited TASK NS       when the guest's first process noticed, since the start
refused WHAT: WHY           a write, or the mount
late                        the tasks were not ready in time, and the run is played once more
done
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from fakecgroup_mount.vm.errors import MachineError

#: A run that only warms the machine up: its first tasks are slow.
WARM_UP = "warm-up"


@dataclass
class Run:
    """One run of a scenario: the lines of files by time (ns) and path, and the tasks that were killed and when (ns).

    `events` are times (ns) by the number of the listener.
    """

    name: str
    looks: dict[int, dict[str, list[str]]] = field(default_factory=dict)
    killed: list[tuple[str, int]] = field(default_factory=list)
    events: dict[int, list[int]] = field(default_factory=dict)


def runs_of(said: Iterable[str]) -> list[Run]:
    """The runs. Raises MachineError for a run that did not begin as it was to."""
    runs: list[Run] = []
    look: dict[str, list[str]] = {}
    looked = 0
    for line in said:
        word, _, rest = line.partition(" ")
        if word == "run":
            runs.append(Run(rest.split()[0]))
        elif word == "look":
            looked = int(rest)
            look = runs[-1].looks.setdefault(looked, {})
        elif word == "=":
            path, _, text = rest.partition(" ")
            look.setdefault(path, []).append(text)
        elif word == "killed":
            name, time = rest.split()
            runs[-1].killed.append((name, int(time)))
        elif word == "event":
            number, at = map(int, rest.split())
            runs[-1].events.setdefault(number, []).append(at)
        elif word == "counted":
            number, count = map(int, rest.split())
            known = runs[-1].events.setdefault(number, [])
            known += [looked] * (count - len(known))
        elif word == "late":
            runs.pop()
        elif word == "refused" and (not runs or runs[-1].name != WARM_UP):
            raise MachineError(f"{runs[-1].name if runs else 'the guest'}: {line}")
    return runs
