"""`fakecgroup simulate`: output and exit status."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from fakecgroup_mount.cli.program import main

EXAMPLES = Path(__file__).parents[3] / "examples" / "scenarios"


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.yaml")))
def test_what_an_example_expects_holds(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", str(EXAMPLES / name)]) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith("expectations hold")


def test_the_table_is_aligned(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", str(EXAMPLES / "throttle.yaml")]) == 0
    assert capsys.readouterr().out.splitlines()[:2] == [
        "CGROUP  CPUS  CPU TIME  PERIODS  THROTTLED  THROTTLED FOR  WAITED",
        "app     0.50   30.05 s      600        600        89.95 s    75 %",
    ]


@pytest.mark.parametrize("output", ["json", "csv"])
def test_the_same_scenario_gives_the_same_bytes(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        main(["simulate", str(EXAMPLES / "throttle.yaml"), "-o", output, "--seed", "3"])
    out = capsys.readouterr().out
    assert out[: len(out) // 2] == out[len(out) // 2 :]


def test_an_expectation_that_does_not_hold_is_exit_status_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _standard_input(monkeypatch, "expect: [{time: 1s, file: cpuset.cpus.effective, has: '9'}]")
    assert main(["simulate", "-", "-o", "json"]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["holds"] is False
    assert err.startswith(
        "fakecgroup simulate: standard input:1:10: at 1 s cpuset.cpus.effective is to be the line '9'"
    )


def test_a_wrong_scenario_is_exit_status_2(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    _standard_input(monkeypatch, "expects: []")
    assert main(["simulate", "-"]) == 2
    assert capsys.readouterr().err.startswith("fakecgroup simulate: standard input:1:1: no key 'expects'")


def test_a_tree_option_wins_over_the_scenario(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _standard_input(monkeypatch, "machine: {cpus: 2}\nexpect: [{time: 1s, file: cpuset.cpus.effective, has: 0-2}]")
    assert main(["simulate", "-", "--cpus", "3"]) == 0


@pytest.mark.hostile("a scenario that is no file, or no text", times=3)
@pytest.mark.parametrize(("name", "why"), [("none", "No such file"), (".", "Is a directory"), ("binary", "no text")])
def test_a_file_that_cannot_be_read_is_one_line(
    name: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    assert main(["simulate", str(tmp_path / name)]) == 1
    err = capsys.readouterr().err
    assert why in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("words", [["--until", "soon"], ["--every", "0s"], ["--seed", "x"], ["--cpus", "0"]])
def test_a_wrong_option_is_exit_status_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["simulate", "-", *words])
    assert end.value.code == 2


def test_too_many_samples_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", str(EXAMPLES / "throttle.yaml"), "-o", "csv", "--every", "1us"]) == 2
    assert "over 100,000 samples" in capsys.readouterr().err


def _standard_input(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def test_a_page_is_written_beside_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", str(EXAMPLES / "throttle.yaml"), "--html", str(tmp_path / "page.html")]) == 0
    assert "<title>fakecgroup simulate throttle.yaml</title>" in (tmp_path / "page.html").read_text()
    assert capsys.readouterr().out.splitlines()[-1] == "3 of 3 expectations hold"


def test_a_page_that_cannot_be_written_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", str(EXAMPLES / "throttle.yaml"), "--html", str(tmp_path / "no" / "page.html")]) == 1
    assert capsys.readouterr().err.splitlines() == [
        f"fakecgroup simulate: --html {tmp_path}/no/page.html: No such file or directory"
    ]


def test_a_page_without_its_library_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    assert main(["simulate", str(EXAMPLES / "throttle.yaml"), "--html", "page.html"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("pip install 'fakecgroup[html]'")
