"""scripts/timeline_picture: the picture of a page in the docs is current."""

from __future__ import annotations

import pytest

import timeline_picture


def test_the_picture_shows_what_the_page_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["timeline_picture", "--check"])
    assert timeline_picture.main() == 0
