"""Who waits, so that busy groups share the CPUs by their weights. The kernel below would give each process the same."""

from __future__ import annotations

import pytest

from fakecgroup.effects.fair_share import fill
from fakecgroup_mount.enforce.shares import AHEAD, BEHIND, Arena, Contestant, Node, arenas

MS = 1_000_000
ONE, TWO = frozenset({0}), frozenset({0, 1})


def busy(node: Node, cpus: frozenset[int] = ONE, demand: float = 1.0) -> Contestant:
    return Contestant(node, cpus, demand)


def play(contestants: list[Contestant], cpus: frozenset[int], seconds: int = 20) -> dict[Node, float]:
    """The CPUs that each group gets, if it is looked at each 20 ms, without the first half of the time."""
    arena, used = Arena(cpus), dict.fromkeys([one.node for one in contestants], 0.0)
    for step in range(seconds * 50):
        if step % 5 == 0:
            arena.divide(contestants, len(cpus))
        running = [one for one in contestants if not one.waits]
        for one, rate in zip(running, fill(len(cpus), [(1, one.demand) for one in running]), strict=True):
            one.used = round(rate * 20 * MS)
            if step >= seconds * 25:
                used[one.node] += rate * 20 * MS
        arena.settle()
        arena.choose()
    return {node: ns / (seconds / 2 * 1e9) for node, ns in used.items()}


def rates(contestants: list[Contestant], cpus: frozenset[int] = ONE) -> list[float]:
    return list(play(contestants, cpus).values())


def test_three_groups_on_one_cpu_get_what_their_weights_say() -> None:
    found = rates([busy(Node(None, weight)) for weight in (1024, 3072, 6144)])
    assert found == pytest.approx([0.1, 0.3, 0.6], rel=0.02)


def test_the_number_of_processes_in_a_group_does_not_matter() -> None:
    many, one = Node(None), Node(None)
    assert rates([busy(many), busy(many), busy(many), busy(one)]) == pytest.approx([0.5, 0.5], rel=0.02)


def test_weights_count_among_siblings() -> None:
    above = Node(None, 3072)
    parts = [busy(Node(above, 1024)), busy(Node(above, 2048)), busy(Node(None, 1024))]
    assert rates(parts) == pytest.approx([0.25, 0.5, 0.25], rel=0.02)


def test_a_group_that_is_alone_gets_everything() -> None:
    (alone,) = rates([busy(Node(None, 2))])
    assert alone == 1


def test_nobody_waits_where_there_are_cpus_for_all() -> None:
    assert rates([busy(Node(None, 2), TWO), busy(Node(None, 10_000), TWO)], TWO) == [1, 1]


def test_what_a_group_cannot_use_goes_to_the_others() -> None:
    idler = Node(None, 9216)
    parts = [busy(idler, demand=0.1), busy(Node(None, 1024)), busy(Node(None, 2048))]
    assert rates(parts) == pytest.approx([0.1, 0.3, 0.6], rel=0.05)


def test_one_thread_gets_no_more_than_a_cpu_and_no_cpu_is_free() -> None:
    heavy, light = Node(None, 9216), Node(None, 1024)
    assert rates([busy(heavy, TWO), *(busy(light, TWO) for _ in range(4))], TWO) == pytest.approx([1, 1], rel=0.02)


def test_others_share_by_weight_beside_one_that_cannot_use_its_part() -> None:
    parts = [busy(Node(None, weight), TWO) for weight in (1024, 3072, 6144)]
    assert rates(parts, TWO) == pytest.approx([0.25, 0.75, 1], rel=0.05)


def test_a_quota_leaves_the_rest_to_the_others() -> None:
    parts = [busy(Node(None, 9216, most=0.2), demand=0.2), busy(Node(None, 1024))]
    assert rates(parts) == pytest.approx([0.2, 0.8], rel=0.05)


def test_nobody_waits_for_one_that_its_quota_holds() -> None:
    limited, other = busy(Node(None, 512, most=0.18)), busy(Node(None, 1024))
    arena = Arena(ONE)
    arena.divide([limited, other], 1)
    other.used = 100 * MS  # the first was throttled
    arena.settle()
    arena.choose()
    assert not other.waits


def test_those_below_one_quota_share_it_by_their_weights() -> None:
    limited, other = Node(None, most=0.5), busy(Node(None))
    light, heavy = busy(Node(limited, 1024)), busy(Node(limited, 3072))
    arena = Arena(ONE)
    arena.divide([light, heavy, other], 1)
    light.used = heavy.used = 25 * MS
    other.used = 50 * MS
    arena.settle()
    arena.choose()
    assert (light.waits, heavy.waits, other.waits) == (True, False, False)


def test_a_spared_process_never_waits() -> None:
    light, heavy = busy(Node(None, 2)), busy(Node(None, 10_000))
    light.spared = True
    play([light, heavy], ONE)
    assert not light.waits


def test_within_a_group_that_goes_first_that_had_least() -> None:
    light = Node(None, 1024)
    parts = [busy(light, TWO) for _ in range(3)]
    play([*parts, busy(Node(None, 9216), TWO)], TWO)
    assert max(one.lately for one in parts) - min(one.lately for one in parts) < 100 * MS


def test_one_that_comes_later_is_not_owed_the_past() -> None:
    arena, first, second, third = Arena(ONE), *(busy(Node(None)) for _ in range(3))
    arena.divide([first, second], 1)
    for _ in range(100):
        first.used = 20 * MS
        arena.settle()
    arena.divide([first, second, third], 1)
    third.used = BEHIND + 2 * AHEAD
    arena.settle()
    arena.choose()
    assert third.waits


def test_those_compete_whose_cpus_overlap() -> None:
    node = Node(None)
    left, right, both = busy(node, frozenset({0})), busy(node, frozenset({1})), busy(node, frozenset({0, 1}))
    other, idle = busy(node, frozenset({2, 3})), busy(node, frozenset({0}), demand=0.0)
    found = {cpus: set(members) for cpus, members in arenas([left, right, other, idle, both])}
    assert found == {frozenset({0, 1}): {left, right, both}, frozenset({2, 3}): {other}}
