"""Counts go on from those that a file has shown."""

from __future__ import annotations

import pytest

from fakecgroup.core.baseline import Baseline


@pytest.mark.parametrize(
    ("began", "was", "now", "shown"),
    [
        ("100\n", "5\n", "5\n", "100\n"),
        ("100\n", "5\n", "8\n", "103\n"),
        ("100\n", "5\n", "3\n", "98\n"),
        ("1\n", "5\n", "0\n", "0\n"),
        ("a 1\nb 2\n", "a 0\nb 0\n", "a 3\nb 0\n", "a 4\nb 2\n"),
        ("a 1\nother 7\nb 2\n", "a 0\nb 0\n", "a 0\nb 1\n", "a 1\nother 7\nb 3\n"),
        ("8:0 rbytes=10 wbytes=20\n", "8:0 \n", "8:0 rbytes=1 wbytes=2\n", "8:0 rbytes=10 wbytes=20\n"),
        (
            "8:0 rbytes=10 wbytes=20\n",
            "8:0 rbytes=0 wbytes=0\n",
            "8:0 rbytes=1 wbytes=2\n",
            "8:0 rbytes=11 wbytes=22\n",
        ),
        ("anon N0=4096 N1=0\n", "anon N0=0 N1=0\n", "anon N0=8192 N1=1\n", "anon N0=12288 N1=1\n"),
        ("", "", "8:0 Read 5\n", "8:0 Read 5\n"),
        ("5 7 \n", "1 1 \n", "2 1 \n", "6 7 \n"),
    ],
)
def test_each_number_has_grown_as_much_as_the_models(began: str, was: str, now: str, shown: str) -> None:
    assert Baseline(began, was).shown(now) == shown
