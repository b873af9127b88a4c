"""``pytest --pyargs fakecgroup.conformance``, in pytest sessions inside a test."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from fakecgroup.conformance import known_gaps, recording
from fakecgroup.conformance.titles import title
from fakecgroup_mount.cli.program import main

from ..conftest import needs_fuse, needs_root

SUITE = ("--pyargs", "fakecgroup.conformance", "--cgroup-family=freeze", "-p", "no:cacheprovider")
CASES = [one.case.name for one in recording.load("v2", "6.12").family("freeze")]


@pytest.fixture(autouse=True)
def few_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:hypothesispytest")  # which takes longer than the rest


def test_each_case_is_a_test(pytester: pytest.Pytester) -> None:
    run = pytester.runpytest_inprocess(*SUITE, "-v")
    run.assert_outcomes(passed=len(CASES))
    run.stdout.fnmatch_lines(["*suite.py::v2 6.12::freeze::a frozen process can be killed PASSED*"])


def test_layout_and_kernel_are_chosen(pytester: pytest.Pytester) -> None:
    run = pytester.runpytest_inprocess(*SUITE, "--cgroup-layout=v1", "--cgroup-kernel=6.1", "-v")
    run.stdout.fnmatch_lines(["*suite.py::v1 6.1::freeze::*PASSED*"])


def test_a_machine_with_swap_is_a_recording_of_its_own(pytester: pytest.Pytester) -> None:
    run = pytester.runpytest_inprocess(*SUITE[:2], "--cgroup-family=reclaim", "--collect-only", "-q")
    assert all("::v2 6.12 with swap::reclaim::" in line for line in run.outlines if "::" in line)


def test_one_case_is_run_by_its_id(pytester: pytest.Pytester) -> None:
    one = "fakecgroup.conformance.suite::v2 6.12::freeze::a frozen process can be killed"
    pytester.runpytest_inprocess("--pyargs", one).assert_outcomes(passed=1)


def test_several_processes_share_the_cases(pytester: pytest.Pytester) -> None:
    pytester.runpytest_subprocess(*SUITE, "-n", "2").assert_outcomes(passed=len(CASES))


def test_the_shards_together_are_the_whole(pytester: pytest.Pytester) -> None:
    names = []
    for number in (1, 2):
        run = pytester.runpytest_inprocess(*SUITE, f"--cgroup-shard={number}/2", "--collect-only", "-q")
        names += [line.rpartition("::")[2] for line in run.outlines if "::" in line]
    assert sorted(names) == sorted(map(title, CASES))


@pytest.mark.usefixtures("wrong")
def test_a_difference_fails_and_tells_what_the_kernel_answered(pytester: pytest.Pytester) -> None:
    run = pytester.runpytest_inprocess(*SUITE, "--junitxml=report.xml")
    assert run.parseoutcomes()["failed"] > 0
    text = run.stdout.str()
    assert 'kernel  [null, "0\\n"]\n    target  [null, "junk\\n"]' in text
    assert "Traceback" not in text
    assert not re.search(r"suite\.py:\d", text)
    report = ElementTree.parse(pytester.path / "report.xml")
    assert report.find(".//testcase[@name='a process is frozen']/failure") is not None


@pytest.mark.usefixtures("wrong")
def test_a_known_gap_is_an_expected_failure(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_gaps, "MODEL", {("v2", name): "on purpose" for name in CASES})
    outcomes = pytester.runpytest_inprocess(*SUITE).parseoutcomes()
    assert outcomes["xfailed"] > 0
    assert "failed" not in outcomes


def test_the_answers_of_a_learnt_kernel_are_compared(pytester: pytest.Pytester) -> None:
    run = pytester.runpytest_inprocess(*SUITE, "--cgroup-kernel=debian-6.16-cloud-amd64.kernel", "-v")
    run.assert_outcomes(passed=len(CASES))
    run.stdout.fnmatch_lines(["*suite.py::v2 6.16.12+deb13-cloud-amd64::freeze::*PASSED*"])


def test_the_gaps_of_a_learnt_kernel_are_expected_failures(pytester: pytest.Pytester) -> None:
    options = ("--cgroup-kernel=debian-6.16-cloud-amd64.kernel", "--cgroup-family=io")
    outcomes = pytester.runpytest_inprocess(*SUITE[:2], *options).parseoutcomes()
    assert outcomes["xfailed"] > 0
    assert "failed" not in outcomes


@pytest.mark.hostile("options of the conformance suite that name nothing", times=5)
@pytest.mark.parametrize(
    ("option", "complaint"),
    [
        ("--cgroup-kernel=9.9", "no kernel 9.9 for layout v2: there is 6.12, "),
        ("--cgroup-family=nono", "no family nono; there is file_sets, "),
        ("--cgroup-shard=9", "'9' is no shard: 2/8 is the second of eight"),
        ("--cgroup-kernel=nowhere.kernel", "nowhere.kernel: No such file or directory; shipped are debian-"),
        ("--cgroup-image=/boot/vmlinuz", "--cgroup-image is about a booted kernel: say --cgroup-target vm too"),
    ],
)
def test_what_there_is_not_is_one_line(pytester: pytest.Pytester, option: str, complaint: str) -> None:
    run = pytester.runpytest_inprocess(*SUITE, option)
    assert run.ret == 2
    assert f"fakecgroup conformance: {complaint}" in run.stdout.str()
    assert "Traceback" not in run.stdout.str()


def test_a_layout_that_there_is_not_is_a_wrong_command_line(pytester: pytest.Pytester) -> None:
    run = pytester.runpytest_inprocess(*SUITE, "--cgroup-layout=v9")
    assert run.ret == pytest.ExitCode.USAGE_ERROR


@pytest.mark.parametrize(("processes", "status"), [(0, pytest.ExitCode.TESTS_FAILED), (2, pytest.ExitCode.INTERRUPTED)])
def test_without_its_target_the_session_stops_at_once(pytester: pytest.Pytester, processes: int, status: int) -> None:
    run = pytester.runpytest_subprocess(*SUITE, f"--cgroup-target={pytester.path}", "-n", str(processes))
    assert run.ret == status
    assert 1 <= run.parseoutcomes()["failed"] <= 4
    assert "is no fakecgroup mount: mount one, of the machine that was asked" in run.stdout.str()


def test_other_sessions_have_no_cases(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(): pass")
    pytester.runpytest_inprocess().assert_outcomes(passed=1)


@needs_fuse
@needs_root
def test_processes_take_turns_on_a_mounted_tree(pytester: pytest.Pytester, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    machine = recording.description("v2", "6.12")
    options = [f"--cpus={machine['cpus']}", f"--numa-nodes={machine['nodes']}", f"--memory={machine['memory']}"]
    options.append(f"--block-devices={','.join(machine['block_devices'])}")
    assert main(["mount", str(tree), "--kernel=6.12", *options]) == 0
    try:
        run = pytester.runpytest_subprocess(*SUITE, "-n", "2", f"--cgroup-target={tree}", "-k", "between or killed")
        run.assert_outcomes(passed=2)
        assert [path for path in tree.iterdir() if path.is_dir()] == []
    finally:
        assert main(["umount", "--force", str(tree)]) == 0


def test_the_options_are_in_the_help(pytester: pytest.Pytester) -> None:
    text = pytester.runpytest_inprocess("--help").stdout.str()
    for option in ("target", "layout", "kernel", "family", "shard"):
        assert re.search(rf"^  --cgroup-{option}[= ]", text, re.M)
