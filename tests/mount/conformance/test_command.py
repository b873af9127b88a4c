"""`fakecgroup conformance`: its output for differences, and its exit status."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from fakecgroup.conformance import known_gaps, recording
from fakecgroup.conformance.titles import title
from fakecgroup_mount.cli.program import main

COMMAND = ["conformance", "--layout", "v2", "--kernel", "6.12", "--family", "freeze"]
CASES = [one.case.name for one in recording.load("v2", "6.12").family("freeze")]


def test_no_difference_is_success(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(COMMAND) == 0
    assert "differ," not in capsys.readouterr().out


def test_the_model_is_asked_the_cases_of_both_machines(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conformance", "--layout=v1", "--kernel=6.1", "--family=kernel_memory"]) == 0
    rows = [line.split("  ")[0] for line in capsys.readouterr().out.splitlines()]
    assert rows == ["family", "kernel_memory", "kernel_memory with swap", "v1 6.1"]


def test_a_machine_can_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conformance", "--kernel=6.12", "--family=reclaim", "--machine=swap", "-ojson"]) == 0
    (family,) = json.loads(capsys.readouterr().out)["families"]
    assert (family["family"], family["machine"], family["differences"]) == ("reclaim", "swap", [])


def test_a_family_that_a_machine_was_not_asked_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conformance", "--kernel=6.12", "--family=cpu", "--machine=swap"]) == 1
    assert capsys.readouterr().err == (
        "fakecgroup conformance: no family cpu; there is file_sets, memory, kernel_memory, reclaim\n"
    )


def test_a_recording_that_is_not_there_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conformance", "--layout=v1", "--kernel=6.18", "--machine=swap"]) == 1
    assert capsys.readouterr().err == (
        "fakecgroup conformance: no recording of kernel 6.18 on v1 on a machine with swap: v1-6.18-swap.jsonl.gz\n"
    )


@pytest.mark.usefixtures("wrong")
def test_a_difference_is_failure(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(COMMAND) == 1
    assert capsys.readouterr().out.endswith("differ, of them 0 known gaps\n")


@pytest.mark.usefixtures("wrong")
def test_known_gaps_are_counted_and_no_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(known_gaps, "MODEL", {("v2", name): "on purpose" for name in CASES})
    assert main(COMMAND) == 0
    number, _, rest = capsys.readouterr().out.splitlines()[-1].partition(" ")
    assert rest == f"differ, of them {number} known gaps"


@pytest.mark.usefixtures("wrong")
def test_json_has_the_reason_of_a_known_gap(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(known_gaps, "MODEL", {("v2", "freezing a process"): "on purpose"})
    main([*COMMAND, "-ojson"])
    (family,) = json.loads(capsys.readouterr().out)["families"]
    assert {(d["case"] == "freezing a process", d["known_gap"]) for d in family["differences"]} == {
        (True, "on purpose"),
        (False, None),
    }


def test_the_shards_together_are_the_whole(capsys: pytest.CaptureFixture[str]) -> None:
    names = []
    for number in (1, 2, 3):
        assert main([*COMMAND, f"--shard={number}/3", "-ojunit"]) == 0
        names += [case.get("name") for case in ElementTree.fromstring(capsys.readouterr().out).iter("testcase")]
    assert sorted(map(str, names)) == sorted(map(title, CASES))


@pytest.mark.usefixtures("wrong")
def test_junit_counts_what_the_exit_status_tells(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, "-ojunit"]) == 1
    assert int(ElementTree.fromstring(capsys.readouterr().out).get("failures", "")) > 0


@pytest.mark.usefixtures("wrong")
def test_tap_has_a_point_for_each_case(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, "-otap"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["TAP version 13", f"1..{len(CASES)}"]
    assert any(line.startswith("not ok ") for line in lines)


def test_a_shard_that_is_none_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([*COMMAND, "--shard=5/4"])
    assert "argument --shard: '5/4' is no shard: 2/8 is the second of eight" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["-ojunit", "-otap", "--shard=1/2"])
def test_random_cases_are_no_test_suite(capsys: pytest.CaptureFixture[str], option: str) -> None:
    assert main([*COMMAND, "--fuzz=10", option]) == 1
    assert "--fuzz makes its own cases" in capsys.readouterr().err
