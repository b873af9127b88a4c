"""scripts/timeline_picture: the pictures of pages in the docs are current."""

from __future__ import annotations

import pytest

import timeline_picture


def test_the_pictures_show_what_the_pages_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["timeline_picture", "--check"])
    assert timeline_picture.main() == 0
