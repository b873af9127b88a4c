"""The answers of a learnt kernel, as its file has them: where they are those of a recording, only a check of it.

``base`` names the recording, ``same`` has a check of each case whose answers are all the same, ``different`` the
answers that are not, by the check of their case: ``[number, errno, value]``.  A check is of the case and of the
recording's answers.  Where either has changed since, the case counts as not asked.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from fakecgroup.conformance import recording
from fakecgroup.conformance.case import LAYOUTS, Answer
from fakecgroup.conformance.recording import NOT_ASKED, RecordedCase, Recording
from fakecgroup.conformance.replay import same
from fakecgroup.machine.learnt import LearntError, LearntKernel

_DIGITS = 8  # of a check: two cases of a layout have the same once in ten thousand kernels


def packed(answered: Recording, base: Recording) -> dict[str, Any]:
    """The ``answers`` of a learnt kernel's file. Cases that the base does not have are left out."""
    of_base = {one.case.digest: one for one in base.cases}
    alike: list[str] = []
    different: dict[str, Any] = {}
    for one in answered.cases:
        other = of_base.get(one.case.digest)
        if other is None or other.verdict != "ok" or all(answer == NOT_ASKED for answer in one.answers):
            continue
        check = _check(other)
        if one.verdict != "ok":
            different[check] = {"verdict": one.verdict, "answers": one.answers}
            continue
        changed = [
            [number, *mine]
            for number, (mine, theirs) in enumerate(zip(one.answers, other.answers, strict=True))
            if not same(theirs, mine)
        ]
        if changed:
            different[check] = changed
        else:
            alike.append(check)
    return {"base": base.kernel, "same": "".join(alike), "different": different}


def answers_of(learnt: LearntKernel, layout: str) -> Recording:
    """What a learnt kernel answered on a layout, as a recording. Raises LearntError."""
    one = learnt.layouts.get(layout)
    if one is None:
        raise LearntError(f"no layout {layout!r} in {learnt.called}: there is {', '.join(learnt.layouts)}")
    base = one.answers.get("base")
    if (layout, base) not in recording.available():
        raise LearntError(f"{learnt.called}: its answers on {layout} refer to a recording that is not here")
    loaded = recording.load(layout, str(base))
    try:
        cases = tuple(_unpacked(one.answers, loaded.cases))
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        raise LearntError(f"{learnt.called}: its answers on {layout} are damaged") from None
    header = {
        **learnt.about,
        "version": learnt.release,
        "machine": learnt.machine,
        "cases": len(cases),
        "operations": sum(len(case.case.ops) for case in cases),
    }
    return Recording(layout, learnt.release, header, cases)


def _unpacked(answers: Mapping[str, Any], base: Iterable[RecordedCase]) -> Iterable[RecordedCase]:
    text = answers["same"]
    alike = {text[at : at + _DIGITS] for at in range(0, len(text), _DIGITS)}
    different = answers["different"]
    for one in base:
        check = _check(one)
        if check in alike:
            yield one
            continue
        changed = different.get(check)
        if changed is None:
            continue
        if isinstance(changed, dict):
            given = tuple(_answer(error, value) for error, value in changed["answers"])
            yield RecordedCase(one.family, one.case, given[: len(one.case.ops)], str(changed["verdict"])[:20])
            continue
        mine = list(one.answers)
        for number, error, value in changed:
            if type(number) is not int or number < 0:
                raise ValueError(number)
            mine[number] = _answer(error, value)
        yield RecordedCase(one.family, one.case, tuple(mine))


def _answer(error: object, value: object) -> Answer:
    if error is not None and not isinstance(error, str):
        raise TypeError(error)
    return (error, value)


def _check(one: RecordedCase) -> str:
    text = json.dumps([one.case.digest, one.answers], separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def layouts_of(learnt: LearntKernel) -> list[str]:
    """The layouts that were learnt, in the order of ``LAYOUTS``."""
    return [layout for layout in LAYOUTS if layout in learnt.layouts]
