"""The Test Anything Protocol: its points, directives and YAML."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from fakecgroup.conformance.report.as_tap import tap_text

from .tallies import SUBJECT, result, tallies

LINE = re.compile(r"TAP version 13|1\.\.\d+( # SKIP .+)?|(not )?ok \d+ - ([^#\\]|\\[#\\])+( # (TODO|SKIP) .+)?|  .+")


def test_each_line_is_of_the_protocol() -> None:
    assert [line for line in tap_text(tallies(), SUBJECT).splitlines() if not LINE.fullmatch(line)] == []


def test_a_point_for_each_case() -> None:
    points = [line for line in tap_text(tallies(), SUBJECT).splitlines() if re.match("(not )?ok", line)]
    assert points == [
        "ok 1 - rdma misc: the answers are the same",
        "not ok 2 - rdma misc: two answers differ",
        "not ok 3 - rdma misc: a gap # TODO on purpose # so",
        "ok 4 - rdma misc: nothing is compared # SKIP no operation could be compared on this target",
    ]


def test_differences_are_yaml() -> None:
    block = re.findall(r"^  ---\n(.*?)^  \.\.\.", tap_text(tallies(), SUBJECT), re.M | re.S)[0]
    assert yaml.safe_load(block)["differences"][1] == {
        "operation": ["read", "a/pids.current"],
        "index": 1,
        "kernel": [None, "max\n"],
        "target": [None, "x\n"],
    }


@pytest.mark.hostile("a case's name that would be a directive or a line of its own, in a TAP report", times=3)
@pytest.mark.parametrize("name", ["a # TODO not today", "a\nnot ok 9 - b", "a \\# SKIP b"])
def test_a_name_is_no_directive(name: str) -> None:
    (line,) = tap_text(tallies(result(name)), SUBJECT).splitlines()[2:]
    assert LINE.fullmatch(line)
    assert re.search(r"(?<!\\)(\\\\)*#", line) is None


def test_a_shard_without_cases_is_skipped() -> None:
    assert tap_text([], SUBJECT) == "TAP version 13\n1..0 # SKIP no case was chosen"


def test_prove_counts_a_known_gap_as_no_failure(tmp_path: Path) -> None:
    if not shutil.which("prove"):
        pytest.skip("no prove, which is Perl's reader of the protocol")
    (tmp_path / "report.tap").write_text(tap_text(tallies(), SUBJECT))
    done = subprocess.run(
        ["prove", "-e", "cat", "report.tap"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "Failed 1/4 subtests" in done.stdout + done.stderr
    assert done.returncode == 1
