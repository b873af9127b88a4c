"""Whom the OOM killer takes."""

from __future__ import annotations

from fakecgroup.effects.oom import IMMUNE, badness, choose

_MIB = 256  # pages


def test_points_are_the_pages_in_memory_in_swap_and_of_page_tables() -> None:
    assert badness(rss=1000, swap=20, tables=3, limit=100 * _MIB) == 1023


def test_oom_score_adj_counts_in_thousandths_of_the_limit_rounded_down() -> None:
    assert badness(rss=1000, adj=500, limit=25_999) == 1000 + 500 * 25


def test_under_a_limit_of_less_than_a_thousand_pages_oom_score_adj_does_not_matter() -> None:
    assert badness(rss=10, adj=999, limit=999) == 10


def test_points_may_be_negative() -> None:
    assert badness(rss=10, adj=-999, limit=25_600) == 10 - 999 * 25


def test_an_oom_score_adj_of_minus_1000_is_immune() -> None:
    assert badness(rss=10**6, adj=IMMUNE, limit=25_600) is None


def test_the_process_with_the_most_points_is_killed() -> None:
    assert choose([("small", 10), ("big", 30), ("middle", 20)]) == "big"


def test_of_processes_with_equal_points_the_last_is_killed() -> None:
    assert choose([("first", 30), ("last", 30), ("small", 10)]) == "last"


def test_a_process_with_negative_points_is_killed_if_there_is_no_other() -> None:
    assert choose([("protected", -500), ("immune", None)]) == "protected"


def test_nobody_is_killed_where_all_are_immune() -> None:
    assert choose([("one", None), ("other", None)]) is None
