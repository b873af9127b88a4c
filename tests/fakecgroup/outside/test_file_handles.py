"""Handles of cgroups. The answers are those of Linux 6.18 for its own cgroup2."""

from __future__ import annotations

import pytest

from fakecgroup.outside.file_handles import are_valid, file_handle, is_valid


@pytest.mark.parametrize("size", [8, 9, 12, 128])
def test_a_handle_is_the_inode_number(size: int) -> None:
    assert file_handle(4, size) == (bytes.fromhex("08000000fe0000000400000000000000"), True)


@pytest.mark.parametrize("size", [0, 7])
def test_a_buffer_that_is_too_small_is_told_the_size(size: int) -> None:
    assert file_handle(1, size) == (bytes.fromhex("08000000ff000000"), False)


def test_a_buffer_may_have_128_bytes() -> None:
    assert is_valid(128)
    assert not is_valid(129)


@pytest.mark.parametrize(
    ("flags", "valid"),
    [
        (0, True),
        (0x1000, True),
        (0x1200, True),
        (0x1001, True),
        (0x1201, True),
        (0x1400, True),
        (0x1002, False),
        (0x1004, False),
        (0x3000, False),
    ],
)
def test_flags_that_the_kernel_does_not_have_are_refused(flags: int, valid: bool) -> None:
    assert are_valid(flags) is valid
