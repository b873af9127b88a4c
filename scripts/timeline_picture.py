"""The command `scripts/timeline_picture`: the picture of a simulated scenario's page in the docs."""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

from fakecgroup.scenario import Outcome, play, read_scenario
from fakecgroup.scenario.page import page
from fakecgroup.scenario.report import table
from fakecgroup.scenario.timeline import figure

_REPOSITORY = Path(__file__).resolve().parents[1]
_SCENARIO = "examples/scenarios/timeline.yaml"
_NAME = "docs/timeline.png"
_KEY = b"figure"  # the picture's text chunk that says which figure it shows
_FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars --virtual-time-budget=20000"
).split()


def main() -> int:
    """Exit status: 0 done or current, 1 not current or there is no browser."""
    parser = argparse.ArgumentParser(
        prog="timeline_picture", description=f"Writes {_NAME}: chromium's picture of the page of {_SCENARIO}."
    )
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if the picture is not current")
    options = parser.parse_args()
    outcome = play(read_scenario((_REPOSITORY / _SCENARIO).read_text()), every=1_000_000_000)
    digest = _digest(outcome)
    file = _REPOSITORY / _NAME
    if options.check:
        if file.exists() and _text_chunk(digest) in file.read_bytes():
            return 0
        return _fail(f"{_NAME} is not current: run scripts/timeline_picture and commit it")
    browser = shutil.which("chromium")
    if browser is None:
        return _fail("no chromium (as root: apt-get install chromium)")
    picture = _picture(browser, outcome)
    end = picture.index(b"IEND") - 4
    file.write_bytes(picture[:end] + _text_chunk(digest) + picture[end:])
    return 0


def _digest(outcome: Outcome) -> bytes:
    """Of all that the figure says but the lines' points, which a finer simulation may change."""
    shown = figure(outcome)
    lines = shown["data"]
    assert isinstance(lines, list)
    told = [shown["layout"], [{key: value for key, value in line.items() if key != "y"} for line in lines]]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest().encode()


def _picture(browser: str, outcome: Outcome) -> bytes:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "page.html").write_text(page(outcome, f"fakecgroup simulate {Path(_SCENARIO).name}", table(outcome)))
        command = [browser, *_FLAGS, f"--user-data-dir={folder / 'profile'}", "--window-size=1100,1010"]
        command += [f"--screenshot={folder / 'page.png'}", (folder / "page.html").as_uri()]
        subprocess.run(command, check=True, capture_output=True)
        return (folder / "page.png").read_bytes()


def _text_chunk(text: bytes) -> bytes:
    data = b"tEXt" + _KEY + b"\0" + text
    return struct.pack(">I", len(data) - 4) + data + struct.pack(">I", zlib.crc32(data))


def _fail(text: str) -> int:
    print(f"timeline_picture: {text}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
