"""A kernel is asked cases; a stand-in takes QEMU's place."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakecgroup.conformance.case import Case
from fakecgroup.conformance.recording import SWAP
from fakecgroup_mount.vm import asking
from fakecgroup_mount.vm.asking import ask
from fakecgroup_mount.vm.errors import MachineError
from fakecgroup_mount.vm.image import Image

from .stand_in import StandIn

IMAGE = Image("the kernel", Path("/boot/vmlinuz"), "amd64")
CASES = [Case(f"case {number}", "v2", (("read", "a"), ("write", "a", "1"))) for number in range(3)]


def asked(machine: str = "plain") -> tuple[list[str], list[str]]:
    """The verdicts, and what was told meanwhile."""
    told: list[str] = []
    answered = ask(IMAGE, "v2", CASES, told.append, machine)
    assert [one.case for one in answered] == CASES
    return [one.verdict for one in answered], told


def test_each_operation_has_its_answer(stand_in: StandIn) -> None:
    answered = ask(IMAGE, "v2", CASES, lambda text: None)
    assert [one.answers() for one in answered] == [[(None, "2"), (None, "3")]] * 3


def test_the_command_line_has_the_image_and_the_machine(stand_in: StandIn) -> None:
    asked()
    for words in (
        "-kernel /boot/vmlinuz",
        "-smp 4",
        "node,nodeid=1,cpus=2-3",
        "drive=disk1",
        "-accel tcg,thread=multi",
    ):
        assert words in stand_in.command
    assert "ORACLE_SWAP" not in stand_in.command


def test_the_machine_with_swap_is_told_to_swap(stand_in: StandIn) -> None:
    asked(SWAP)
    assert "ORACLE_SWAP=1" in stand_in.command


def test_a_case_that_stops_the_machine_is_told_and_the_rest_is_asked(stand_in: StandIn) -> None:
    stand_in.boots("stops 1", "answers")
    assert asked() == (["ok", "hang", "ok"], ["case 'case 1' stopped the machine: it went off"])


def test_a_machine_that_is_silent_for_too_long_is_told(stand_in: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "PATIENCE", 0.0)
    stand_in.boots("wedges 1", "answers")
    assert asked() == (["ok", "hang", "ok"], ["case 'case 1' stopped the machine: it was silent for 0 s"])


def test_a_panic_before_any_case_is_told_and_the_kernel_booted_again(stand_in: StandIn) -> None:
    stand_in.boots("panics not syncing: no init")
    verdicts, told = asked()
    assert verdicts == ["ok"] * 3
    assert told == ["the kernel panicked while it booted, and is booted again: Kernel panic - not syncing: no init"]


def test_two_panics_before_any_case_are_an_error(stand_in: StandIn) -> None:
    stand_in.boots("panics one", "panics two")
    with pytest.raises(MachineError, match=r"^the kernel panicked twice while it booted: Kernel panic - two$"):
        asked()


def test_a_kernel_that_does_not_come_up_is_told_with_what_the_guest_said(stand_in: StandIn) -> None:
    stand_in.boots(*["says no shared memory"] * asking.ATTEMPTS)
    with pytest.raises(
        MachineError,
        match=r"^the kernel did not come up in the virtual machine, 3 times in a row: no shared memory$",
    ):
        asked()


def test_a_failure_of_qemu_is_told_at_once(stand_in: StandIn) -> None:
    stand_in.boots("fails could not load kernel")
    with pytest.raises(MachineError, match=r"^qemu-system-x86_64 failed with 1: could not load kernel$"):
        asked()


def test_a_missing_qemu_is_one_line_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(MachineError) as caught:
        asked()
    assert str(caught.value) == (
        "missing: qemu-system-x86_64, to boot a kernel; on Debian: apt-get install qemu-system-x86"
    )


def test_many_cases_are_asked_in_batches_and_keep_their_order(
    stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "BATCH", (1, 1))
    told: list[str] = []
    answered = ask(IMAGE, "v2", CASES, told.append)
    assert [one.case for one in answered] == CASES
    assert {one.verdict for one in answered} == {"ok"}
    assert told == ["1 of 3 cases", "2 of 3 cases", "3 of 3 cases"]


def test_an_error_in_one_batch_ends_the_others(stand_in: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "BATCH", (1, 1))
    stand_in.boots(*["fails no room"] * 3)
    with pytest.raises(MachineError, match="no room"):
        asked()


def test_an_initrd_comes_before_the_guest(stand_in: StandIn, tmp_path: Path) -> None:
    initrd = tmp_path / "initrd"
    initrd.write_bytes(b"modules")
    ask(Image("x", Path("/boot/vmlinuz"), "amd64", initrd=initrd), "v2", CASES, lambda text: None)
    assert str(tmp_path / "guest") not in stand_in.command
    assert "/initrd " in stand_in.command


def test_an_initrd_that_is_gone_is_one_line(stand_in: StandIn, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    with pytest.raises(MachineError, match=f"^{gone}: No such file or directory$"):
        ask(Image("x", Path("/boot/vmlinuz"), "amd64", initrd=gone), "v2", CASES, lambda text: None)
