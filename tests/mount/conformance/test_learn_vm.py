"""A booted kernel is asked all cases; a function that answers as a known kernel takes the machine's place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from fakecgroup.conformance import recording
from fakecgroup.conformance.case import Answer, Case
from fakecgroup.conformance.recording import VARIES
from fakecgroup_mount.conformance import learn_vm
from fakecgroup_mount.conformance.asked_kernel import AskedKernel
from fakecgroup_mount.vm.asking import AnsweredCase
from fakecgroup_mount.vm.errors import MachineError
from fakecgroup_mount.vm.image import Image
from fakecgroup_mount.vm.wire import RawCase

DISKS = "major\n\n259 0 1 nvme0n1\n259 1 1 nvme1n1\n"
Change = Callable[[Case, list[Answer]], list[Answer]]


class StandIn:
    """Answers as 6.12 does; `change` may make another answer of it. Notes how many cases each boot was asked."""

    def __init__(self, filesystems: str = "nodev\tcgroup2\n", disks: str = DISKS) -> None:
        self.about: list[Answer] = [
            (None, "6.13.1-test\n"), (None, filesystems), (None, ""), (None, disks), ("ENOENT@open", None)
        ]  # fmt: skip
        self.change: Change = lambda case, answers: answers
        self.asked: list[int] = []
        whole = recording.load("v2", "6.12")
        self.cases = [one.case for one in whole.cases if one.family == "file_sets"]
        self._known = {one.case.digest: list(one.answers) for one in whole.cases}

    def ask(self, image: Image, layout: str, cases: Sequence[Case], report: object) -> list[AnsweredCase]:
        self.asked.append(len(cases))
        return [AnsweredCase(case, RawCase({}, self._answers(case), "ok")) for case in cases]

    def _answers(self, case: Case) -> list[Answer]:
        return self.about if case.name == "survey" else self.change(case, self._known[case.digest])


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> StandIn:
    stand_in = StandIn()
    monkeypatch.setattr(learn_vm, "ask", stand_in.ask)
    monkeypatch.setattr(learn_vm, "all_cases", lambda layout: {"file_sets": stand_in.cases})
    monkeypatch.setattr(learn_vm, "read_image", lambda file, initrd: Image("it", tmp_path / "bzImage", "amd64"))
    return stand_in


def asked(*layouts: str) -> AskedKernel:
    return learn_vm.ask_vm("bzImage", None, layouts or ("v2",), lambda line: None)


def test_a_kernel_is_asked_all_cases_and_what_it_is(machine: StandIn) -> None:
    found = asked()
    assert (found.release, [one.layout for one in found.recordings]) == ("6.13.1-test", ["v2"])
    assert [one.case for one in found.recordings[0].cases] == machine.cases
    assert machine.asked == [1 + len(machine.cases)]


def test_a_case_that_no_known_kernel_answers_so_is_asked_twice(machine: StandIn) -> None:
    times = iter(range(9))

    def change(case: Case, answers: list[Answer]) -> list[Answer]:
        return [(None, next(times)), *answers[1:]] if case is machine.cases[0] else answers

    machine.change = change
    found = asked()
    assert found.recordings[0].cases[0].answers[0] == VARIES
    assert machine.asked == [1 + len(machine.cases), 1]


def test_a_layout_that_it_does_not_have_is_left_out(machine: StandIn) -> None:
    found = asked("v1", "v2")
    assert [one.layout for one in found.recordings] == ["v2"]


def test_a_kernel_without_cgroups_teaches_nothing(machine: StandIn) -> None:
    machine.about[1] = (None, "nodev\tproc\n")
    with pytest.raises(MachineError, match="has no cgroups of layout v2: nothing can be learnt of it"):
        asked()


def test_without_a_driver_for_the_disks_their_cases_are_left_out(machine: StandIn) -> None:
    machine.about[3] = (None, "major\n\n")
    with_disks = [case for case in machine.cases if "259:" in str(case.ops)]
    assert len(asked().recordings[0].cases) <= len(machine.cases) - len(with_disks)


def test_build_options_are_read_beside_the_image(machine: StandIn, tmp_path: Path) -> None:
    (tmp_path / "config-6.13.1-test").write_text("CONFIG_MEMCG_V1=y\nCONFIG_NR_CPUS=64\n")
    assert asked().options == {"MEMCG_V1", "NR_CPUS_256"}
