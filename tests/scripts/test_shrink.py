"""How a case that differs is made short, with a target that differs by rule; no kernel is asked."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from fakecgroup.conformance.case import Case
from fakecgroup.conformance.replay import Difference, Result
from fakecgroup.conformance.tally import Tally
from oracle_vm.fuzz import FuzzOutcome
from oracle_vm.nightly import Turn, nightly
from oracle_vm.shrink import different_forms, shrink

Differs = Callable[[Sequence[Any]], int | None]


def result_of(case: Case, differs: Differs) -> Result:
    at = differs([op[1] for op in case.ops])
    found = () if at is None else (Difference(case, at, (None, "kernel"), (None, "model")),)
    return Result(case, len(case.ops), {}, found)


def case_of(paths: Sequence[str], name: str = "x") -> Case:
    return Case(name, "v2", tuple(("read", path) for path in paths))


class Target:
    """Differs by a rule; counts the batches."""

    def __init__(self, differs: Differs) -> None:
        self.differs = differs
        self.batches = 0

    def __call__(self, cases: Sequence[Case]) -> list[Result]:
        self.batches += 1
        return [result_of(case, self.differs) for case in cases]


def after(*needed: str) -> Differs:
    """Differs at the last of these, once the others came before it in this order."""

    def differs(paths: Sequence[Any]) -> int | None:
        left = list(needed)
        for position, path in enumerate(paths):
            if path == left[0]:
                left.pop(0)
                if not left:
                    return position
        return None

    return differs


def shrunk(paths: Sequence[str], differs: Differs) -> list[str]:
    (result,) = shrink([result_of(case_of(paths), differs)], Target(differs), lambda text: None)
    assert result.differences[0].index == len(result.case.ops) - 1
    return [op[1] for op in result.case.ops]


def test_only_what_is_needed_is_left() -> None:
    chance = random.Random(1)
    for length in (1, 2, 7, 60, 200):
        paths = [f"n{chance.randrange(50)}" for _ in range(length)]
        needed = sorted(chance.sample(range(length), min(4, length)))
        for position in needed:
            paths[position] = f"needed {position}"
        wanted = [paths[position] for position in needed]
        assert shrunk(paths, after(*wanted)) == wanted


def test_what_comes_after_the_difference_is_left_out() -> None:
    assert shrunk(["a", "b", "c", "d"], after("b")) == ["b"]


def test_pairs_that_only_go_together_stay() -> None:
    def differs(paths: Sequence[Any]) -> int | None:
        return len(paths) - 1 if paths[-1] == "z" and paths.count("a") == paths.count("b") else None

    assert shrunk(["a", "b", "x", "z"], differs) in (["a", "b", "z"], ["z"])


def test_cases_are_asked_together() -> None:
    differs = after("a", "z")
    cases = [case_of(["a", *(f"n{n}" for n in range(40)), "z"], name=f"case {n}") for n in range(20)]
    target = Target(differs)
    results = shrink([result_of(case, differs) for case in cases], target, lambda text: None)
    assert [result.case.name for result in results] == [case.name for case in cases]
    assert all(len(result.case.ops) == 2 for result in results)
    assert target.batches < 20


def test_the_same_operations_under_other_names_are_one_form() -> None:
    cases = [
        Case("1", "v2", (("mkdir", "a"), ("mkdir", "a/b"), ("read", "a/pids.max"))),
        Case("2", "v2", (("mkdir", "c"), ("mkdir", "c/a"), ("read", "c/pids.max"))),
        Case("3", "v2", (("mkdir", "c"), ("mkdir", "c/a"), ("read", "c/pids.peak"))),
    ]
    results = [Result(case, 3, {}, ()) for case in cases]
    assert [result.case.name for result in different_forms(results)] == ["1", "3"]


def test_a_night_takes_turns_with_fresh_seeds_until_its_time_is_over() -> None:
    clock = iter(range(0, 1000, 60))
    asked: list[tuple[str, int]] = []

    def run(kernel: Any, layout: str, operations: int, seed: int, *rest: Any) -> FuzzOutcome:
        asked.append((kernel.series, seed))
        tally = Tally("random", cases=1, compared=operations)
        outcome = FuzzOutcome(tally)
        if kernel.series == "6.1":
            difference = Difference(case_of(["a"]), 0, (None, "k"), ("EINVAL", None))
            tally.differences.append(difference)
            outcome.shortest.append(Result(difference.case, 1, {}, (difference,)))
        return outcome

    said: list[str] = []
    every: Any = [Turn(SimpleNamespace(series=series), "v2", "") for series in ("6.1", "6.12")]  # type: ignore[arg-type]
    night = nightly(every, 3, said.append, lambda text: None, run, lambda: next(clock))
    assert [series for series, _ in asked] == ["6.1", "6.12", "6.1"]
    assert len({seed for _, seed in asked}) == 3
    assert (night.turns, night.differing) == (3, 2)
    cases = [line for line in said if not line.startswith("#")]
    assert cases == ['{"name": "x", "layout": "v2", "ops": [["read", "a"]]}'] * 2
