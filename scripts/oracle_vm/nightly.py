"""Random cases on all kernels and layouts in turn, for a given time, with fresh seeds."""

from __future__ import annotations

import itertools
import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from fakecgroup.conformance.fuzz import subjects
from fakecgroup.conformance.recording import PLAIN
from fakecgroup_mount.vm.errors import MachineError
from fakecgroup_mount.vm.kernels import Kernel

from .fuzz import FuzzOutcome, Report, fuzz
from .shrink import different_forms

#: Operations of one turn: some 20 s on a machine that has nothing else to do.
TURN = 4000
#: Differing cases of one turn that are made short.
MOST = 6


@dataclass(frozen=True)
class Turn:
    """One kernel and layout, and what the cases are about ("" for anything)."""

    kernel: Kernel
    layout: str
    about: str

    @property
    def title(self) -> str:
        return " ".join(part for part in (self.layout, self.kernel.series, self.about) if part)


def turns(personalities: Sequence[tuple[str, Kernel]]) -> list[Turn]:
    """Each layout and kernel once with any cases, and once for each subject that it has; kernels alternate."""
    every = [[Turn(kernel, layout, about) for about in ("", *subjects(layout, kernel.series))]
             for layout, kernel in personalities]  # fmt: skip
    return [turn for row in itertools.zip_longest(*every) for turn in row if turn is not None]


@dataclass
class NightTotals:
    """Counts of the turns so far. ``differing``: cases that the kernel and the model answered differently."""

    turns: int = 0
    operations: int = 0
    differing: int = 0


def nightly(
    every: Sequence[Turn],
    minutes: float,
    say: Callable[[str], None],
    report: Report,
    run: Callable[..., FuzzOutcome] = fuzz,
    clock: Callable[[], float] = time.monotonic,
) -> NightTotals:
    """Takes turns until the time is over; a turn that has begun is finished, and one is always made.

    `say` gets the lines of a case file: comments and cases.  A machine that does not come up costs its turn alone.
    """
    night = NightTotals()
    end = clock() + minutes * 60
    seeds = _fresh_seeds()
    for turn in itertools.cycle(every):
        seed = next(seeds)
        try:
            outcome = run(turn.kernel, turn.layout, TURN, seed, report, PLAIN, turn.about, MOST)
        except MachineError as error:
            say(f"# {turn.title}: seed {seed}: {error}")
        else:
            night.operations += outcome.tally.compared
            night.differing += len({difference.case.name for difference in outcome.tally.differences})
            for line in _lines(turn, seed, outcome):
                say(line)
        night.turns += 1
        if clock() >= end:
            break
    return night


def _fresh_seeds() -> Iterator[int]:
    chance = random.SystemRandom()
    while True:
        yield chance.randrange(1 << 31)


def _lines(turn: Turn, seed: int, outcome: FuzzOutcome) -> Iterator[str]:
    differing = len({difference.case.name for difference in outcome.tally.differences})
    about = f" --about {turn.about}" if turn.about else ""
    again = f"scripts/oracle fuzz --kernel {turn.kernel.series} --layout {turn.layout}{about}"
    counts = f"{outcome.tally.compared} operations, {differing} of {outcome.tally.cases} cases differ"
    yield f"# {turn.title}: {counts}: {again} --operations {TURN} --seed {seed}"
    for names, what in ((outcome.stopped, "stopped the machine"), (outcome.unsteady, "not the same twice")):
        if names:
            yield f"# {what}: {', '.join(names)}"
    for result in different_forms(outcome.shortest):
        difference = result.differences[0]
        yield f"# kernel {json.dumps(difference.expected)}, model {json.dumps(difference.got)}:"
        yield json.dumps(result.case.as_json())
