"""JSON that is read item by item."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import BytesIO
from typing import Any

import pytest

from cgroup_engine.inputs import input_text
from cgroup_engine.inputs.document_parts import Document, Item, Part
from cgroup_engine.inputs.input_text import InputText
from cgroup_engine.inputs.json_parts import NotJsonError, json_parts

TEXTS = [
    "{}",
    ' {"items" : [ ] , "kind":"List"}\n\n',
    '{"items":[{"a":1.5e3},{"b":"µ\\u00b5\\"]}"},[1,[2]],-12.5,true,null,"x"],"kind":"List","n":-0.25}',
    '{"kind": "List", "metadata": {"items": [1]}, "items": [{"items": [1, 2]}], "z": 1e5}',
    '{"items":[1,2],"a":[NaN,-Infinity],"items":[3]}',
    '{"items": {"no": "list"}}',
    '{"items": [1], "items": null}',
    '{"items": [{"long": "' + "x" * 300 + '"}, 12345678901234567890]}',
]


def _parts(text: str) -> list[Part]:
    return list(json_parts(InputText(BytesIO(text.encode()))))


def whole(parts: list[Part]) -> list[Any]:
    """The documents that were told in parts, whole."""
    documents: list[Any] = []
    items: list[Any] = []
    for part in parts:
        if isinstance(part, Item):
            items = [*items[: part.number], part.value]
            continue
        assert isinstance(part, Document)
        documents.append(part.value if part.items is None else {**part.value, "items": items[: part.items]})
    return documents


@pytest.fixture(params=[1, 2, 3, 7, 64, 1 << 18])
def piece(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes that are read at once: every place in a text is the end of a piece at some time."""
    monkeypatch.setattr(input_text, "PIECE", request.param)


@pytest.mark.usefixtures("piece")
@pytest.mark.parametrize("text", TEXTS)
def test_the_parts_are_those_of_the_whole_text(text: str) -> None:
    assert repr(whole(_parts(text))) == repr([json.loads(text)]) or whole(_parts(text)) == [json.loads(text)]


@pytest.mark.usefixtures("piece")
@pytest.mark.parametrize(
    "text",
    [
        *("{", "{}{}", "{} x", '{"items": [1', '{"items": [1,]}', '{"items": [1 2]}', '{"a": 1,}', "{1: 2}"),
        *('{"a" 1}', '{"a": "\n"}', '{"a": tru}', '{"a": 1.}', '{"items": [' + "9" * 5000 + "]}", '{"a": 01}'),
    ],
)
def test_what_is_no_json_is_said_so(text: str) -> None:
    with pytest.raises(ValueError):
        json.loads(text)
    with pytest.raises(NotJsonError):
        _parts(text)


def test_an_item_is_told_before_the_next_one_is_read() -> None:
    def read(size: int) -> bytes:
        pieces.append(size)
        return b'{"items": [{"a": 1},' if len(pieces) == 1 else b"{"

    pieces: list[int] = []
    assert next(json_parts(InputText(_Reading(read)))) == Item(0, {"a": 1})
    assert len(pieces) == 1


class _Reading(BytesIO):
    def __init__(self, read: Callable[[int], bytes]) -> None:
        super().__init__()
        self._read = read

    def read(self, size: int | None = -1) -> bytes:
        return self._read(size or 0)
