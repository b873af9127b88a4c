"""The rules of one tree: which of them fire, and how often they have."""

from __future__ import annotations

import errno
import os
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

from ..core.cgroup import Cgroup
from ..core.cgroup_file import CgroupFile
from ..kernel import Kernel
from ..kernfs.inode import Inode, TopDirectory
from ..named_tuple import NamedTuple
from .errors import FaultError
from .faulty_vfs import FaultyVfs
from .rule import MOST_RULES, Rule, read_rule, read_rules
from .terms import Term
from .vetting import vet

_KEPT = 1000  # firings that are remembered


class Firing(NamedTuple):
    """A rule that has fired: its id, the operation and the path, what happened ("error EBUSY"), the caller's pid."""

    rule: int
    op: str
    path: str
    what: str
    pid: int


@dataclass
class ActiveRule:
    """A rule that is in force. `left` has how often each term may still happen."""

    number: int
    rule: Rule
    left: list[int | None]
    random: random.Random
    fired: int = field(default=0)

    def next_term(self) -> Term | None:
        """The term that happens now, or None."""
        for position, term in enumerate(self.rule.terms):
            left = self.left[position]
            if left == 0 or (term.chance < 1 and self.random.random() >= term.chance):
                continue
            if left is not None:
                self.left[position] = left - 1
            return term
        return None


class Faults:
    """The rules of a kernel's tree. They act on calls on files that are opened from now on.

    `seed` decides about chances: the same seed, rules and calls give the same faults. `delay` is told the ns by which
    the answer of the present call is late; `panic` ends the daemon. Without `panic` rules with it are refused.
    `on_firing` is told of each firing.
    """

    def __init__(
        self,
        kernel: Kernel,
        *,
        seed: int = 0,
        delay: Callable[[int], None] = lambda ns: None,
        panic: Callable[[], None] | None = None,
    ) -> None:
        self.on_firing: Callable[[Firing], None] = lambda firing: None
        self.firings: deque[Firing] = deque(maxlen=_KEPT)
        self._kernel = kernel
        self._seed = seed
        self._delay = delay
        self._panic = panic
        self._numbers = count(1)
        self._active: dict[int, ActiveRule] = {}
        self._by_op: dict[str, list[ActiveRule]] = {}
        kernel.vfs = FaultyVfs(kernel, self)

    def add(self, text: str, *, any_errno: bool = False) -> int:
        """Adds a rule; returns its id. Raises FaultError for one that is wrong, impossible or can never match."""
        return self._add(read_rule(text), any_errno)

    def add_all(self, text: str, name: str, *, any_errno: bool = False) -> list[int]:
        """Adds the rules of a file, or none of them; returns their ids. Raises FaultError with the place."""
        given = read_rules(text, name)
        if given.seed is not None:
            self._seed = given.seed
        for rule, place in given.rules:
            try:
                self._check(rule, any_errno)
            except FaultError as error:
                raise FaultError(f"{place}: {error}") from None
        return [self._add(rule, True) for rule, _ in given.rules]

    def remove(self, number: int) -> None:
        """Takes a rule back. Raises KeyError."""
        active = self._active.pop(number)
        self._by_op[active.rule.op].remove(active)

    def rules(self) -> list[ActiveRule]:
        """The rules in force, the oldest first."""
        return list(self._active.values())

    def _add(self, rule: Rule, any_errno: bool) -> int:
        self._check(rule, any_errno)
        if len(self._active) >= MOST_RULES:
            raise FaultError(f"there are {MOST_RULES} rules already")
        number = next(self._numbers)
        left = [term.times for term in rule.terms]
        active = ActiveRule(number, rule, left, random.Random(f"{self._seed} {number} {rule.text}"))
        self._active[number] = active
        self._by_op.setdefault(rule.op, []).append(active)
        return number

    def _check(self, rule: Rule, any_errno: bool) -> None:
        vet(rule, self._kernel, any_errno=any_errno)
        if self._panic is None and any(term.kind == "panic" for term in rule.terms):
            raise FaultError(f"{rule.text!r}: there is no daemon here that could die")

    # -- what happens -----------------------------------------------------------------------------

    def has(self, op: str) -> bool:
        """Whether a rule names this operation."""
        return bool(self._by_op.get(op))

    def meet(self, op: str, path: Callable[[], str], pid: int, cgroup: Cgroup | None) -> None:
        """Lets the rules for an operation on a path act before it. Raises the OSError of the first that says error.

        `cgroup` is the one that `vanish` removes.
        """
        rules = self._by_op.get(op)
        if not rules:
            return
        where = path()
        for active in rules:
            if not active.rule.matches(where):
                continue
            term = active.next_term()
            if term is None or term.kind == "off":
                continue
            if term.kind == "error":
                self._fired(active, op, where, f"error {errno.errorcode[term.errno]}", pid)
                raise OSError(term.errno, os.strerror(term.errno))
            if term.kind == "delay":
                self._fired(active, op, where, f"delay {term.delay // 1000} us", pid)
                self._delay(term.delay)
            elif term.kind == "vanish":
                what = "vanish" if cgroup is not None and _vanish(cgroup) else "vanish: EBUSY"
                self._fired(active, op, where, what, pid)
            elif self._panic is not None:
                self._fired(active, op, where, "panic", pid)
                self._panic()

    def lateness(self, path: str, pid: int) -> int:
        """ns after which a file that is made now appears."""
        late = 0
        for active in self._by_op.get("appear", ()):
            if active.rule.matches(path):
                term = active.next_term()
                if term is not None and term.kind == "delay":
                    late = max(late, term.delay)
                    self._fired(active, "appear", path, f"delay {term.delay // 1000} us", pid)
        return late

    def path_of(self, inode: Inode) -> str:
        """The path of an inode from the tree's root; "." is the root."""
        cgroup = inode.cgroup if isinstance(inode, CgroupFile) else inode
        if not isinstance(cgroup, Cgroup):
            return "."
        root = self._kernel.root
        tops = root.content.items() if isinstance(root, TopDirectory) else ()
        parts = [name for name, found in tops if found is cgroup.hierarchy.root]
        parts += [part for part in cgroup.path.split("/") if part]
        if isinstance(inode, CgroupFile):
            parts.append(inode.row.name)
        return "/".join(parts) or "."

    def _fired(self, active: ActiveRule, op: str, path: str, what: str, pid: int) -> None:
        active.fired += 1
        firing = Firing(active.number, op, path, what, pid)
        self.firings.append(firing)
        self.on_firing(firing)


def _vanish(cgroup: Cgroup) -> bool:
    """Removes a cgroup and what is below, as somebody else's rmdir(2) would; False where processes are in it."""
    hierarchy = cgroup.hierarchy
    if cgroup.is_root or cgroup.dead:
        return False
    below = [cgroup, *cgroup.descendants()]
    if any(one.tasks for one in below):
        return False
    try:
        for one in reversed(below):
            hierarchy.rmdir(one)
    except OSError:
        return False
    return True
