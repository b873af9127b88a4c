"""The recordings are whole: every kernel was asked every case, and each says where it comes from."""

from __future__ import annotations

import re
from functools import cache

import pytest

from mount.conformance import recording
from mount.conformance.case import LAYOUTS
from mount.conformance.cases import FAMILIES, all_cases
from mount.conformance.recording import KERNELS, VARIES, Recording

HOST = "6.18"  # asked on a machine of its own: of the cases those that its hierarchies can be asked
BOOTED = [(layout, kernel) for layout in LAYOUTS for kernel in KERNELS if kernel != HOST]
PAIRS = [*BOOTED, ("v1", HOST)]


@cache
def load(layout: str, kernel: str) -> Recording:
    return recording.load(layout, kernel)


@pytest.mark.parametrize(("layout", "kernel"), BOOTED)
def test_a_recording_names_its_kernel_and_machine(layout: str, kernel: str) -> None:
    header = load(layout, kernel).header
    assert (header["layout"], header["kernel"]) == (layout, kernel)
    assert header["version"].startswith(kernel + ".")
    assert re.match(rf"linux-image-{re.escape(kernel)}\.", header["package"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", header["date"])
    assert header["machine"]["cpus"] == 4
    assert header["machine"]["nodes"] == 2


def test_the_recording_of_a_host_names_its_configuration_and_hierarchies() -> None:
    header = load("v1", HOST).header
    assert header["version"].startswith(HOST + ".")
    assert header["configuration"]["RT_GROUP_SCHED"]
    assert {"cpu", "memory", "cpuset"} <= set(header["machine"]["hierarchies"])


@pytest.mark.parametrize(("layout", "kernel"), BOOTED)
def test_no_case_is_lost(layout: str, kernel: str) -> None:
    asked = {one.case.name for one in load(layout, kernel).cases}
    wanted = {case.name for cases in all_cases(layout).values() for case in cases}
    assert asked == wanted


@pytest.mark.parametrize(("layout", "kernel"), PAIRS)
def test_the_recorded_cases_are_the_cases_as_they_are_now(layout: str, kernel: str) -> None:
    now = {case.name: case.digest for cases in all_cases(layout).values() for case in cases}
    changed = [one.case.name for one in load(layout, kernel).cases if now.get(one.case.name) != one.case.digest]
    assert changed == [], "ask again: scripts/oracle record"


@pytest.mark.parametrize(("layout", "kernel"), PAIRS)
def test_every_operation_has_an_answer(layout: str, kernel: str) -> None:
    short = [
        one.case.name
        for one in load(layout, kernel).cases
        if one.verdict == "ok" and len(one.answers) != len(one.case.ops)
    ]
    assert short == []


@pytest.mark.parametrize(("layout", "kernel"), PAIRS)
def test_a_kernel_agrees_with_itself(layout: str, kernel: str) -> None:
    answers = [answer for one in load(layout, kernel).cases for answer in one.answers]
    assert sum(answer == VARIES for answer in answers) <= len(answers) // 2000


@pytest.mark.parametrize(("layout", "kernel"), PAIRS)
def test_the_header_counts_what_follows(layout: str, kernel: str) -> None:
    loaded = load(layout, kernel)
    assert loaded.header["cases"] == len(loaded.cases)
    assert loaded.header["operations"] == sum(len(one.case.ops) for one in loaded.cases)
    assert loaded.header["digest"] == recording.digest(one.case for one in loaded.cases)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_name_stands_for_one_case(layout: str) -> None:
    names = [case.name for cases in all_cases(layout).values() for case in cases]
    assert len(names) == len(set(names))


def test_every_family_has_cases() -> None:
    assert all(any(all_cases(layout)[family] for layout in LAYOUTS) for family in FAMILIES)


def test_a_recording_that_is_not_there_is_named() -> None:
    with pytest.raises(recording.RecordingError, match=r"v2-4\.19"):
        recording.load("v2", "4.19")


def test_writing_a_recording_twice_gives_the_same_bytes(
    tmp_path: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = load("v2", "6.12")
    small = Recording(loaded.layout, loaded.kernel, loaded.header, loaded.cases[:5])
    monkeypatch.setattr(recording, "DIRECTORY", tmp_path)
    first = recording.save(small).read_bytes()
    again = recording.load("v2", "6.12")
    assert again.cases == small.cases
    assert recording.save(again).read_bytes() == first
