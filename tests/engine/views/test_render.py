"""Tables and colours."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from io import StringIO
from typing import Any

import pytest
import yaml

from cgroup_engine.tree.knobs import KNOBS
from cgroup_engine.tree.knobs.cpu import V1Quota
from cgroup_engine.tree.knobs.memory import V1Memory
from cgroup_engine.views.render import Output, Printer, with_unit

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


DATA = {
    "name": "µ",
    "rows": [{"a": 1, "b": [1, "two\nlines"]}, {"a": {"c": None}}, "text"],
    "none": [],
    "by name": {"x": {"y": [2]}, "z": "w"},
    "nothing": {},
}


def _data_with_iterators() -> dict[str, Any]:
    return {name: iter(value) if isinstance(value, list) else value for name, value in DATA.items()}


@pytest.mark.parametrize("load", [json.loads, yaml.safe_load])
def test_what_is_written_entry_by_entry_reads_like_the_whole(load: Callable[[str], Any]) -> None:
    for write in (Printer.data, Printer.rows):
        stream = StringIO()
        write(Printer(stream), _data_with_iterators(), "json" if load is json.loads else "yaml")
        assert load(stream.getvalue()) == DATA


def test_indented_json_is_written_as_json_does_it() -> None:
    stream = StringIO()
    Printer(stream).data(_data_with_iterators(), "json")
    assert stream.getvalue() == json.dumps(DATA, indent=2, ensure_ascii=False) + "\n"


def test_a_row_of_json_is_a_line() -> None:
    stream = StringIO()
    Printer(stream).rows({"rows": iter([{"a": [1, 2]}, {"b": {}}]), "by name": {"x": 1}}, "json")
    rows = '  "rows": [\n    {"a": [1, 2]},\n    {"b": {}}\n  ],\n'
    assert stream.getvalue() == "{\n" + rows + '  "by name": {\n    "x": 1\n  }\n}\n'


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_an_entry_is_written_before_the_next_is_made(output: Output) -> None:
    def entries() -> Iterator[dict[str, int]]:
        for number in range(3):
            yield {"entry": number}
            assert f"{number}" in stream.getvalue()

    stream = StringIO()
    Printer(stream).data({"entries": entries()}, output)


@pytest.mark.parametrize(
    ("text", "knob", "expected"),
    [
        ("1073741824", MEMORY, "1073741824 bytes (1Gi)"),
        ("1000000", MEMORY, "1000000 bytes"),
        ("9223372036854771712", MEMORY, "9223372036854771712 bytes (no limit)"),
        ("-1", MEMORY, "-1"),
        ("50000", QUOTA, "50000 µs"),
        ("", QUOTA, ""),
    ],
)
def test_values_have_their_unit(text: str, knob: V1Memory | V1Quota, expected: str) -> None:
    assert with_unit(text, knob.unit()) == expected
