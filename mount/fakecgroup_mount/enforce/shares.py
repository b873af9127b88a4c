"""Who waits, so that busy groups share the CPUs that they compete for by their weights.

The policy is that of `effects.fair_share`. `divide` takes what processes would use, and finds how much of the CPUs each
group should get. Between two looks each group is credited with its part of all that was used, and charged with what it
has used itself. One that was charged too much is ahead. `choose` has its processes wait, unless a CPU would then be
free. So a group that is alone gets everything, and what comes out is right on the average. Times are ns.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from fakecgroup.effects.fair_share import NICE_0_LOAD, Share, distribute

AHEAD = 4_000_000
"""ns that a group may be ahead before it waits."""
BEHIND = 30_000_000
"""ns that a group may be behind: more it could not use."""
_STAY = 20_000_000  # ns that one may have used more than another of his group before that takes his place
_FREE = 0.1  # of a CPU: less is not free
_TINY = 1e-9  # CPUs
_LEAST = 0.02  # CPUs; who would use less does not compete


@dataclass(slots=True, eq=False)
class Node:
    """A group of the cpu controller: its `weight` in shares, and the CPUs that its quota allows at the `most`."""

    parent: Node | None
    weight: int = NICE_0_LOAD
    most: float = float("inf")


@dataclass(slots=True, eq=False)
class Contestant:
    """A process in a group: the `cpus` that it may use, and how many it would use (`demand`).

    It `waits` as `choose` has decided, unless it is `spared`. Of those in its group that has used least `lately` (ns)
    goes first.
    """

    node: Node
    cpus: frozenset[int] = frozenset()
    demand: float = 0.0
    spared: bool = False
    waits: bool = False
    lately: float = 0.0
    used: int = 0  # since the last `settle`


@dataclass(slots=True, eq=False)
class Seat:
    """A group with processes that compete: its part of the CPUs (0 to 1), and the ns that it is behind (`lag`)."""

    part: float = 0.0
    lag: float = 0.0
    ahead: bool = False
    contestants: list[Contestant] = field(default_factory=list)


class Arena:
    """CPUs, and the processes that compete for them."""

    def __init__(self, cpus: frozenset[int]) -> None:
        self.cpus = cpus
        self.crowded = False
        """Groups compete here: they would use more CPUs than there are."""
        self._seats: dict[Node, Seat] = {}

    def divide(self, contestants: list[Contestant], capacity: float) -> None:
        """Takes who competes, with the demand of each, for so many CPUs."""
        seats, self._seats = self._seats, {}
        for one in contestants:
            seat = self._seats.get(one.node)
            if seat is None:
                seat = self._seats[one.node] = seats.get(one.node) or Seat()
                seat.contestants = []
            seat.contestants.append(one)
            one.lately /= 2
        self.crowded = len(self._seats) > 1 and sum(one.demand for one in contestants) > len(self.cpus) + _FREE
        if self.crowded:
            self._set_parts(min(max(capacity, _FREE), len(self.cpus)))
        else:
            self._seats = {}

    def _set_parts(self, capacity: float) -> None:
        root = Share(most=capacity)
        groups: dict[Node, Share] = {}

        def group(node: Node) -> Share:
            known = groups.get(node)
            if known is None:
                known = groups[node] = Share(node.weight, node.most)
                (root if node.parent is None else group(node.parent)).parts.append(known)
            return known

        processes = {
            node: [Share(max(1, round(NICE_0_LOAD * one.demand)), one.demand) for one in seat.contestants]
            for node, seat in self._seats.items()
        }
        for node, shares in processes.items():
            group(node).parts.extend(shares)
        distribute(root, capacity)
        for node, seat in self._seats.items():
            seat.part = sum(share.rate for share in processes[node]) / max(root.rate, _TINY)

    def settle(self) -> None:
        """Credits and charges what processes have `used` since the last call."""
        seats = self._seats.values()
        used = [sum(one.used for one in seat.contestants) for seat in seats]
        for seat, its in zip(seats, used, strict=True):
            seat.lag += sum(used) * seat.part - its
            for one in seat.contestants:
                one.lately += one.used
                one.used = 0
        self._share_out(seats)

    @staticmethod
    def _share_out(seats: Collection[Seat]) -> None:
        """Gives what a group is behind, but cannot catch up with, to the others, and what those owe who have left."""
        for seat in seats:
            others = 1 - seat.part
            if seat.lag > BEHIND and others > 0:
                over, seat.lag = seat.lag - BEHIND, BEHIND
                for other in seats:
                    if other is not seat:
                        other.lag += over * other.part / others
        left = sum(seat.lag for seat in seats)
        for seat in seats:
            seat.lag -= left * seat.part

    def choose(self) -> None:
        """Decides who waits."""
        room = _Room(self.cpus)
        ahead: list[tuple[float, float, int, Contestant]] = []
        run: list[Contestant] = []
        for seat in self._seats.values():
            seat.ahead = seat.lag < (0 if seat.ahead else -AHEAD)
            for one in seat.contestants:
                if seat.ahead and not one.spared:
                    lately = one.lately - (0 if one.waits else _STAY)
                    ahead.append((-seat.lag, lately, len(ahead), one))
                else:
                    run.append(one)
        for one in sorted(run, key=lambda one: len(one.cpus)):
            one.waits = False
            room.take(one)
        for *_, one in sorted(ahead):
            one.waits = not room.is_left(one)
            if not one.waits:
                room.take(one)

    @property
    def uneven(self) -> bool:
        """Whether a group waits, or soon may."""
        return any(seat.ahead or seat.lag < -AHEAD / 2 for seat in self._seats.values())


class _Room:
    """What is left of CPUs, and of the quotas of groups, on the average."""

    def __init__(self, cpus: frozenset[int]) -> None:
        self._cpus = dict.fromkeys(cpus, 1.0)
        self._quotas: dict[Node, float] = {}

    def is_left(self, one: Contestant) -> bool:
        """Whether somebody could use a CPU that would else be free."""
        left = sum(max(0.0, self._cpus[cpu]) for cpu in one.cpus)
        return left >= _FREE and all(self._quotas.get(node, node.most) >= _FREE * node.most for node in _limited(one))

    def take(self, one: Contestant) -> None:
        """Takes what a process can use, of the CPUs of which most is left."""
        takes = one.demand
        for node in _limited(one):
            takes = min(takes, self._quotas.setdefault(node, node.most))
        for node in _limited(one):
            self._quotas[node] -= takes
        for cpu in sorted(one.cpus, key=self._cpus.__getitem__, reverse=True):
            its = min(takes, self._cpus[cpu])
            self._cpus[cpu] -= its
            takes -= its


def _limited(one: Contestant) -> Iterator[Node]:
    """The groups with a quota that a process is in."""
    node: Node | None = one.node
    while node is not None:
        if node.most != float("inf"):
            yield node
        node = node.parent


def arenas(contestants: Iterable[Contestant]) -> Iterator[tuple[frozenset[int], list[Contestant]]]:
    """Those that would run, by the CPUs that they compete for with each other."""
    found: list[tuple[frozenset[int], list[Contestant]]] = []
    for one in contestants:
        if one.demand < _LEAST:
            continue
        cpus, members, apart = one.cpus, [one], []
        for known, others in found:
            if known & cpus:
                cpus, members = cpus | known, others + members
            else:
                apart.append((known, others))
        found = [*apart, (cpus, members)]
    yield from found
