"""The model in the scenarios that were played with real processes in booted kernels.

recorded/effects-VERSION.jsonl is written by `scripts/oracle effects`; docs/evidence/effects.md shows it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from oracle_vm.effects import known_gaps
from oracle_vm.effects.compare import compare
from oracle_vm.effects.recording import KERNELS, Recorded, load


def _recorded() -> Iterator[object]:
    for kernel in KERNELS:
        for one in load(kernel):
            yield pytest.param(kernel, one, id=f"{kernel}-{one.entry.name}")


@pytest.mark.parametrize(("kernel", "recorded"), list(_recorded()))
def test_the_model_does_what_the_kernel_did(kernel: str, recorded: Recorded) -> None:
    compared = compare(kernel, recorded)
    assert [str(one) for one in compared if not one.agrees and _reason(kernel, one.name, one.what) is None] == []


@pytest.mark.parametrize(("kernel", "name", "what"), sorted(known_gaps.GAPS))
def test_a_known_gap_is_still_one(kernel: str, name: str, what: str) -> None:
    found = [
        one
        for version in ([kernel] if kernel else KERNELS)
        for recorded in load(version)
        if recorded.entry.name == name
        for one in compare(version, recorded)
        if what in ("", one.what)
    ]
    assert any(not one.agrees for one in found), f"{name}: {what or 'all'} agrees: take it off the list"


def _reason(kernel: str, name: str, what: str) -> str | None:
    return known_gaps.reason(kernel, name, what)
