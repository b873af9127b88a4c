"""scripts/page_pictures: the pictures of pages in the docs are current."""

from __future__ import annotations

import pytest

import page_pictures


def test_the_pictures_show_what_the_pages_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["page_pictures", "--check"])
    assert page_pictures.main() == 0
