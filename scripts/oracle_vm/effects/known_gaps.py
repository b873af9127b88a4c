"""Where the model is known to do otherwise than a kernel, each with its reason.

The one list: the tests take these numbers as expected failures, and the page of effects shows them.
"""

from __future__ import annotations

from collections.abc import Mapping

_SLICES = (
    "tasks run in slices of 3 to 4 ms: with a few ms in 20 ms a group is throttled at times though its share is below "
    "its quota, or misses a turn; the model is fluid"
)

#: By the kernel ("" for all), the scenario, and the number as `Compared.what` has it.
GAPS: Mapping[tuple[str, str, str], str] = {
    ("", "tree-1-04", "a/cpu.stat usage_usec"): _SLICES,
    ("", "tree-1-08", "a/b/a/cpu.stat usage_usec"): _SLICES,
    ("", "tree-1-44", "b/cpu.stat usage_usec"): _SLICES,
}


def reason(kernel: str, name: str, what: str) -> str | None:
    """Why a number is known to differ; None for one that is to agree."""
    return GAPS.get((kernel, name, what)) or GAPS.get(("", name, what))
