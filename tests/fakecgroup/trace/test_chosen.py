"""Which calls are shown."""

from __future__ import annotations

import pytest

from fakecgroup.trace.call import Call
from fakecgroup.trace.chosen import Wanted

WRITE = Call(0.0, 7, "crun", "write", "pod/c1/memory.max", b"1", None, 1)
REFUSED = Call(0.0, 8, "runc", "rename", "pod", None, "EPERM", None, {"to": "other", "tid": 9})


@pytest.mark.parametrize(
    ("wanted", "write", "refused"),
    [
        (Wanted(), True, True),
        (Wanted(paths=("*/memory.*",)), True, False),
        (Wanted(paths=("oth*",)), False, True),
        (Wanted(pids=frozenset({7})), True, False),
        (Wanted(pids=frozenset({9})), False, True),
        (Wanted(names=("r*",)), False, True),
        (Wanted(operations=frozenset({"write", "open"})), True, False),
        (Wanted(errors=True), False, True),
        (Wanted(paths=("pod*",), errors=True), False, True),
    ],
)
def test_each_filter_leaves_out_what_it_says(wanted: Wanted, write: bool, refused: bool) -> None:
    assert (wanted.has(WRITE), wanted.has(REFUSED)) == (write, refused)
