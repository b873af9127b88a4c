"""Pressure triggers: who may set which, and what a poll says."""

from __future__ import annotations

import os
from errno import EBUSY, EINVAL, ENODEV
from select import POLLERR, POLLIN, POLLOUT, POLLPRI, POLLRDNORM, POLLWRNORM

import pytest

from fakecgroup import Kernel
from fakecgroup.credentials.caller import Caller
from fakecgroup.vfs.openfile import OpenFile

READY = POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM
ALARM = POLLERR | POLLPRI
ROOT = Caller()
USER = Caller(uid=1000, gid=1000)


def opened(version: str = "6.12", name: str = "memory.pressure", who: Caller = ROOT) -> OpenFile:
    kernel = Kernel("v2", version)
    kernel.mkdir("a")
    kernel.chmod(f"a/{name}", 0o666)
    return kernel.open(f"a/{name}", os.O_RDWR, who)


def refused(file: OpenFile, trigger: bytes) -> int | None:
    with pytest.raises(OSError) as caught:
        file.write(trigger, ROOT)
    return caught.value.errno


def test_without_a_trigger_a_poll_is_always_an_error() -> None:
    file = opened()
    file.read(0, 4096)
    assert file.poll() == READY | ALARM


def test_with_a_trigger_a_poll_waits_for_it() -> None:
    file = opened()
    file.write(b"some 150000 1000000", ROOT)
    assert file.poll() == READY


def test_an_open_file_has_one_trigger() -> None:
    file = opened()
    file.write(b"some 150000 1000000", ROOT)
    assert refused(file, b"junk") == EBUSY


def test_the_trigger_of_a_removed_cgroup_is_an_error_again() -> None:
    kernel = Kernel("v2", "6.12")
    kernel.mkdir("a")
    file = kernel.open("a/io.pressure", os.O_RDWR)
    file.write(b"some 150000 1000000", ROOT)
    kernel.rmdir("a")
    assert file.poll() == READY | ALARM
    assert refused(file, b"some 150000 1000000") == ENODEV


@pytest.mark.parametrize(("version", "error"), [("5.10", EINVAL), ("6.1", EINVAL), ("6.12", None), ("7.2", None)])
def test_a_window_below_half_a_second_needs_a_newer_kernel(version: str, error: int | None) -> None:
    file = opened(version)
    if error is None:
        file.write(b"some 1 499999", ROOT)
    else:
        assert refused(file, b"some 1 499999") == error


@pytest.mark.parametrize("version", ["6.1", "6.12", "7.2"])
def test_an_unprivileged_opener_gets_windows_of_two_seconds_whoever_writes(version: str) -> None:
    file = opened(version, who=USER)
    assert refused(file, b"some 1000 3000000") == EINVAL
    file.write(b"some 1000 4000000", ROOT)


def test_5_10_gives_an_unprivileged_opener_any_window() -> None:
    opened("5.10", who=USER).write(b"some 1000 3000000", USER)


def test_5_10_has_no_full_trigger_on_cpu_pressure() -> None:
    assert refused(opened("5.10", "cpu.pressure"), b"full 1000 1000000") == EINVAL


def test_threshold_and_window_are_cut_to_32_bits() -> None:
    opened().write(b"some 4294967297 4295967296", ROOT)
