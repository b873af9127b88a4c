"""`fakecgroup conformance explain`."""

from __future__ import annotations

import json

import pytest

from fakecgroup_mount.cli.program import main

EXPLAIN = ["conformance", "explain"]


def test_a_case_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*EXPLAIN, "moving in is never", "--layout=v1"]) == 0
    assert capsys.readouterr().out.startswith("v1, pids: moving in is never refused\n")


def test_json_is_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*EXPLAIN, "moving in is never refused", "-ojson"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["case"], len(found["layouts"])) == ("moving in is never refused", 2)


def test_another_machine_is_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*EXPLAIN, "memory.reclaim with swap.max 0", "--machine=swap"]) == 0
    assert capsys.readouterr().out.startswith("v2 with swap, reclaim: memory.reclaim is written with swap.max 0\n")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["no such case"], "no case has 'no such case' in its name"),
        (
            ["moving in is never", "--layout=hybrid"],
            "no recorded kernel was asked 'moving in is never refused' on hybrid",
        ),
        (["memory.reclaim with swap.max 0"], "no recorded kernel was asked 'memory.reclaim with swap.max 0'"),
    ],
)
def test_what_there_is_not_is_one_line(capsys: pytest.CaptureFixture[str], words: list[str], complaint: str) -> None:
    assert main([*EXPLAIN, *words]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"fakecgroup conformance: {complaint}")
    assert error.count("\n") == 1


def test_a_case_must_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(EXPLAIN)
    assert capsys.readouterr().err.startswith("fakecgroup conformance explain: ")
