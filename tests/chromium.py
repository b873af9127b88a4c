"""A browser for the tests of pages."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --virtual-time-budget=20000 --dump-dom"
).split()


def drawn(page: str, folder: Path, fragment: str = "") -> str:
    """The document that a browser makes of a page, after its scripts have run. Skips the test without a browser."""
    if CHROMIUM is None:
        pytest.skip("no chromium to look at the page with (as root: apt-get install chromium)")
    file = folder / "page.html"
    file.write_text(page, encoding="utf-8")
    command = [CHROMIUM, *_FLAGS, f"--user-data-dir={folder / 'profile'}", file.as_uri() + fragment]
    for _ in range(3):  # a browser that had no time to load the page prints nothing
        document = subprocess.run(command, capture_output=True, text=True, check=True, timeout=100).stdout
        if document:
            break
    return document
