"""Flags are written by name, and read again to the same number."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakecgroup.trace import words


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (os.O_RDONLY, "O_RDONLY"),
        (os.O_WRONLY | os.O_CREAT | os.O_TRUNC, "O_WRONLY|O_CREAT|O_TRUNC"),
        (os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, "O_RDONLY|O_DIRECTORY|O_CLOEXEC"),
        (os.O_RDWR | os.O_TMPFILE, "O_RDWR|O_TMPFILE"),
        (os.O_RDWR | os.O_SYNC, "O_RDWR|O_SYNC"),
    ],
)
def test_the_flags_of_open_have_the_names_of_strace(flags: int, text: str) -> None:
    assert words.OPEN.text(flags) == text


@given(st.integers(0, 2**31 - 1))
def test_any_number_is_read_as_it_was_written(bits: int) -> None:
    for flags in (words.OPEN, words.MOUNT, words.CLONE, words.POLL, words.ACCESS, words.RENAME):
        without = bits & ~0o100000 if flags is words.OPEN else bits
        assert flags.number(flags.text(bits)) == without


def test_a_word_that_is_no_flag_is_refused() -> None:
    with pytest.raises(ValueError, match="'O_JUNK' is no flag"):
        words.OPEN.number("O_RDONLY|O_JUNK")
