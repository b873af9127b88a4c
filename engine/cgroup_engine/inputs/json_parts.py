"""Reads the parts of a JSON text, item by item, in any order of the keys."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from cgroup_engine.inputs.document_parts import Document, Item, Part
from cgroup_engine.inputs.input_text import InputText, TooLargeError

_decode = json.JSONDecoder().raw_decode
_SPACES = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"[-+.eE0-9]+")


class NotJsonError(Exception):
    """The text is no JSON object, or more than one, or an object in it is too large."""


def json_parts(text: InputText, *, split: bool = True) -> Iterator[Part]:
    """The parts of a text that is one JSON object; ``split``: the items of a List come one by one.

    :raises NotJsonError: it is not.
    :raises RecursionError: it is nested too deeply.
    """
    scanner = _Scanner(text)
    fields: dict[str, Any] = {}
    items = None
    scanner.one_of("{")
    more = scanner.next() != "}" or scanner.one_of("}") != "}"
    while more:
        key = scanner.key()
        scanner.one_of(":")
        if split and key == "items" and scanner.next() == "[":
            fields.pop(key, None)
            items = 0
            scanner.one_of("[")
            more = scanner.next() != "]" or scanner.one_of("]") != "]"
            while more:
                text.begin(f"items[{items}]")
                yield Item(items, scanner.value())
                items += 1
                more = scanner.one_of(",]") == ","
        else:
            fields[key] = scanner.value()
            items = None if key == "items" else items
        more = scanner.one_of(",}") == ","
    if scanner.next():
        raise NotJsonError
    yield Document(fields, items)


class _Scanner:
    """A window that slides over the text."""

    def __init__(self, text: InputText) -> None:
        self._text = text
        self._window, self._at = "", 0
        self._ended = False

    def next(self) -> str:
        """The next character that is no space; "" at the end."""
        while True:
            match = _SPACES.match(self._window, self._at)
            self._at = match.end() if match else self._at
            if self._at < len(self._window):
                return self._window[self._at]
            if self._ended:
                return ""
            self._slide()

    def one_of(self, expected: str) -> str:
        """Takes the next character, which is one of the expected ones."""
        found = self.next()
        if found == "" or found not in expected:
            raise NotJsonError
        self._at += 1
        return found

    def key(self) -> str:
        if self.next() != '"':
            raise NotJsonError
        key: str = self.value()
        return key

    def value(self) -> Any:
        """Takes the next value. If the window ends inside, it is read again with twice the window."""
        self.next()
        while True:
            try:
                value, end = _decode(self._window, self._at)
            except json.JSONDecodeError:
                end = None
            except ValueError:  # more digits than Python reads
                raise NotJsonError from None
            if end is not None and (self._ended or not self._may_go_on(value)):
                self._at = end
                return value
            if self._ended:
                raise NotJsonError
            self._slide()

    def _may_go_on(self, value: Any) -> bool:
        """Does the window end with the digits of this number?"""
        if type(value) not in (int, float):
            return False
        match = _NUMBER.match(self._window, self._at)
        return match is not None and match.end() == len(self._window)

    def _slide(self) -> None:
        """Drops what was taken, and reads as much as is left."""
        left = self._window[self._at :]
        pieces, length = [left], 0
        while not self._ended and length < max(1, len(left)):
            try:
                piece = self._text.read()
            except TooLargeError:
                raise NotJsonError from None
            pieces.append(piece)
            length += len(piece)
            self._ended = piece == ""
        self._window, self._at = "".join(pieces), 0
