"""The seccomp filter's verdicts, from a small interpreter of its instructions (linux/filter.h)."""

from __future__ import annotations

import os
import signal
from errno import ENOSYS, ENOTTY, EPERM
from struct import iter_unpack, pack, unpack_from

import pytest

from fakecgroup.tasks.tid import FIRST_SIMULATED
from fakecgroup_mount.calls.table import REFUSED, TRAPPED
from fakecgroup_mount.host.fork_marks import LOCKS
from fakecgroup_mount.seccomp.filter import program
from fakecgroup_mount.seccomp.syscalls import ARCHITECTURES

LOAD, AND, JUMP_EQUAL, RETURN = 0x20, 0x54, 0x15, 0x06
ASKED, GOES_ON, REFUSED_WITH = 0x7FC00000, 0x7FFF0000, 0x00050000
AUDIT_ARCH_I386, AUDIT_ARCH_ARM = 0x40000003, 0x40000028
X32 = 0x40000000


def verdict(code: bytes, audit: int, number: int, *arguments: int) -> int:
    """What the filter returns for a call (struct seccomp_data)."""
    data = pack("=iIQ6Q", number, audit, 0, *arguments, *[0] * (6 - len(arguments)))
    instructions = list(iter_unpack("=HBBI", code))
    at = word = 0
    while True:
        operation, if_true, if_false, operand = instructions[at]
        at += 1
        if operation == RETURN:
            return int(operand)
        if operation == LOAD:
            (word,) = unpack_from("=I", data, operand)
        elif operation == AND:
            word &= operand
        else:
            assert operation == JUMP_EQUAL
            at += if_true if word == operand else if_false


@pytest.fixture(params=ARCHITECTURES)
def machine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def asked(machine: str, name: str, *arguments: int) -> bool:
    audit, numbers = ARCHITECTURES[machine]
    found = verdict(program(TRAPPED, REFUSED, ARCHITECTURES[machine]), audit, numbers[name], *arguments)
    assert found in (ASKED, GOES_ON)
    return found == ASKED


@pytest.mark.parametrize("name", [name for name, condition in TRAPPED.items() if condition is None])
def test_a_trapped_call_is_asked_about_whatever_its_arguments(machine: str, name: str) -> None:
    if name in ARCHITECTURES[machine].numbers:
        assert asked(machine, name)
        assert asked(machine, name, *[2**64 - 1] * 6)


def test_an_open_is_asked_about_that_reads_and_makes_no_file(machine: str) -> None:
    for flags in (0, os.O_CLOEXEC, os.O_NONBLOCK | os.O_NOFOLLOW, 1 << 32, os.O_RDWR | os.O_CLOEXEC):
        assert asked(machine, "openat", 5, 0, flags)
    for flags in (os.O_WRONLY, os.O_RDWR | os.O_CREAT, os.O_CREAT, os.O_DIRECTORY):
        assert not asked(machine, "openat", 5, 0, flags)


def test_a_signal_is_asked_about_to_every_process_and_to_simulated_ones(machine: str) -> None:
    for pid in (-1 & 0xFFFFFFFF, FIRST_SIMULATED, 2 * FIRST_SIMULATED - 1):
        assert asked(machine, "kill", pid, 9)
    for pid in (0, 1, 4_194_304, -100 & 0xFFFFFFFF, 2 * FIRST_SIMULATED):
        assert not asked(machine, "kill", pid, 9)
    assert asked(machine, "tgkill", FIRST_SIMULATED, 1, 9)
    assert not asked(machine, "tgkill", 1, FIRST_SIMULATED, 9)


def test_limits_are_asked_about_where_they_are_of_locks(machine: str) -> None:
    assert asked(machine, "prlimit64", 0, LOCKS)
    assert asked(machine, "setrlimit", LOCKS)
    assert asked(machine, "getrlimit", LOCKS)
    assert not asked(machine, "prlimit64", LOCKS, 7)
    assert not asked(machine, "setrlimit", 7, LOCKS)


def test_handlers_are_asked_about_where_they_are_of_sigchld(machine: str) -> None:
    assert asked(machine, "rt_sigaction", signal.SIGCHLD)
    assert not asked(machine, "rt_sigaction", signal.SIGTERM)


@pytest.mark.parametrize("name", ["io_uring_setup", "statmount", "listmount"])
def test_a_refused_call_fails(machine: str, name: str) -> None:
    architecture = ARCHITECTURES[machine]
    code = program(TRAPPED, REFUSED, architecture)
    assert verdict(code, architecture.audit, architecture.numbers[name]) == REFUSED_WITH | ENOSYS


def test_what_an_ioctl_tells_of_a_pidfd_is_refused(machine: str) -> None:
    audit, numbers = ARCHITECTURES[machine]
    code = program(TRAPPED, REFUSED, ARCHITECTURES[machine])
    pidfd_get_info, tcgets = 0xC040FF0B, 0x5401
    assert verdict(code, audit, numbers["ioctl"], 7, pidfd_get_info) == REFUSED_WITH | ENOTTY
    assert verdict(code, audit, numbers["ioctl"], 7, tcgets) == GOES_ON


def test_all_other_calls_go_on(machine: str) -> None:
    architecture = ARCHITECTURES[machine]
    code = program(TRAPPED, REFUSED, architecture)
    ours = architecture.by_number({**TRAPPED, **REFUSED})
    others = [number for number in range(600) if number not in ours]
    assert {verdict(code, architecture.audit, number) for number in others} == {GOES_ON}


@pytest.mark.parametrize("audit", [AUDIT_ARCH_I386, AUDIT_ARCH_ARM])
def test_programs_for_another_processor_go_on_but_make_no_file_system(machine: str, audit: int) -> None:
    mount, fsopen, remount, bind, old_magic = 21, 430, 32, 4096, 0xC0ED0000
    code = program(TRAPPED, REFUSED, ARCHITECTURES[machine])
    assert {verdict(code, audit, number) for number in range(600) if number not in (mount, fsopen)} == {GOES_ON}
    assert {verdict(code, audit, mount, 1, 1, 1, flags) for flags in (remount, bind, bind | 1)} == {GOES_ON}
    assert {verdict(code, audit, mount, 1, 1, 1, flags) for flags in (0, 1, old_magic)} == {REFUSED_WITH | EPERM}
    assert verdict(code, audit, fsopen) == REFUSED_WITH | EPERM


def test_x32_programs_go_on_but_make_no_file_system() -> None:
    machine = ARCHITECTURES["x86_64"]
    code = program(TRAPPED, REFUSED, machine)
    refused = {number for number in range(600) if verdict(code, machine.audit, X32 | number) != GOES_ON}
    assert refused == {machine.numbers["mount"], machine.numbers["fsopen"]}
