"""Tables and colours."""

from __future__ import annotations

import io
from io import StringIO

import pytest

from cgroup_engine.tree.knobs import KNOBS
from cgroup_engine.tree.knobs.cpu import V1Quota
from cgroup_engine.tree.knobs.memory import V1Memory
from cgroup_engine.views.render import Printer, with_unit

MEMORY = next(knob for knob in KNOBS[1] if knob.field == "memory")
QUOTA = next(knob for knob in KNOBS[1] if knob.field == "quota")


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _table(stream: StringIO) -> str:
    Printer(stream).table(("STATE", "PATH"), [("ok", "a"), ("drift", "b")], {"drift": "\x1b[31m"})
    return stream.getvalue()


def test_columns_are_aligned() -> None:
    assert _table(io.StringIO()) == "STATE  PATH\nok     a\ndrift  b\n"


def test_a_terminal_has_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert "\x1b[31mdrift\x1b[0m" in _table(_Terminal())


def test_no_color_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in _table(_Terminal())


@pytest.mark.parametrize(
    ("text", "knob", "expected"),
    [
        ("1073741824", MEMORY, "1073741824 bytes (1Gi)"),
        ("1000000", MEMORY, "1000000 bytes"),
        ("9223372036854771712", MEMORY, "9223372036854771712 bytes (no limit)"),
        ("-1", MEMORY, "-1"),
        ("50000", QUOTA, "50000 µs"),
        ("", QUOTA, ""),
        ("+cpu", None, "+cpu"),
    ],
)
def test_values_have_their_unit(text: str, knob: V1Memory | V1Quota | None, expected: str) -> None:
    assert with_unit(text, knob) == expected
