"""Tables for people."""

from __future__ import annotations

import io

import pytest

from fakecgroup_mount.cli import table

ROWS = [("mount", "yes", "tried"), ("run", "no", "")]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _a_terminal_with_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")


def test_columns_are_in_line_and_nothing_trails() -> None:
    assert table.lines(ROWS, {}, io.StringIO()) == ["mount  yes  tried", "run    no"]


def test_a_terminal_gets_colours() -> None:
    assert table.lines(ROWS, {"no": table.RED}, Terminal()) == ["mount  yes  tried", "run    \033[31mno \033[0m"]


def test_a_file_gets_none() -> None:
    assert table.lines(ROWS, {"no": table.RED}, io.StringIO()) == ["mount  yes  tried", "run    no"]


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_a_terminal_without_colours_gets_none(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    assert table.lines(ROWS, {"no": table.RED}, Terminal()) == ["mount  yes  tried", "run    no"]
