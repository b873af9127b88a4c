"""The text of a file, read piece by piece."""

from __future__ import annotations

import codecs
from typing import BinaryIO

PIECE = 1 << 18  # bytes of one read(2)
MOST = 10 << 20  # characters of an object; maxConfigLength of a kubelet


class TooLargeError(Exception):
    """An object has more than ``MOST`` characters; ``part``: which one, or ""."""

    def __init__(self, part: str) -> None:
        super().__init__(f"larger than {MOST >> 20} MiB")
        self.part = part


class InputText:
    """The text of an open file in UTF-8, from the beginning to the end.

    It counts the characters of each object that its reader announces with ``begin``.
    """

    name = "the text"  # PyYAML's messages begin with it

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._read = 0
        self._part = ""

    def begin(self, part: str) -> None:
        """The next object begins about here; ``part`` names it."""
        self._read, self._part = 0, part

    def read(self, _size: int = -1) -> str:
        """The next piece; "" at the end.

        :raises OSError: it cannot be read.
        :raises TooLargeError: the object has more than ``MOST`` characters.
        :raises UnicodeDecodeError: it is not UTF-8.
        """
        text = ""
        while text == "" and (raw := self._file.read(PIECE)):
            text = self._decoder.decode(raw)
        if text == "":
            return self._decoder.decode(b"", final=True)
        self._read += len(text)
        if self._read > MOST + PIECE:  # a piece may have the end of the object before
            raise TooLargeError(self._part)
        return text
