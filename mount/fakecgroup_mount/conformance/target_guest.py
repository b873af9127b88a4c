"""A booted kernel as a target that takes one case after the other.

The guest answers many cases in one boot. So the first case of a batch has the whole batch asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fakecgroup.conformance.case import Answer, Case, Op
from fakecgroup.conformance.target import UnsupportedError
from fakecgroup_mount.vm.asking import AnsweredCase, ask
from fakecgroup_mount.vm.image import Image

#: Cases of a boot. A process that has some of them asks all, so a greater number makes more processes ask the same.
BATCH = 60


class GuestTarget:
    """Cases of one layout on a kernel image, on one of ``recording.MACHINES``."""

    def __init__(self, image: Image, machine: str, cases: Sequence[Case]) -> None:
        self._image = image
        self._machine = machine
        self._cases = list(cases)
        self._numbers = {case.name: number for number, case in enumerate(cases)}
        self._known: dict[str, AnsweredCase] = {}
        self._done: set[str] = set()

    @property
    def pids(self) -> Mapping[int, str]:
        return self._now.raw.pids

    def start(self, case: Case) -> None:
        """A case that is done again is asked again, alone. Raises MachineError."""
        if case.name not in self._known:
            first = self._numbers[case.name]
            batch = [case] if case.name in self._done else self._cases[first : first + BATCH]
            batch = [one for one in batch if one is case or one.name not in self._done | self._known.keys()]
            answered = ask(self._image, case.layout, batch, lambda text: None, self._machine)
            self._known.update((one.case.name, one) for one in answered)
        self._now = self._known.pop(case.name)
        self._done.add(case.name)
        self._index = -1

    def do(self, op: Op) -> Answer:
        """An operation that stopped the machine, or killed who asked, is answered "HANG" or "LOST", the last one."""
        ops, answers = self._now.case.ops, self._now.raw.answers
        self._index = next(index for index in range(self._index + 1, len(ops)) if ops[index] == op)
        if self._index < len(answers):
            return answers[self._index]
        if self._index == len(answers):
            return (self._now.verdict.upper(), None)
        raise UnsupportedError("the machine had stopped")

    def finish(self) -> None:
        """The guest has ended the case."""
