"""When a cgroup's memory is looked at."""

from __future__ import annotations

from fakecgroup_mount.enforce.looks import FASTEST, LONGEST, SHORTEST, UNSEEN, margin, next_look


def test_a_look_comes_before_the_limit_can_be_reached() -> None:
    assert next_look(FASTEST // 64) == 1 / 64


def test_looks_are_never_too_dense_nor_too_rare() -> None:
    assert (next_look(0), next_look(1 << 50)) == (SHORTEST, LONGEST)


def test_nothing_is_let_be_of_a_small_limit_where_all_is_known_to_the_page() -> None:
    assert (margin(4096, exact=True), margin(4096, exact=False)) == (16, UNSEEN)
    assert margin(1 << 30, exact=True) == margin(1 << 30, exact=False) == 4 << 20
