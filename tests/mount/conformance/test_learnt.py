"""`fakecgroup conformance --kernel FILE.kernel`: a learnt kernel's answers, and its gaps as known ones."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from fakecgroup.conformance import recording
from fakecgroup.conformance.learning import learn
from fakecgroup_mount.cli.program import main


@pytest.fixture(scope="module")
def learnt_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A kernel that answers the cases of pids and file sets as 6.12 does, but one."""
    whole = recording.load("v2", "6.12")
    cases = [one for one in whole.cases if one.family in ("file_sets", "pids")]
    number = next(n for n, one in enumerate(cases) if one.case.name == "files of pids in a child with it")
    odd = cases[number]
    answers = (*odd.answers[:5], (None, "as no kernel says\n"), *odd.answers[6:])
    cases[number] = replace(odd, answers=answers)
    data = learn(
        {"release": "6.6.6-test"},
        whole.header["machine"],
        "2026-11-23",
        frozenset(),
        [replace(whole, cases=tuple(cases))],
    )
    path = tmp_path_factory.mktemp("learnt") / "mine.kernel"
    path.write_bytes(data)
    return path


def test_known_gaps_alone_are_no_failure(learnt_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conformance", "--kernel", str(learnt_file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "1 differ, of them 1 known gaps"
    assert any(line.startswith("v2 6.6.6-test") for line in lines)


def test_json_says_why_a_gap_is_known(learnt_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["conformance", "--kernel", str(learnt_file), "-o", "json"])
    told = json.loads(capsys.readouterr().out)
    [difference] = [each for family in told["families"] for each in family["differences"]]
    assert difference["known_gap"] == "6.6.6-test does not answer by the rules of 6.12"


def test_what_differs_and_is_no_gap_is_a_failure(learnt_file: Path, tmp_path: Path) -> None:
    value = json.loads(gzip.decompress(learnt_file.read_bytes()))
    value["layouts"]["v2"]["gaps"] = {}
    path = tmp_path / "other.kernel"
    path.write_bytes(gzip.compress(json.dumps(value).encode()))
    assert main(["conformance", "--kernel", str(path), "--family", "file_sets"]) == 1


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--layout", "v1"], "no layout 'v1' in mine.kernel: there is v2"),
        (["--machine", "swap"], "mine.kernel was learnt on one machine: leave --machine out"),
        (["--family", "cpu"], "no family cpu; there is file_sets, pids"),
    ],
    ids=str,
)
def test_what_was_not_learnt_is_told(
    words: list[str], complaint: str, learnt_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["conformance", "--kernel", str(learnt_file), *words]) == 1
    assert capsys.readouterr().err == f"fakecgroup conformance: {complaint}\n"


@pytest.mark.hostile("a learnt kernel's file that is none, on the command line", times=1)
def test_a_file_that_is_none_is_told_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.kernel"
    path.write_text("#!/bin/sh\n")
    with pytest.raises(SystemExit) as raised:
        main(["conformance", "--kernel", str(path)])
    assert raised.value.code == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "bad.kernel is no learnt kernel: it is not gzip" in line
