"""Our named tuples are Python's, made faster."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from inspect import signature
from typing import NamedTuple

import pytest

from fakecgroup import named_tuple


class Python(NamedTuple):
    x: int
    y: str | None
    z: tuple[int, ...] = ()

    @property
    def both(self) -> tuple[object, object]:
        return self.x, self.y


class Ours(named_tuple.NamedTuple):
    x: int
    y: str | None
    z: tuple[int, ...] = ()

    @property
    def both(self) -> tuple[object, object]:
        return self.x, self.y


class Further(Ours):
    """A class of one: with nothing of its own."""


@pytest.mark.parametrize(
    "ask",
    [
        lambda cls: cls(1, "a"),
        lambda cls: cls(y="a", x=1, z=(3,)),
        lambda cls: cls(1, "a").both,
        lambda cls: cls(1, "a")._replace(z=(4,)),
        lambda cls: cls(1, "a")._asdict(),
        lambda cls: cls._make("abc"),
        lambda cls: (cls._fields, cls._field_defaults, cls.__match_args__),
        lambda cls: (cls.__new__.__name__, tuple(signature(cls).parameters), cls(1, "a").z),
        lambda cls: (hash(cls(1, "a")), cls(1, "a") < cls(2, "a"), len(cls(1, "a"))),
        lambda cls: pickle.loads(pickle.dumps(cls(1, "a"))),
        lambda cls: repr(cls(1, "a")).removeprefix(cls.__name__),
        lambda cls: hasattr(cls(1, "a"), "__dict__"),
    ],
)
def test_they_do_what_pythons_do(ask: Callable[[type], object]) -> None:
    assert ask(Ours) == ask(Python)


@pytest.mark.parametrize(
    "ask",
    [
        lambda cls: cls(1),
        lambda cls: cls(1, 2, 3, 4),
        lambda cls: cls(1, 2, w=3),
        lambda cls: cls._make("ab"),
        lambda cls: setattr(cls(1, "a"), "x", 2),
        lambda cls: setattr(cls(1, "a"), "w", 2),
    ],
)
def test_they_refuse_what_pythons_refuse(ask: Callable[[type], object]) -> None:
    with pytest.raises((TypeError, ValueError, AttributeError)) as pythons:
        ask(Python)
    with pytest.raises(pythons.type):
        ask(Ours)


def test_another_field_cannot_be_replaced() -> None:
    with pytest.raises(TypeError, match="Ours has no w"):
        Ours(1, "a")._replace(w=1)  # type: ignore[call-arg]


def test_what_is_missing_is_told_with_its_name() -> None:
    with pytest.raises(TypeError, match=r"Ours.__new__\(\) missing 1 required positional argument: 'y'"):
        Ours(1)  # type: ignore[call-arg]


def test_a_field_without_a_default_comes_first() -> None:
    with pytest.raises(TypeError, match="Wrong: a field without a default"):

        class Wrong(named_tuple.NamedTuple):
            a: int = 1
            b: int  # type: ignore[misc]


def test_a_class_of_one_has_its_fields() -> None:
    assert Further(1, "a") == Ours(1, "a")
    assert repr(Further(1, "a")) == "Further(x=1, y='a', z=())"


def test_the_types_are_texts_until_somebody_asks() -> None:
    assert Ours.__annotations__ == {"x": "int", "y": "str | None", "z": "tuple[int, ...]"}
