"""What of a process's memory is certainly charged to a cgroup."""

from __future__ import annotations

import pytest

from fakecgroup_mount.enforce.footprint import Footprint
from fakecgroup_mount.enforce.ledger import Ledger

MIB = 1 << 20


def seen(anon: int, *, share: int | None = None, swap: int = 0, image: object = "sh") -> Footprint:
    return Footprint(anon * MIB, (anon if share is None else share) * MIB, swap, 1, image)


@pytest.fixture
def ledger() -> Ledger:
    """Process 7 came into cgroup "a" with 30 MiB."""
    ledger = Ledger()
    ledger.begin(7, "sh", None)
    ledger.place(7, ["a"], [], 30 * MIB)
    return ledger


def test_what_it_had_before_is_not_charged(ledger: Ledger) -> None:
    assert ledger.certain(7, "a", seen(100)) == 70 * MIB


def test_another_program_is_charged_where_it_is(ledger: Ledger) -> None:
    assert ledger.certain(7, "a", seen(100, image="python")) == 100 * MIB


def test_what_it_has_freed_of_that_is_charged_when_it_grows_again(ledger: Ledger) -> None:
    ledger.certain(7, "a", seen(10))
    assert ledger.certain(7, "a", seen(100)) == 90 * MIB


def test_what_comes_back_from_swap_is_no_growth(ledger: Ledger) -> None:
    ledger.certain(7, "a", seen(10, swap=20 * MIB))
    assert ledger.certain(7, "a", seen(30)) == 0


def test_shared_pages_count_once(ledger: Ledger) -> None:
    assert ledger.certain(7, "a", seen(100, share=50)) == 50 * MIB


def test_a_child_inherits_what_its_parent_had_before(ledger: Ledger) -> None:
    ledger.begin(8, "sh", 7)
    ledger.place(8, ["a"], ["a"], 60 * MIB)
    assert ledger.certain(8, "a", seen(60)) == 30 * MIB


def test_a_child_inherits_what_its_parent_has_freed_since(ledger: Ledger) -> None:
    ledger.certain(7, "a", seen(1))
    ledger.begin(8, "sh", 7)
    ledger.place(8, ["a"], ["a"], 60 * MIB)
    assert ledger.certain(8, "a", seen(60)) == 30 * MIB


def test_a_child_inherits_what_its_parent_had_in_another_program(ledger: Ledger) -> None:
    ledger.renew(7, "python")
    ledger.begin(8, "sh", 7)
    ledger.place(8, ["a"], ["a"], 60 * MIB)
    assert ledger.certain(8, "a", seen(60)) == 30 * MIB


def test_of_a_program_that_was_not_seen_before_only_what_it_grows_by_is_certain(ledger: Ledger) -> None:
    ledger.begin(8, "python", 7)
    ledger.place(8, ["a"], ["a"], 10 * MIB)
    assert ledger.certain(8, "a", seen(60, image="python")) == 50 * MIB


def test_a_process_that_left_and_came_back_begins_anew(ledger: Ledger) -> None:
    ledger.place(7, ["a"], [], 90 * MIB)
    assert ledger.certain(7, "a", seen(100)) == 10 * MIB


def test_a_process_that_stayed_keeps_its_charges_when_it_goes_below(ledger: Ledger) -> None:
    ledger.place(7, ["a", "b"], ["a"], 90 * MIB)
    assert (ledger.certain(7, "a", seen(100)), ledger.certain(7, "b", seen(100))) == (70 * MIB, 10 * MIB)


def test_nothing_is_charged_where_it_is_not(ledger: Ledger) -> None:
    assert ledger.certain(7, "z", seen(100)) == 0


def test_those_that_are_gone_are_forgotten(ledger: Ledger) -> None:
    ledger.keep([])
    assert 7 not in ledger


def test_what_was_counted_roughly_is_not_exact_until_another_program(ledger: Ledger) -> None:
    assert ledger.is_exact([7])
    ledger.place(7, ["b"], [], 90 * MIB, exact=False)
    assert not ledger.is_exact([7])
    ledger.place(7, ["b"], ["b"], 0)
    assert not ledger.is_exact([7])
    ledger.renew(7, "python")
    assert ledger.is_exact([7])
