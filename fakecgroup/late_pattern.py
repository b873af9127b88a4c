"""Regular expressions that are compiled when they are first used. Some take 0.5 ms, and a start uses none."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import AnyStr

_known: list[Callable[[], object]] = []


def pattern(text: AnyStr, flags: int = 0) -> Callable[[], re.Pattern[AnyStr]]:
    """Gives the compiled expression, each time the same."""

    @cache
    def compiled() -> re.Pattern[AnyStr]:
        return re.compile(text, flags)

    _known.append(compiled)
    return compiled


def compile_all() -> None:
    """Compiles those of all modules that are loaded."""
    for compiled in _known:
        compiled()
