"""The command `scripts/page_pictures`: the pictures of pages in the docs."""

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
from typing import NamedTuple

from benchmark import curves
from benchmark import page as benchmarks
from cgroup_engine.change.apply import execute
from cgroup_engine.inputs.config import feature_gates, node_config, read_config
from cgroup_engine.inputs.pods import read_pods
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.plan.status import compare
from cgroup_engine.plan.steps import make_plan
from cgroup_engine.simulate.page import page_of
from cgroup_engine.simulate.play import play_node
from cgroup_engine.tree.found import FoundTree
from cgroup_engine.tree.layout import detect
from cgroup_engine.views.tree_page import found_page
from fakecgroup import Kernel, KernelFs, Workload
from fakecgroup.scenario import play, read_scenario
from fakecgroup.scenario.page import page
from fakecgroup.scenario.report import table

_REPOSITORY = Path(__file__).resolve().parents[1]
_KEY = b"figure"  # the picture's text chunk that says which figure it shows
_FIGURE = re.compile(r'id="(figure|data|curves)">(.*?)</script>', re.DOTALL)
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


def _tree() -> str:
    """Three pods on a node on which one is throttled, one is short of memory, and somebody has changed a value."""
    folder = _REPOSITORY / "examples"
    fields, where = read_config(folder / "three-pods.kubelet.yaml")
    version = KubeletVersion(gates=feature_gates(fields, where))
    node = node_config(fields, where, version=version, cpus=3, memory=8 << 30, max_pids=32768)
    wanted = wanted_tree(node, read_pods([folder / "three-pods.yaml"], version))
    fs = KernelFs(Kernel("v2", "6.12", cpus=3, memory=8 << 30, clock=lambda: 0))
    execute(make_plan(wanted, FoundTree(fs, detect(fs, "model")), node.driver), fs)
    for cgroup, memory in zip((one for one in wanted if one.level == "container"), (970, 300, 120, 60), strict=True):
        phases = [{"for": "1h", "cpu": 2, "memory": f"{memory}Mi"}]
        fs.kernel.spawn(f"/{cgroup.path}", Workload(phases, instances=2 if memory < 500 else 1))
    fs.kernel.advance(60)
    fs.write("kubepods/burstable/cpu.weight", "7")
    found = FoundTree(fs, detect(fs, "model"))
    return found_page(node, wanted, compare(wanted, found, node.driver), found)


def _growth() -> str:
    return curves.page(benchmarks.read()["parts"]["cgroups"])


class _Picture(NamedTuple):
    """What a picture shows: a page, perhaps at a place of it, in pixels."""

    page: Callable[[], str]
    width: int
    height: int
    fragment: str = ""


_PICTURES = {
    "docs/timeline.png": _Picture(_scenario, 1100, 1010),
    "docs/eviction.png": _Picture(_node, 1100, 1080),
    "docs/growth.png": _Picture(_growth, 1000, 460),
    "docs/tree.png": _Picture(_tree, 1500, 620, "#%2Fkubepods%2Fburstable"),
}


def main() -> int:
    """Exit status: 0 done or current, 1 not current or there is no browser."""
    parser = argparse.ArgumentParser(
        prog="page_pictures",
        description=f"Writes {' and '.join(_PICTURES)}: what chromium shows of --html's pages.",
    )
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a picture is not current")
    options = parser.parse_args()
    browser = shutil.which("chromium")
    if browser is None and not options.check:
        return _fail("no chromium (as root: apt-get install chromium)")
    for name, picture in _PICTURES.items():
        text, file = picture.page(), _REPOSITORY / name
        chunk = _text_chunk(_digest(text))
        if options.check and not (file.exists() and chunk in file.read_bytes()):
            return _fail(f"{name} is not current: run scripts/page_pictures and commit it")
        if browser is not None and not options.check:
            data = _taken(browser, text, picture)
            end = data.index(b"IEND") - 4
            file.write_bytes(data[:end] + chunk + data[end:])
    return 0


def _digest(text: str) -> bytes:
    """Of what the page's figure says but for lines' points and cgroups' values, which a finer simulation may change.

    What was measured counts whole.
    """
    found = _FIGURE.search(text)
    assert found is not None
    figure = json.loads(found[2])
    if found[1] == "curves":
        return hashlib.sha256(json.dumps(figure).encode()).hexdigest().encode()
    if found[1] == "data":
        return hashlib.sha256(json.dumps([node["p"] for node in figure["nodes"]]).encode()).hexdigest().encode()
    lines = [{key: value for key, value in line.items() if key != "y"} for line in figure["data"]]
    return hashlib.sha256(json.dumps([figure["layout"], lines]).encode()).hexdigest().encode()


def _taken(browser: str, text: str, picture: _Picture) -> bytes:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "page.html").write_text(text)
        command = [
            browser,
            *_FLAGS,
            f"--user-data-dir={folder / 'profile'}",
            f"--window-size={picture.width},{picture.height}",
        ]
        command += [f"--screenshot={folder / 'page.png'}", (folder / "page.html").as_uri() + picture.fragment]
        subprocess.run(command, check=True, capture_output=True)
        return (folder / "page.png").read_bytes()


def _text_chunk(text: bytes) -> bytes:
    data = b"tEXt" + _KEY + b"\0" + text
    return struct.pack(">I", len(data) - 4) + data + struct.pack(">I", zlib.crc32(data))


def _fail(text: str) -> int:
    print(f"page_pictures: {text}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
