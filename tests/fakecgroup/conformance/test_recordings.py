"""The recordings are whole: every kernel was asked every case, and each says where it comes from."""

from __future__ import annotations

import re
from functools import cache

import pytest

from fakecgroup.conformance import recording
from fakecgroup.conformance.case import LAYOUTS, Answer
from fakecgroup.conformance.cases import FAMILIES, SWAP_FAMILIES, all_cases, cases_of, families
from fakecgroup.conformance.recording import KERNELS, MACHINES, PLAIN, SWAP, VARIES, RecordedCase, Recording

HOST = "6.18"  # asked on a machine of its own: of the cases those that its hierarchies can be asked
WITH_SWAP = [(layout, kernel) for layout in ("v2", "v1") for kernel in KERNELS if kernel != HOST]
NO_MEMORY = [("v1", "6.12"), ("v1", "7.2")]  # kernels that are built without this face of the controller
BOOTED = [
    *((layout, kernel, PLAIN) for layout in LAYOUTS for kernel in KERNELS if kernel != HOST),
    *((layout, kernel, SWAP) for layout, kernel in WITH_SWAP),
]
RECORDINGS = [*BOOTED, ("v1", HOST, PLAIN)]


@cache
def load(layout: str, kernel: str, machine: str = PLAIN) -> Recording:
    return recording.load(layout, kernel, machine)


@pytest.mark.parametrize(("layout", "kernel", "machine"), BOOTED)
def test_a_recording_names_its_kernel_and_machine(layout: str, kernel: str, machine: str) -> None:
    header = load(layout, kernel, machine).header
    assert (header["layout"], header["kernel"]) == (layout, kernel)
    assert header["version"].startswith(kernel + ".")
    assert re.match(rf"linux-image-{re.escape(kernel)}\.", header["package"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", header["date"])
    assert header["machine"]["cpus"] == 4
    assert header["machine"]["nodes"] == 2
    assert ("swap" in header["machine"]) == (machine == SWAP)


def test_the_recording_of_a_host_names_its_configuration_and_hierarchies() -> None:
    header = load("v1", HOST).header
    assert header["version"].startswith(HOST + ".")
    assert header["configuration"]["RT_GROUP_SCHED"]
    assert {"cpu", "memory", "cpuset"} <= set(header["machine"]["hierarchies"])


@pytest.mark.parametrize(("layout", "kernel", "machine"), BOOTED)
def test_no_case_is_lost(layout: str, kernel: str, machine: str) -> None:
    asked = {one.case.name for one in load(layout, kernel, machine).cases}
    wanted = {case.name for cases in all_cases(layout, machine).values() for case in cases}
    assert asked == wanted


@pytest.mark.parametrize(("layout", "kernel", "machine"), RECORDINGS)
def test_the_recorded_cases_are_the_cases_as_they_are_now(layout: str, kernel: str, machine: str) -> None:
    now = {case.name: case.digest for cases in all_cases(layout, machine).values() for case in cases}
    changed = [
        one.case.name for one in load(layout, kernel, machine).cases if now.get(one.case.name) != one.case.digest
    ]
    assert changed == [], "ask again: scripts/oracle record"


@pytest.mark.parametrize(("layout", "kernel", "machine"), RECORDINGS)
def test_every_operation_has_an_answer(layout: str, kernel: str, machine: str) -> None:
    short = [
        one.case.name
        for one in load(layout, kernel, machine).cases
        if one.verdict == "ok" and len(one.answers) != len(one.case.ops)
    ]
    assert short == []


@pytest.mark.parametrize(("layout", "kernel", "machine"), RECORDINGS)
def test_a_kernel_agrees_with_itself(layout: str, kernel: str, machine: str) -> None:
    answers = [answer for one in load(layout, kernel, machine).cases for answer in one.answers]
    assert sum(answer == VARIES for answer in answers) <= len(answers) // 2000


@pytest.mark.parametrize(("layout", "kernel", "machine"), RECORDINGS)
def test_the_header_counts_what_follows(layout: str, kernel: str, machine: str) -> None:
    loaded = load(layout, kernel, machine)
    assert loaded.header["cases"] == len(loaded.cases)
    assert loaded.header["operations"] == sum(len(one.case.ops) for one in loaded.cases)
    assert loaded.header["digest"] == recording.digest(one.case for one in loaded.cases)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_name_stands_for_one_case(layout: str) -> None:
    names = [case.name for family in {*FAMILIES, *SWAP_FAMILIES} for case in cases_of(family) if case.layout == layout]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(("layout", "kernel"), WITH_SWAP)
def test_swap_shows_only_after_memory_was_used(layout: str, kernel: str) -> None:
    plain = {one.case.name: _until_memory_is_used(one) for one in load(layout, kernel).cases}
    differing = [
        one.case.name
        for one in load(layout, kernel, SWAP).cases
        if one.case.name in plain
        for answer, other in zip(_until_memory_is_used(one), plain[one.case.name], strict=True)
        if answer != other and VARIES not in (answer, other)
    ]
    assert differing == []


@pytest.mark.parametrize(("layout", "kernel"), [pair for pair in WITH_SWAP if pair not in NO_MEMORY])
def test_swap_shows_after_memory_was_used(layout: str, kernel: str) -> None:
    plain = {one.case.name: one.answers for one in load(layout, kernel).cases}
    assert any(one.answers != plain[one.case.name] for one in load(layout, kernel, SWAP).family("memory"))


def _until_memory_is_used(one: RecordedCase) -> tuple[Answer, ...]:
    used = (number for number, op in enumerate(one.case.ops) if "alloc" in op)
    return one.answers[: next(used, None)]


@pytest.mark.parametrize("machine", MACHINES)
def test_every_family_has_cases(machine: str) -> None:
    layouts = [all_cases(layout, machine) for layout in LAYOUTS]
    assert all(any(cases[family] for cases in layouts) for family in families(machine))


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
