"""The parts of a file: its documents, and the items of a List one by one."""

from __future__ import annotations

from typing import Any, NamedTuple


class Item(NamedTuple):
    """One of a document's ``items``. The list starts again at 0 if the key is given twice, and the last one counts."""

    number: int
    value: Any


class Document(NamedTuple):
    """The end of a document: its value without the ``items`` that were told before, and their number.

    ``items`` is None if they were not told: there is no list of this name.
    """

    value: Any
    items: int | None = None


Part = Item | Document
