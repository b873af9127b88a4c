"""System call numbers against the C headers, if installed, and the message on a processor without numbers."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from fakecgroup_mount.calls.table import REFUSED, TRAPPED
from fakecgroup_mount.errors import MountError
from fakecgroup_mount.seccomp import syscalls
from fakecgroup_mount.seccomp.syscalls import ARCHITECTURES, Architecture

INCLUDE = Path("/usr/include")
HEADERS = {"x86_64": "x86_64-linux-gnu/asm/unistd_64.h", "aarch64": "asm-generic/unistd.h"}
DEFINED = re.compile(r"^#define __NR(?:3264)?_(\w+)\s+([0-9]+)$", re.MULTILINE)
RENAMED = re.compile(r"^#define __NR_(\w+) __NR3264_(\w+)$", re.MULTILINE)
AUDIT = {"x86_64": "X86_64", "aarch64": "AARCH64"}
KNOWN = "it traps system calls by their numbers, and has those of x86_64 and aarch64 alone; this is "


def text(header: str) -> str:
    try:
        return (INCLUDE / header).read_text()
    except FileNotFoundError:
        pytest.skip(f"no {header}: install linux-libc-dev (Debian package)")


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_the_numbers_are_those_of_the_c_header(machine: str) -> None:
    defined = {name: int(number) for name, number in DEFINED.findall(text(HEADERS[machine]))}
    for name, other in RENAMED.findall(text(HEADERS[machine])):
        if other in defined:
            defined.setdefault(name, defined[other])
    newest = max(defined.values())
    ours = {name: number for name, number in ARCHITECTURES[machine].numbers.items() if number <= newest}
    assert {name: defined.get(name) for name in ours} == ours
    assert {name for name in {**TRAPPED, **REFUSED} if name in defined} <= ours.keys()


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_the_architecture_is_that_of_the_c_header(machine: str) -> None:
    made_of = re.search(rf"AUDIT_ARCH_{AUDIT[machine]}\s+\(EM_\w+\|(\w+)\|(\w+)\)", text("linux/audit.h"))
    assert made_of is not None
    assert made_of.groups() == ("__AUDIT_ARCH_64BIT", "__AUDIT_ARCH_LE")
    kind = re.search(rf"EM_{AUDIT[machine]}\s+([0-9]+)", text("linux/elf-em.h"))
    assert kind is not None
    assert ARCHITECTURES[machine].audit == 0xC0000000 | int(kind[1])


def test_every_trapped_call_is_on_one_of_them() -> None:
    known = {name for architecture in ARCHITECTURES.values() for name in architecture.numbers}
    assert {*TRAPPED, *REFUSED} <= known


def test_an_unknown_processor_is_told_of_the_known_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "uname", lambda: os.uname_result(("Linux", "", "6.1.0", "", "s390x")))
    monkeypatch.setattr(syscalls, "HERE", Architecture(0, {}))
    with pytest.raises(MountError, match=f"^{KNOWN}s390x$"):
        syscalls.check_machine()


def test_a_32_bit_python_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "uname", lambda: os.uname_result(("Linux", "", "6.1.0", "", "aarch64")))
    monkeypatch.setattr(sys, "maxsize", 2**31 - 1)
    with pytest.raises(MountError, match=f"^{KNOWN}aarch64 with a 32-bit Python$"):
        syscalls.check_machine()
