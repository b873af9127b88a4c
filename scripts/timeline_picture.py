"""The command `scripts/timeline_picture`: the pictures of simulated hours in the docs."""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path

from cgroup_engine.inputs.config import feature_gates, node_config, read_config
from cgroup_engine.inputs.pods import read_pods
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.simulate.page import page_of
from cgroup_engine.simulate.play import play_node
from fakecgroup.scenario import play, read_scenario
from fakecgroup.scenario.page import page
from fakecgroup.scenario.report import table

_REPOSITORY = Path(__file__).resolve().parents[1]
_KEY = b"figure"  # the picture's text chunk that says which figure it shows
_FIGURE = re.compile(r'id="figure">(.*?)</script>', re.DOTALL)
_FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars --virtual-time-budget=20000"
).split()


def _scenario() -> str:
    file = _REPOSITORY / "examples" / "scenarios" / "timeline.yaml"
    outcome = play(read_scenario(file.read_text()), every=1_000_000_000)
    return page(outcome, f"fakecgroup simulate {file.name}", table(outcome))


def _node() -> str:
    folder = _REPOSITORY / "examples" / "eviction"
    fields, where = read_config(folder / "kubelet.yaml")
    version = KubeletVersion(gates=feature_gates(fields, where))
    node = node_config(fields, where, version=version, cpus=2, memory=2 << 30, max_pids=32768)
    pods = read_pods([folder / "pods.yaml"], version)
    return page_of(play_node(node, pods, (folder / "usage.yaml").read_text(), "usage.yaml", points=600))


#: Picture -> its page, and the height of what it shows in pixels.
_PICTURES: dict[str, tuple[Callable[[], str], int]] = {
    "docs/timeline.png": (_scenario, 1010),
    "docs/eviction.png": (_node, 1080),
}


def main() -> int:
    """Exit status: 0 done or current, 1 not current or there is no browser."""
    parser = argparse.ArgumentParser(
        prog="timeline_picture",
        description=f"Writes {' and '.join(_PICTURES)}: what chromium shows of --html's pages.",
    )
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a picture is not current")
    options = parser.parse_args()
    browser = shutil.which("chromium")
    if browser is None and not options.check:
        return _fail("no chromium (as root: apt-get install chromium)")
    for name, (made, height) in _PICTURES.items():
        text, file = made(), _REPOSITORY / name
        chunk = _text_chunk(_digest(text))
        if options.check and not (file.exists() and chunk in file.read_bytes()):
            return _fail(f"{name} is not current: run scripts/timeline_picture and commit it")
        if browser is not None and not options.check:
            picture = _picture(browser, text, height)
            end = picture.index(b"IEND") - 4
            file.write_bytes(picture[:end] + chunk + picture[end:])
    return 0


def _digest(text: str) -> bytes:
    """Of all that the page's figure says but the lines' points, which a finer simulation may change."""
    found = _FIGURE.search(text)
    assert found is not None
    figure = json.loads(found[1])
    lines = [{key: value for key, value in line.items() if key != "y"} for line in figure["data"]]
    return hashlib.sha256(json.dumps([figure["layout"], lines]).encode()).hexdigest().encode()


def _picture(browser: str, text: str, height: int) -> bytes:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "page.html").write_text(text)
        command = [browser, *_FLAGS, f"--user-data-dir={folder / 'profile'}", f"--window-size=1100,{height}"]
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
