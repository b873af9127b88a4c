"""Asks a target recorded cases as if nobody knew the answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from fakecgroup.conformance.case import Answer, Case
from fakecgroup.conformance.normalise import Normaliser
from fakecgroup.conformance.recording import NOT_ASKED, VARIES, Recording
from fakecgroup.conformance.replay import same
from fakecgroup.conformance.target import Target, UnsupportedError


def ask_again(target: Target, recorded: Recording, progress: Callable[[int, int], None]) -> Recording:
    """What a target answers to the cases of a recording.

    A case with an answer that differs from the recording's is asked twice: what is not the same then is VARIES.  What
    the target cannot do is NOT_ASKED; a case of which nothing could be asked is left out.
    """
    found = []
    for number, one in enumerate(recorded.cases, start=1):
        progress(number, len(recorded.cases))
        answers = asked(target, one.case)
        if not _agree(one.answers, answers):
            answers = settled(answers, asked(target, one.case))
        if any(answer != NOT_ASKED for answer in answers):
            found.append(replace(one, answers=tuple(answers), verdict="ok"))
    return replace(recorded, cases=tuple(found))


def settled(first: Sequence[Answer], second: Sequence[Answer]) -> list[Answer]:
    """The answers that two runs agree on; VARIES where they do not."""
    return [one if same(one, other) else VARIES for one, other in zip(first, second, strict=False)]


def _agree(expected: Sequence[Answer], answers: Sequence[Answer]) -> bool:
    return all(same(one, other) for one, other in zip(expected, answers, strict=False) if other != NOT_ASKED)


def asked(target: Target, case: Case) -> list[Answer]:
    """A target's answer to each operation of a case; NOT_ASKED where it cannot do the operation."""
    answers: list[Answer] = []
    target.start(case)
    try:
        normalise = Normaliser(target.pids)
        for op in case.ops:
            try:
                answers.append(normalise(op, target.do(op)))
            except UnsupportedError as reason:
                answers.append(NOT_ASKED)
                if reason.ends:
                    break
    finally:
        target.finish()
    return answers + [NOT_ASKED] * (len(case.ops) - len(answers))
