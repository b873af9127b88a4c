"""The parts of pages that are made from the code, and where a page asks for one.

`<!-- generated: controller cpu -->` on a line of its own is replaced by what `PARTS["controller"]("cpu")` returns.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from . import commands, conformance_cases, controllers, fleet_rules, kernels, metrics, python_names, rooms, system_calls

PARTS: dict[str, Callable[..., str]] = {
    "commands": commands.page,
    "controller": controllers.page,
    "kernels": kernels.page,
    "cases": conformance_cases.page,
    "system-calls": system_calls.page,
    "metrics": metrics.page,
    "model": python_names.model,
    "rooms": rooms.page,
    "fixtures": python_names.fixtures,
    "engine": python_names.engine,
    "fleet-rules": fleet_rules.page,
}

_ASKED = re.compile(r"^<!-- generated: (?P<part>[\w-]+)(?: (?P<argument>[\w-]+))? -->$", re.MULTILINE)


def filled(text: str) -> str:
    """A page with its generated parts. Raises ValueError for a part that is not there."""

    def part(asked: re.Match[str]) -> str:
        if asked["part"] not in PARTS:
            raise ValueError(f"no generated part {asked['part']!r}: there are {', '.join(PARTS)}")
        return PARTS[asked["part"]](*([asked["argument"]] if asked["argument"] else []))

    return _ASKED.sub(part, text)
