"""Device programs attached to cgroups, from the model alone. The answers are those of Linux 6.18 to root."""

from __future__ import annotations

from collections.abc import Callable
from errno import E2BIG, EINVAL, ENOENT, EPERM, errorcode

import pytest

from fakecgroup import Kernel
from fakecgroup.core.cgroup import Cgroup
from fakecgroup.outside.device_programs import (
    ALLOW_MULTI,
    ALLOW_OVERRIDE,
    REPLACE,
    DevicePrograms,
    check_flags,
    check_size,
)

MULTI = ALLOW_MULTI


@pytest.fixture
def kernel() -> Kernel:
    kernel = Kernel(layout="v2")
    kernel.mkdir("/a")
    kernel.mkdir("/a/b")
    return kernel


@pytest.fixture
def cgroups(kernel: Kernel) -> tuple[Cgroup, Cgroup, Cgroup]:
    """The root, /a and /a/b."""
    top = kernel.hierarchies[0].root
    a, b = top.descendants()
    return top, a, b


def said(work: Callable[[], object]) -> object:
    """0, or the errno's name."""
    try:
        work()
    except OSError as error:
        assert error.errno is not None
        return errorcode[error.errno]
    return 0


class Probe:
    """Attaches and detaches, and says what became of it."""

    def __init__(self) -> None:
        self.programs = DevicePrograms()

    def attach(self, cgroup: Cgroup, program: int, flags: int = 0, replaced: int | None = None) -> object:
        return said(lambda: self.programs.attach(cgroup, program, flags, replaced))

    def detach(self, cgroup: Cgroup, program: int | None = None) -> object:
        return said(lambda: self.programs.detach(cgroup, program))


def test_programs_that_allow_others_run_together(cgroups: tuple[Cgroup, Cgroup, Cgroup]) -> None:
    probe, (top, a, b) = Probe(), cgroups
    p, q, r = (probe.programs.load() for _ in range(3))
    assert [probe.attach(a, p, MULTI), probe.attach(a, p, MULTI), probe.attach(a, q, MULTI)] == [0, "EINVAL", 0]
    assert probe.programs.attached(a) == ([p, q], MULTI)
    assert [probe.attach(a, r), probe.attach(a, r, ALLOW_OVERRIDE), probe.attach(b, r)] == ["EPERM", "EPERM", 0]
    assert probe.attach(b, r, MULTI) == "EPERM"
    assert [probe.programs.effective(cgroup) for cgroup in (b, a, top)] == [[r, p, q], [p, q], []]


def test_a_program_takes_the_place_of_another(cgroups: tuple[Cgroup, Cgroup, Cgroup]) -> None:
    probe, (_, a, _) = Probe(), cgroups
    p, q, r, s = (probe.programs.load() for _ in range(4))
    probe.attach(a, p, MULTI)
    probe.attach(a, q, MULTI)
    assert probe.attach(a, s, MULTI | REPLACE, p) == 0
    assert probe.programs.attached(a) == ([s, q], MULTI)
    assert probe.attach(a, s, MULTI | REPLACE, q) == "EINVAL"
    assert probe.attach(a, r, MULTI | REPLACE, p) == "ENOENT"
    assert probe.attach(a, r, MULTI | REPLACE, q) == 0
    assert probe.programs.attached(a) == ([s, r], MULTI)
    assert [probe.detach(a, p), probe.detach(a), probe.detach(a, s), probe.detach(a, r)] == ["ENOENT", "EINVAL", 0, 0]
    assert probe.programs.attached(a) == ([], 0)
    assert probe.detach(a, r) == "ENOENT"


def test_one_that_allows_no_other_forbids_all_below(cgroups: tuple[Cgroup, Cgroup, Cgroup]) -> None:
    probe, (_, a, b) = Probe(), cgroups
    p, q = (probe.programs.load() for _ in range(2))
    assert probe.attach(a, p) == 0
    assert [probe.attach(b, q), probe.attach(b, q, MULTI)] == ["EPERM", "EPERM"]
    assert probe.attach(a, q) == 0
    assert probe.programs.attached(a) == ([q], 0)
    assert probe.attach(a, p, ALLOW_OVERRIDE) == "EPERM"
    assert probe.detach(a, p) == 0  # whichever it is


def test_one_that_may_be_overridden_is(cgroups: tuple[Cgroup, Cgroup, Cgroup]) -> None:
    probe, (_, a, b) = Probe(), cgroups
    p, q, r = (probe.programs.load() for _ in range(3))
    assert [probe.attach(a, p, ALLOW_OVERRIDE), probe.attach(b, q, ALLOW_OVERRIDE)] == [0, 0]
    assert probe.programs.effective(b) == [q]
    assert probe.attach(b, r) == "EPERM"
    assert probe.programs.attached(b) == ([q], ALLOW_OVERRIDE)


@pytest.mark.parametrize("flags", [ALLOW_OVERRIDE | MULTI, REPLACE, ALLOW_OVERRIDE | REPLACE])
def test_flags_that_exclude_each_other(cgroups: tuple[Cgroup, Cgroup, Cgroup], flags: int) -> None:
    probe = Probe()
    assert probe.attach(cgroups[1], probe.programs.load(), flags) == errorcode[EINVAL]


def test_what_no_program_is(cgroups: tuple[Cgroup, Cgroup, Cgroup]) -> None:
    probe = Probe()
    assert said(lambda: check_flags(8)) == errorcode[EINVAL]
    assert [said(lambda: check_size(number)) for number in (0, 1_000_001)] == [errorcode[E2BIG]] * 2  # noqa: B023
    assert said(lambda: probe.programs.require(0xFFFFFFF0)) == errorcode[ENOENT]
    assert probe.detach(cgroups[1]) == errorcode[ENOENT]


def test_a_cgroup_has_at_most_64_programs(cgroups: tuple[Cgroup, Cgroup, Cgroup]) -> None:
    probe, (_, a, _) = Probe(), cgroups
    assert {probe.attach(a, probe.programs.load(), MULTI) for _ in range(64)} == {0}
    assert probe.attach(a, probe.programs.load(), MULTI) == errorcode[E2BIG]
    assert probe.attach(a, probe.programs.load()) == errorcode[EPERM]  # which is looked at first
