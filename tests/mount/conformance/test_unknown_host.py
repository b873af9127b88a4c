"""`--target host` on a kernel that is none of ours; a known kernel's answers take this machine's place."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import NamedTuple

import pytest

from fakecgroup.conformance import recording
from fakecgroup_mount.cli.program import main
from fakecgroup_mount.conformance import unknown_host


class Uname(NamedTuple):
    release: str


@pytest.fixture(autouse=True)
def host(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with kernel 6.13 that answers about files as 7.2 does."""
    whole = recording.load("v2", "7.2")
    cases = tuple(one for one in whole.cases if one.family == "file_sets" and "lists" not in one.case.name)
    answered = replace(whole, kernel="6.13.1-test", cases=cases)
    monkeypatch.setattr(os, "uname", lambda: Uname("6.13.1-test"))
    monkeypatch.setattr(unknown_host, "ask_host_layout", lambda layout: answered)
    monkeypatch.setattr(unknown_host, "host_options", lambda: frozenset({"ZSWAP"}))


def test_it_is_compared_with_every_known_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conformance", "--target", "host", "--layout", "v2", "-o", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["kernel"], next(one["kernel"] for one in told["nearest"])) == ("6.13.1-test", "7.2")
    assert len(told["nearest"]) == 4


@pytest.mark.parametrize(
    ("words", "what"), [("-otap", "table or json"), ("--shard=1/2", "--shard"), ("--family=cpu", "--family")]
)
def test_parts_of_the_cases_and_lists_of_tests_are_refused(
    words: str, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["conformance", "--target", "host", "--layout", "v2", words]) == 1
    assert what in capsys.readouterr().err
