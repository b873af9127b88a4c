"""The fields of a JSON object from strangers, each checked. What is wrong is a `FieldError` that names the field."""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Iterator
from typing import Any

from .names import shown

MOST = (1 << 64) - 1
_LONGEST = 4096  # letters of a short text


class FieldError(Exception):
    """A field is missing or not what it should be; the text says which."""


class Fields:
    """The fields of one object; `where` is its name in messages."""

    def __init__(self, value: object, where: str) -> None:
        if not isinstance(value, dict):
            raise FieldError(f"{where} is no object")
        self._value: dict[str, Any] = value
        self._where = where

    def has(self, name: str) -> bool:
        return name in self._value

    def get(self, name: str) -> Any:
        """The value as it is. Raises FieldError if it is missing."""
        if name not in self._value:
            raise FieldError(f"{self._where}.{name} is missing")
        return self._value[name]

    def names(self) -> Iterator[str]:
        yield from self._value

    def number(self, name: str, default: int | None = None, most: int = MOST) -> int:
        if default is not None and name not in self._value:
            return default
        value = self.get(name)
        if type(value) is not int or not 0 <= value <= most:
            raise FieldError(f"{self._where}.{name} is no number from 0 to {most}")
        return value

    def signed(self, name: str, least: int, most: int) -> int:
        value = self._value.get(name, 0)
        if type(value) is not int or not least <= value <= most:
            raise FieldError(f"{self._where}.{name} is no number from {least} to {most}")
        return value

    def flag(self, name: str) -> bool:
        value = self._value.get(name, False)
        if not isinstance(value, bool):
            raise FieldError(f"{self._where}.{name} is neither true nor false")
        return value

    def text(self, name: str, default: str | None = None) -> str:
        """A short text."""
        if default is not None and name not in self._value:
            return default
        value = self.get(name)
        if not isinstance(value, str) or len(value) > _LONGEST or not is_encodable(value) or "\0" in value:
            raise FieldError(f"{self._where}.{name} is no short text")
        return value

    def printable(self, name: str, default: str | None = None) -> str:
        """A text that can be told."""
        value = self.text(name, default)
        if not value.isprintable():
            raise FieldError(f"{self._where}.{name} is not printable")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts; empty if it is missing."""
        value = self._value.get(name, [])
        if not isinstance(value, list) or not all(
            isinstance(one, str) and len(one) <= _LONGEST and is_encodable(one) for one in value
        ):
            raise FieldError(f"{self._where}.{name} is no list of short texts")
        return tuple(value)

    def numbers(self, name: str, most: int) -> tuple[int, ...]:
        """A list of numbers; empty if it is missing."""
        value = self._value.get(name, [])
        if not isinstance(value, list) or not all(type(one) is int and 0 <= one <= most for one in value):
            raise FieldError(f"{self._where}.{name} is no list of numbers from 0 to {most}")
        return tuple(value)

    def fields(self, name: str) -> Fields:
        """An object; an empty one if it is missing."""
        return Fields(self._value.get(name, {}), f"{self._where}.{shown(name[:80])}")

    def data(self, text: str = "text", encoded: str = "base64") -> bytes | None:
        """Bytes, written as UTF-8 text or in base64; None if neither is there."""
        if text in self._value:
            value = self._value[text]
            if not isinstance(value, str):
                raise FieldError(f"{self._where}.{text} is no text")
            try:
                return value.encode()
            except UnicodeEncodeError:
                raise FieldError(f"{self._where}.{text} is no UTF-8") from None
        if encoded in self._value:
            try:
                return base64.b64decode(self._value[encoded], validate=True)
            except (TypeError, ValueError, binascii.Error):
                raise FieldError(f"{self._where}.{encoded} is no base64") from None
        return None


def is_encodable(text: str) -> bool:
    """True if it stands for bytes, as the names of files do."""
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True


def as_data(data: bytes, text: str = "text", encoded: str = "base64") -> dict[str, str]:
    """The opposite of `Fields.data`."""
    try:
        return {text: data.decode()}
    except UnicodeDecodeError:
        return {encoded: base64.b64encode(data).decode()}
