"""Makes a learnt kernel's file of a kernel's answers."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fakecgroup.conformance.learnt_answers import packed
from fakecgroup.conformance.nearest import ranked, recordings
from fakecgroup.conformance.recording import Recording
from fakecgroup.conformance.replay import Difference, replay
from fakecgroup.conformance.seen_files import options, seen_files
from fakecgroup.conformance.target_learnt import LearntTarget
from fakecgroup.machine.learnt import FORMAT, LearntKernel, parse
from fakecgroup.machine.personality import PERSONALITIES, SeenFiles

#: Of the known kernels, the rules of so many are tried: those of the nearest recordings.
_TRIED = 2


def learn(
    kernel: Mapping[str, str],
    machine: Mapping[str, Any],
    date: str,
    observed: frozenset[str],
    answered: Sequence[Recording],
    called: str = "learnt",
    report: Callable[[str], None] = lambda line: None,
) -> bytes:
    """The bytes of a learnt kernel's file.

    `kernel` has its `release` as in uname(2), and what else is to be told: `package`, `version`. `machine` is the one
    that was asked, as a recording's header has it. `observed` are the build options that are known from elsewhere.
    `answered` has one recording per layout. The rules are those of the known kernel with which the model answers most
    like it, or those that are known of its own version, if it is between two of these. Raises LearntError.
    """
    sides = [(dfl, seen_files(answered, dfl=dfl)) for dfl in (True, False)]
    whole: dict[str, Any] = {
        "format": FORMAT,
        "kernel": dict(kernel),
        "date": date,
        "machine": {
            name: machine[name] for name in ("cpus", "nodes", "memory", "swap", "block_devices") if name in machine
        },
        "config": sorted(options(observed, sides)),
        **{"v2" if dfl else "v1": _as_json(seen) for dfl, seen in sides if seen is not None},
        "layouts": {},
    }
    for one in answered:
        whole["layouts"][one.layout] = _layout(whole, one, called, report)
    return _bytes(whole)


def _layout(
    whole: Mapping[str, Any], answered: Recording, called: str, report: Callable[[str], None]
) -> dict[str, Any]:
    """One layout of the file: of the rules that are tried, those with the fewest gaps."""
    known = {one.kernel: one for one in recordings(answered.layout) if one.kernel in _KNOWN}
    nearest = [one.kernel for one in ranked(answered, known.values())]
    base = known[next((kernel for kernel in nearest if _has_all(known[kernel], answered)), nearest[0])]
    layout = {"answers": packed(answered, base)}
    tried = []
    for kernel in dict.fromkeys([*nearest[:_TRIED], *_own_version(answered.kernel)]):
        played = {**whole, "layouts": {answered.layout: {**layout, "rules": kernel, "gaps": {}}}}
        tried.append((kernel, gaps(parse(_bytes(played), called), answered)))
    rules, found = min(tried, key=lambda pair: len(pair[1]))
    report(f"{answered.layout}: nearest is {nearest[0]}; with the rules of {rules}, {len(found)} operations differ")
    numbers: dict[str, list[int]] = {}
    for difference in found:
        numbers.setdefault(difference.case.name, []).append(difference.index)
    return {"rules": rules, **layout, "gaps": numbers}


def _own_version(release: str) -> list[str]:
    """The version of a release, if it is between the oldest known kernel's and the newest one's."""
    found = re.match(r"(\d{1,4})\.(\d{1,4})", release)
    version = (int(found[1]), int(found[2])) if found else (0, 0)
    return ["{}.{}".format(*version)] if min(PERSONALITIES) < version < max(PERSONALITIES) else []


def gaps(learnt: LearntKernel, answered: Recording) -> list[Difference]:
    """The operations that the model, playing a learnt kernel, answers otherwise."""
    target = LearntTarget(answered.layout, learnt)
    return [difference for one in answered.cases for difference in replay(one, target).differences]


def _has_all(base: Recording, answered: Recording) -> bool:
    there = {one.case.digest for one in base.cases}
    return all(one.case.digest in there for one in answered.cases)


_KNOWN = {personality.name for personality in PERSONALITIES.values()}


def _as_json(seen: SeenFiles) -> dict[str, list[str]]:
    lists = {"controllers": seen.controllers, "root": seen.root, "child": seen.child}
    return {name: sorted(names) for name, names in lists.items() if names is not None}


def _bytes(whole: Mapping[str, Any]) -> bytes:
    """The same content always gives the same bytes."""
    return gzip.compress(json.dumps(whole, separators=(",", ":")).encode(), 9, mtime=0)
