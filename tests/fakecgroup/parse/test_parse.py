"""The kernel's number parsers, on properties; their edges are in the recorded cases."""

from __future__ import annotations

from errno import EINVAL, ERANGE

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakecgroup.parse import kstrtoint, kstrtos64, kstrtou64, memparse, scan_decimal, scan_word, strstrip

U64 = st.integers(0, (1 << 64) - 1)
S64 = st.integers(-(1 << 63), (1 << 63) - 1)


@given(U64, st.sampled_from(["{}", "+{}", "{}\n", "{:#x}", "{:#X}"]))
def test_every_unsigned_number_in_every_spelling_is_read(number: int, spelling: str) -> None:
    assert kstrtou64(spelling.format(number)) == number


@given(U64)
def test_a_leading_zero_means_octal(number: int) -> None:
    assert kstrtou64(f"0{number:o}") == number


@given(S64)
def test_every_signed_number_is_read(number: int) -> None:
    assert kstrtos64(str(number)) == number


@given(st.integers(min_value=1 << 63) | st.integers(max_value=-(1 << 63) - 1))
def test_what_does_not_fit_64_bits_is_erange(number: int) -> None:
    with pytest.raises(OSError) as refused:
        kstrtos64(str(number))
    assert refused.value.errno == ERANGE


@pytest.mark.parametrize(
    "text", ["", "\n", " 5", "5 ", "5\n\n", "08", "0x", "1k", "1.5", "--1", "+-1", "abc", "5abc", "max"]
)
def test_what_is_no_number_is_einval(text: str) -> None:
    for parser in (kstrtou64, kstrtos64, kstrtoint):
        with pytest.raises(OSError) as refused:
            parser(text)
        assert refused.value.errno == EINVAL


def test_an_overflow_is_noticed_before_the_junk_behind_it() -> None:
    with pytest.raises(OSError) as refused:
        kstrtou64("99999999999999999999abc")
    assert refused.value.errno == ERANGE


def test_an_int_ends_at_31_bits() -> None:
    assert kstrtoint("2147483647") == (1 << 31) - 1
    with pytest.raises(OSError) as refused:
        kstrtoint("2147483648")
    assert refused.value.errno == ERANGE


@given(U64, st.sampled_from("KMGTPE"))
def test_a_size_wraps_at_64_bits(number: int, suffix: str) -> None:
    shift = 10 * ("KMGTPE".index(suffix) + 1)
    assert memparse(f"{number}{suffix}") == ((number << shift) % (1 << 64), "")
    assert memparse(f"{number}{suffix.lower()}") == memparse(f"{number}{suffix}")


def test_a_size_ends_where_its_one_suffix_ends() -> None:
    assert memparse("1KB") == (1024, "B")
    assert memparse("M") == (0, "")
    assert memparse("08") == (0, "8")
    assert memparse("-1") == (0, "-1")


def test_words_and_decimals_are_scanned_over_white_space() -> None:
    assert scan_word("  max 100000", 20) == ("max", " 100000")
    assert scan_word(" \t ", 20) == (None, "")
    assert scan_word("a" * 30, 20) == ("a" * 20, "a" * 10)
    assert scan_decimal(" 0x10") == (0, "x10")
    assert scan_decimal(" max") == (None, "max")


def test_the_kernels_white_space_has_a_no_break_space_and_no_unicode() -> None:
    assert strstrip("\xa0 5 \v\f") == "5"
    assert strstrip("\x855\x85") == "\x855\x85"
