from __future__ import annotations

import pytest

from fakecgroup.machine.size import parse_size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("8589934592", 8589934592),
        ("8Gi", 8 << 30),
        ("8G", 8_000_000_000),
        ("512Mi", 512 << 20),
        ("512M", 512_000_000),
        ("64Ki", 64 << 10),
        ("64k", 64_000),
        ("1Ti", 1 << 40),
        ("1T", 10**12),
    ],
)
def test_a_size_is_read_as_in_kubernetes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "Gi", "8K", "8GB", "8gi", "-1", "1.5Gi", "8 Gi", " 8", "8\n", "٨"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no size"):
        parse_size(text)
