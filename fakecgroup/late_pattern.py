"""Regular expressions that are compiled when they are first used. Some take 0.5 ms, and a start uses none."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import AnyStr


def pattern(text: AnyStr, flags: int = 0) -> Callable[[], re.Pattern[AnyStr]]:
    """Gives the compiled expression, each time the same."""

    @cache
    def compiled() -> re.Pattern[AnyStr]:
        return re.compile(text, flags)

    return compiled
