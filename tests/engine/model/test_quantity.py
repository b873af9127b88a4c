"""Quantities as the kubelet reads them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cgroup_engine.errors import QuantityError
from cgroup_engine.model.quantity import from_bytes, from_milli, parse


def check_text(row: dict[str, Any]) -> None:
    """A row of table B: a text and the result of ParseQuantity."""
    if "error" in row or row.get("refused"):
        with pytest.raises(QuantityError):
            parse(row["in"])
        return
    quantity = parse(row["in"])
    rounded = quantity.rounded_up_to_milli()
    if "roundup_milli_value" in row:
        assert (rounded.value(), rounded.milli_value()) == (row["roundup_milli_value"], row["roundup_milli_milli"]), row
    assert quantity.value() == row["value"], row
    assert quantity.milli_value() == row["milli"], row
    assert quantity.sign() == row["sign"], row
    assert str(quantity) == row["canonical"], row
    assert quantity.format == row["format"], row
    assert str(rounded) == row["roundup_milli"], row


def test_every_recorded_text_is_read_as_the_kubelet_reads_it(recorded: Callable[[str], list[dict[str, Any]]]) -> None:
    for row in recorded("quantities"):
        check_text(row)


@pytest.mark.parametrize(
    ("text", "value"),
    [("1Ki", 1024), ("1k", 1000), ("1.5Gi", 1610612736), ("1e3", 1000), ("100m", 1), ("0.0001", 1), ("+2", 2)],
)
def test_a_value_is_rounded_up(text: str, value: int) -> None:
    assert parse(text).value() == value


def test_a_nano_is_the_finest_and_is_a_whole_millicore() -> None:
    assert parse("0.0000000001").milli_value() == 1


def test_a_large_binary_quantity_is_capped() -> None:
    assert parse("100Ei").value() == (1 << 63) - 1


@pytest.mark.parametrize("text", ["", " 1", "1 ", "1x", "1K", "0x10", "1_000", "..", "1e999", "½", "1" * 200, "Ei"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(QuantityError):
        parse(text)


@given(st.integers(0, 10**12), st.sampled_from(["", "m", "u", "n", "k", "M", "Ki", "Mi", "Gi", "e3", "E-2"]))
def test_the_canonical_form_reads_back_as_the_same_number(number: int, suffix: str) -> None:
    quantity = parse(f"{number}{suffix}")
    assert parse(str(quantity)).nano == quantity.nano


@given(st.integers(0, 10**15), st.integers(0, 10**15))
def test_sums_and_differences_are_exact(a: int, b: int) -> None:
    total = from_milli(a) + from_milli(b)
    assert total.milli_value() == a + b
    assert (total - from_milli(b)).milli_value() == a


@given(st.integers(0, (1 << 63) - 1))
def test_bytes_are_kept_exactly(number: int) -> None:
    assert from_bytes(number).value() == number
