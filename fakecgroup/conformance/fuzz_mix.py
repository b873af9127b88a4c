"""Random operations of several kinds, as all random cases about one subject mix them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

Ops = list[tuple[Any, ...]]
#: How often operations of a kind come, beside others, and who writes some.
Kind = tuple[float, Callable[[], Ops]]


def mix(chance: random.Random, kinds: Sequence[Kind], result: Ops, length: int) -> None:
    """Adds to ``result`` until it has ``length`` operations or some more; how often each kind comes differs by case."""
    weights = [weight * chance.choice((0.5, 1, 1, 2)) for weight, _ in kinds]
    while len(result) < length:
        ((_, write),) = chance.choices(kinds, weights)
        result += write()
