"""Rules of the v1 device controller that people get wrong."""

from __future__ import annotations

from errno import EINVAL, EPERM

import pytest

from fakecgroup import Caller, Kernel


@pytest.fixture
def kernel() -> Kernel:
    """`devices/a`, which denies all but what is allowed, and `devices/a/b` in it."""
    kernel = Kernel("v1", "6.1")
    kernel.mkdir("devices/a")
    kernel.write("devices/a/devices.deny", "a")
    for rule in ("c 1:* rw", "b 8:0 rwm"):
        kernel.write("devices/a/devices.allow", rule)
    kernel.mkdir("devices/a/b")
    return kernel


def test_a_child_begins_with_the_rules_of_its_parent(kernel: Kernel) -> None:
    assert kernel.read("devices/a/b/devices.list") == kernel.read("devices/a/devices.list")


def test_a_child_may_not_have_more_than_its_parent(kernel: Kernel) -> None:
    kernel.write("devices/a/b/devices.allow", "c 1:7 rw")
    for rule in ("c 1:7 m", "c *:7 r", "b 8:1 r", "a"):
        with pytest.raises(OSError) as refused:
            kernel.write("devices/a/b/devices.allow", rule)
        assert refused.value.errno == EPERM, rule


def test_a_denial_is_taken_from_the_children_and_an_allowance_is_not_given_to_them(kernel: Kernel) -> None:
    kernel.write("devices/a/devices.deny", "c 1:* w")
    assert kernel.read("devices/a/b/devices.list") == "c 1:* r\nb 8:0 rwm\n"
    kernel.write("devices/a/devices.allow", "c 1:* w")
    assert kernel.read("devices/a/b/devices.list") == "c 1:* r\nb 8:0 rwm\n"


def test_a_group_with_children_cannot_be_opened_or_closed_as_a_whole(kernel: Kernel) -> None:
    for file in ("allow", "deny"):
        with pytest.raises(OSError) as refused:
            kernel.write(f"devices/a/devices.{file}", "a")
        assert refused.value.errno == EINVAL, file


def test_exceptions_of_an_open_group_are_kept_but_not_shown() -> None:
    kernel = Kernel("v1", "6.1")
    kernel.mkdir("devices/a")
    kernel.write("devices/a/devices.deny", "c 1:3 w")
    kernel.mkdir("devices/a/b")
    assert kernel.read("devices/a/b/devices.list") == "a *:* rwm\n"
    with pytest.raises(OSError) as refused:
        kernel.write("devices/a/b/devices.allow", "c *:3 w")
    assert refused.value.errno == EPERM
    kernel.write("devices/a/b/devices.allow", "c *:3 r")


def test_a_rule_denies_exactly_the_devices_that_it_names(kernel: Kernel) -> None:
    kernel.write("devices/a/devices.deny", "c 1:3 rw")
    assert kernel.read("devices/a/devices.list") == "c 1:* rw\nb 8:0 rwm\n"


def test_only_root_writes_rules_whatever_the_mode_says(kernel: Kernel) -> None:
    kernel.chmod("devices/a/devices.deny", 0o222)
    with pytest.raises(OSError) as refused:
        kernel.write("devices/a/devices.deny", "no rule", Caller(uid=1000, gid=1000))
    assert refused.value.errno == EPERM
