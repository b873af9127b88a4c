"""How time is cut makes no difference, and neither does how the same is computed."""

from __future__ import annotations

import pytest

from fakecgroup.simulation.cpu_limited import Limited

from .random_trees import make_tree, read_all

_CALM = (2, 14, 21, 33, 56, 62)  # trees in which groups with a quota come and go that get less than it allows


@pytest.mark.parametrize("seed", range(8))
def test_one_step_and_a_hundred_give_the_same_files(seed: int) -> None:
    at_once, paths = make_tree(seed)
    at_once.advance(10)
    in_steps, _ = make_tree(seed)
    for _ in range(100):
        in_steps.advance(0.1)
    assert read_all(in_steps, paths) == read_all(at_once, paths)


@pytest.mark.parametrize("seed", _CALM)
def test_who_is_calm_counts_the_same_as_if_it_was_followed_event_by_event(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calm, paths = make_tree(seed)
    calm.advance(10)
    seen = read_all(calm, paths)
    monkeypatch.setattr(Limited, "_has_enough", lambda self, now: False)
    followed, _ = make_tree(seed)
    followed.advance(10)
    assert read_all(followed, paths) == seen
