"""Where the model is known to do otherwise than a kernel, each with its reason.

The one list: the tests take these numbers as expected failures, and the page of effects shows them.
"""

from __future__ import annotations

from collections.abc import Mapping

#: By the kernel ("" for all), the scenario, and the number as `Compared.what` has it.
GAPS: Mapping[tuple[str, str, str], str] = {}


def reason(kernel: str, name: str, what: str) -> str | None:
    """Why a number is known to differ; None for one that is to agree."""
    return GAPS.get((kernel, name, what)) or GAPS.get(("", name, what))
