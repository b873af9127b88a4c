"""Rules of the v1 freezer that people get wrong."""

from __future__ import annotations

from errno import EINVAL

import pytest

from fakecgroup import Kernel


@pytest.fixture
def kernel() -> Kernel:
    kernel = Kernel("v1", "6.1")
    kernel.mkdir("freezer/a")
    kernel.mkdir("freezer/a/b")
    return kernel


def states(kernel: Kernel, group: str) -> tuple[str, str, str]:
    """State, self_freezing and parent_freezing."""
    first, second, third = (
        kernel.read(f"freezer/{group}/freezer.{name}").strip() for name in ("state", "self_freezing", "parent_freezing")
    )
    return first, second, third


def test_a_group_below_a_frozen_one_is_frozen_and_says_by_whom(kernel: Kernel) -> None:
    kernel.write("freezer/a/freezer.state", "FROZEN")
    assert states(kernel, "a") == ("FROZEN", "1", "0")
    assert states(kernel, "a/b") == ("FROZEN", "0", "1")


def test_thawing_below_a_frozen_group_is_accepted_and_has_no_effect_yet(kernel: Kernel) -> None:
    kernel.write("freezer/a/b/freezer.state", "FROZEN")
    kernel.write("freezer/a/freezer.state", "FROZEN")
    kernel.write("freezer/a/b/freezer.state", "THAWED")
    assert states(kernel, "a/b") == ("FROZEN", "0", "1")
    kernel.write("freezer/a/freezer.state", "THAWED")
    assert states(kernel, "a/b") == ("THAWED", "0", "0")


def test_a_group_keeps_its_own_state_when_its_parent_thaws(kernel: Kernel) -> None:
    kernel.write("freezer/a/b/freezer.state", "FROZEN")
    kernel.write("freezer/a/freezer.state", "FROZEN")
    kernel.write("freezer/a/freezer.state", "THAWED")
    assert states(kernel, "a/b") == ("FROZEN", "1", "0")


def test_a_new_group_below_a_frozen_one_is_frozen(kernel: Kernel) -> None:
    kernel.write("freezer/a/freezer.state", "FROZEN")
    kernel.mkdir("freezer/a/c")
    assert states(kernel, "a/c") == ("FROZEN", "0", "1")


def test_freezing_is_a_state_to_read_and_not_to_write(kernel: Kernel) -> None:
    with pytest.raises(OSError) as refused:
        kernel.write("freezer/a/freezer.state", "FREEZING")
    assert refused.value.errno == EINVAL
