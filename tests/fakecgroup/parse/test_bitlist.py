"""Lists of CPUs and nodes."""

from __future__ import annotations

from errno import EINVAL, EOVERFLOW, ERANGE

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakecgroup.parse import format_bitlist, parse_bitlist


@given(st.sets(st.integers(0, 299)))
def test_what_is_shown_reads_back(bits: set[int]) -> None:
    mask = sum(1 << bit for bit in bits)
    assert parse_bitlist(format_bitlist(mask), 300, words=False) == mask


@pytest.mark.parametrize(
    ("text", "shown"),
    [("3,0-1", "0-1,3"), ("0-7:1/2", "0,2,4,6"),
     ("0 ,\t1,", "0-1"), ("0\n1", "0"), ("0 \n1", "0-1"), ("007", "7"), (",", "")],
)  # fmt: skip
def test_a_list_in_any_form_is_shown_in_the_shortest(text: str, shown: str) -> None:
    assert format_bitlist(parse_bitlist(text, 8, words=False)) == shown


@pytest.mark.parametrize(
    ("text", "errno"),
    [("8", ERANGE), ("3-1", EINVAL), ("0:1/2", EINVAL),
     ("4294967296", EOVERFLOW), ("4294967295", EINVAL), ("9,x", ERANGE)],
)  # fmt: skip
def test_the_first_fault_in_a_list_decides(text: str, errno: int) -> None:
    with pytest.raises(OSError) as refused:
        parse_bitlist(text, 8, words=False)
    assert refused.value.errno == errno


def test_all_and_n_are_words_of_later_kernels() -> None:
    assert parse_bitlist("All", 4, words=True) == parse_bitlist("0-N", 4, words=True) == 0b1111
    with pytest.raises(OSError):
        parse_bitlist("all", 4, words=False)
