"""`cgroup-engine simulate`: output and exit status."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from cgroup_engine.cli import main

EXAMPLE = Path(__file__).parents[3] / "examples" / "eviction"
_NODE = ["--config", str(EXAMPLE / "kubelet.yaml"), "--cpus", "2", "--memory", "2Gi"]
_NODE += ["--swap", "0", "--max-pids", "32768", str(EXAMPLE / "pods.yaml")]


def _simulated(*options: str, usage: Path = EXAMPLE / "usage.yaml") -> int:
    return main(["simulate", *_NODE, "--usage", str(usage), *options])


def test_the_example_says_who_is_throttled_and_evicted(capsys: pytest.CaptureFixture[str]) -> None:
    assert _simulated() == 0
    assert capsys.readouterr().out.splitlines() == [
        "POD/CONTAINER     QOS         CPUS  THROTTLED  WAITED   MEMORY    AT MOST  WHAT HAPPENED",
        "shop/batch/job    Burstable   0.20          -     0 %        -  1,100 MiB  evicted at 250 s",
        "shop/cache/cache  Burstable   0.10          -     0 %        -  1,501 MiB  evicted at 421 s",
        "shop/web/app      Guaranteed  0.43       83 %    42 %  401 MiB    401 MiB  -",
        "",
        "190 s: the node has the condition MemoryPressure",
        "250 s: shop/batch is evicted with 10 s to end: memory.available is 250 MiB, below 500Mi; it uses 1,100 MiB "
        "and requests 128 MiB; the order was shop/batch, shop/cache, shop/web",
        "421 s: shop/cache is evicted with 1 s to end: allocatableMemory.available is 137 MiB, below 200Mi; it uses "
        "1,511 MiB and requests 256 MiB; the order was shop/cache, shop/web",
        "",
        "1,648 MiB of 2,048 MiB are available. If they were not, the order of eviction would be:",
        "    POD          USES  REQUESTS   OVER  PRIORITY",
        "1.  shop/web  401 MiB   512 MiB  0 MiB      1000",
        "",
        "4 of 4 expectations hold",
    ]


def test_json_has_each_eviction_with_the_order(capsys: pytest.CaptureFixture[str]) -> None:
    assert _simulated("-o", "json") == 0
    told = json.loads(capsys.readouterr().out)
    assert [(one["time"], one["pod"], one["grace"], one["soft"]) for one in told["evictions"]] == [
        (250, "batch", 10, True),
        (421, "cache", 1, False),
    ]
    assert [pod["pod"] for pod in told["evictions"][0]["ranked"]] == ["batch", "cache", "web"]
    assert [one["evicted"] for one in told["containers"]] == [250, 421, None]


def test_csv_has_a_line_for_each_container_and_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert _simulated("-o", "csv", "--every", "100s") == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["time_s"] for row in rows if row["pod"] == "cache"] == ["100.0", "200.0", "300.0", "400.0"]


@pytest.mark.parametrize("output", ["table", "json", "csv"])
def test_the_same_usage_gives_the_same_bytes(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = set()
    for _ in range(2):
        _simulated("-o", output, "--seed", "5")
        outputs.add(capsys.readouterr().out)
    assert len(outputs) == 1


def test_an_expectation_that_does_not_hold_is_exit_status_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    usage = tmp_path / "usage.yaml"
    usage.write_text("expect: [{time: 10s, evicted: [shop/web]}]")
    assert _simulated(usage=usage) == 1
    assert f"{usage}:1:10: at 10 s evicted is to be shop/web, and is no pod" in capsys.readouterr().out


def test_a_page_has_the_containers_by_name(tmp_path: Path) -> None:
    assert _simulated("--html", str(tmp_path / "page.html")) == 0
    text = (tmp_path / "page.html").read_text()
    assert '"name":"shop/web/app"' in text
    assert "shop/cache is evicted with 1 s to end" in text


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--until", "0"], "cgroup-engine: --until: a time of 0 is none"),
        (["--until", "1w"], "cgroup-engine: --until: '1w' is no time: write a number and us, ms, s, m or h"),
        (["--every", "1ms"], "cgroup-engine: --every: over 10,000 samples until 600 s; take a longer time"),
        (["--html", "/no/page.html"], "cgroup-engine: /no/page.html: cannot be written: No such file or directory"),
    ],
)
def test_a_wrong_option_is_one_line(options: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _simulated(*options) == 1
    assert capsys.readouterr().err.splitlines() == [line]


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _simulated(usage=tmp_path / "none.yaml") == 1
    assert capsys.readouterr().err.splitlines() == [
        f"cgroup-engine: {tmp_path}/none.yaml: cannot be read: No such file or directory"
    ]


def test_no_other_command_imports_the_fake() -> None:
    code = "import sys, cgroup_engine.cli.plan, cgroup_engine.cli.simulate; sys.exit('fakecgroup' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
