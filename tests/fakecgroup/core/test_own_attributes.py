"""What one object of a class has alone takes no room in the others."""

from __future__ import annotations

import tracemalloc

from fakecgroup.core.own_attributes import keep_apart

_MANY = 500


def _bytes_of_others(*, apart: bool) -> int:
    """Of many objects, made after one that has many more attributes."""

    class Made:
        def __init__(self) -> None:
            self.name = None

    one = Made()
    if apart:
        keep_apart(one)
    for number in range(20):
        setattr(one, f"attribute{number}", None)
    others = [Made() for _ in range(50)]  # Python leaves room for names until it has seen some objects
    tracemalloc.start()
    others = [Made() for _ in range(_MANY)]
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(others) == _MANY
    return used


def test_an_object_that_is_kept_apart_makes_the_others_smaller() -> None:
    assert _bytes_of_others(apart=True) < _bytes_of_others(apart=False) - 100 * _MANY


def test_it_keeps_the_attributes_that_it_has() -> None:
    class Made:
        pass

    one = Made()
    one.name = "kept"  # type: ignore[attr-defined]
    keep_apart(one)
    assert vars(one) == {"name": "kept"}
