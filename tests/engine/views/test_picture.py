"""The picture of CPU and memory under load."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from cgroup_engine.cli import main
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.model.pod import Pod
from cgroup_engine.views.picture import picture

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def drawn(
    make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> Callable[..., tuple[dict[str, float], list[str]]]:
    """The titles of a picture's boxes -> width, and its texts."""

    def draw(number: int = 1, **resources: dict[str, str]) -> tuple[dict[str, float], list[str]]:
        node = make_node()
        pods = [make_pod(make_container(**resources), n=n) for n in range(1, number + 1)]
        root = ElementTree.fromstring(picture(node, wanted_tree(node, pods)))
        boxes = {
            title.text or "": float(box.attrib["width"])
            for box in root.iter(f"{SVG}rect")
            if (title := box.find(f"{SVG}title")) is not None
        }
        return boxes, [text.text or "" for text in root.iter(f"{SVG}text")]

    return draw


def test_a_box_is_as_wide_as_its_part_of_the_cpus(
    drawn: Callable[..., tuple[dict[str, float], list[str]]],
) -> None:
    boxes, _ = drawn(2, requests={"cpu": "1"})
    widths = {title.split(" CPUs")[0]: width for title, width in boxes.items() if " CPUs" in title}
    assert widths["node: 4.000"] == pytest.approx(2 * widths["default/p1: 2.000"], abs=0.2)
    assert widths["default/p1: 2.000"] == widths["default/p1/c: 2.000"]


def test_a_container_can_have_no_more_memory_than_what_it_is_in(
    drawn: Callable[..., tuple[dict[str, float], list[str]]],
) -> None:
    boxes, texts = drawn(requests={"memory": "512Mi"})
    assert "default/p1/c: requests 536870912 bytes, may have 8589934592 bytes" in boxes
    assert "512Mi → 8Gi, 938" in texts


def test_the_greatest_request_is_first_and_as_wide_as_the_picture(
    make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    node = make_node()
    pods = [
        make_pod(make_container(requests={"memory": f"{amount}Mi"}), n=n) for n, amount in enumerate((8, 64, 32), 1)
    ]
    root = ElementTree.fromstring(picture(node, wanted_tree(node, pods)))
    bars = [
        (title.text.split(": requests")[0], float(box.attrib["y"]), float(box.attrib["width"]))
        for box in root.iter(f"{SVG}rect")
        if (title := box.find(f"{SVG}title")) is not None and title.text and ": requests" in title.text
    ]
    assert [name for name, _y, _width in sorted(bars, key=lambda bar: bar[1])] == [
        "default/p2/c",
        "default/p3/c",
        "default/p1/c",
    ]
    widths = {name: width for name, _y, width in bars}
    assert widths["default/p2/c"] == pytest.approx(2 * widths["default/p3/c"], abs=0.2)
    assert widths["default/p2/c"] == pytest.approx(8 * widths["default/p1/c"], abs=0.5)
    assert widths["default/p2/c"] > 500


def test_many_containers_are_counted_not_drawn(
    drawn: Callable[..., tuple[dict[str, float], list[str]]],
) -> None:
    _, texts = drawn(45)
    assert "and 5 more containers" in texts


def test_the_command_writes_it_and_says_nothing(
    tmp_path: Path, example: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "node.svg"
    arguments = ["explain", "--cpus", "3", "--memory", "8Gi", str(example / "three-pods.yaml"), "--svg"]
    assert main([*arguments, str(file)]) == 0
    assert capsys.readouterr().out == ""
    assert ElementTree.parse(file).getroot().tag == f"{SVG}svg"
    assert main([*arguments, str(tmp_path / "none" / "node.svg")]) == 1
    assert "cannot be written: No such file" in capsys.readouterr().err
