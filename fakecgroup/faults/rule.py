"""Rules, and files of them: ``OP GLOB = TERMS``, one a line, and ``seed N``, which decides about chances.

The glob is matched against the path from the tree's root, without a slash at its beginning; ``*`` crosses slashes. On
v1 a path begins with the directory of its hierarchy: ``cpu,cpuacct/a/cpu.shares``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import translate
from functools import cached_property

from .errors import FaultError
from .operations import OPERATIONS
from .terms import Term, read_terms

MOST_RULES = 1000
_SEED = re.compile(r"seed (\d{1,18})")
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True)
class Rule:
    """A rule. `text` is the rule as it was given, with single spaces."""

    op: str
    glob: str
    terms: tuple[Term, ...]
    text: str

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(translate(self.glob))

    def matches(self, path: str) -> bool:
        """Whether the glob has this path, which begins at the tree's root."""
        return self._pattern.match(path) is not None

    @property
    def name_glob(self) -> str:
        """The part of the glob for the last name of a path."""
        return self.glob.rpartition("/")[2]


def read_rule(text: str) -> Rule:
    """The rule of a line. Raises FaultError, whose text begins with the rule."""
    text = _SPACES.sub(" ", text.strip())
    left, equals, right = text.partition(" = ")
    op, _, glob = left.strip().partition(" ")
    try:
        if not equals or not op or not glob or not right.strip():
            raise FaultError("a rule is OP GLOB = TERM, such as write */memory.max = 1*error(EBUSY)->off")
        if op not in OPERATIONS:
            raise FaultError(f"there is no operation {op!r}: {', '.join(OPERATIONS)}")
        if glob.startswith("/"):
            raise FaultError("a path begins at the tree's root, without a slash")
        terms = read_terms(right)
        if op == "appear" and any(term.kind not in ("delay", "off") for term in terms):
            raise FaultError("appear takes delay(TIME) and off alone")
    except FaultError as error:
        raise FaultError(f"{text!r}: {error}") from None
    return Rule(op, glob, terms, text)


@dataclass(frozen=True)
class RuleFile:
    """The rules of a file, each with its place ("name:3"), and the seed, None where it says none."""

    rules: tuple[tuple[Rule, str], ...]
    seed: int | None = None


def read_rules(text: str, name: str) -> RuleFile:
    """The rules of a file. Empty lines and those that begin with # say nothing.

    Raises FaultError, whose text begins with the place.
    """
    rules: list[tuple[Rule, str]] = []
    seed = None
    for number, line in enumerate(text.splitlines(), 1):
        line, place = line.strip(), f"{name}:{number}"
        if not line or line.startswith("#"):
            continue
        if found := _SEED.fullmatch(line):
            seed = int(found[1])
            continue
        if len(rules) == MOST_RULES:
            raise FaultError(f"{place}: there are more than {MOST_RULES} rules")
        try:
            rules.append((read_rule(line), place))
        except FaultError as error:
            raise FaultError(f"{place}: {error}") from None
    return RuleFile(tuple(rules), seed)
