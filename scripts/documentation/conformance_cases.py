"""The conformance cases: which families ask about which file, and a list of all."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any

from fakecgroup.conformance import cases
from fakecgroup.conformance.case import OPERATIONS, Case

_PATHS = {name: [at for at, kind in enumerate(kinds, start=1) if kind == "path"] for name, kinds in OPERATIONS.items()}


@cache
def _all() -> Mapping[str, list[Case]]:
    """The cases of each family, with and without swap."""
    return {family: cases.cases_of(family) for family in dict.fromkeys((*cases.FAMILIES, *cases.SWAP_FAMILIES))}


@cache
def _asked() -> Mapping[tuple[str, bool], Counter[str]]:
    """How many cases of each family name a file, by the file's name and whether it is on the unified hierarchy."""
    found: defaultdict[tuple[str, bool], Counter[str]] = defaultdict(Counter)
    for family, of in _all().items():
        for case in of:
            for file in {*_files(case)}:
                found[file][family] += 1
    return found


def _files(case: Case) -> Iterator[tuple[str, bool]]:
    for op in case.ops:
        for path in _paths(op):
            unified = case.layout == "v2" or (case.layout == "hybrid" and path.startswith("unified"))
            yield path.rpartition("/")[2], unified


def _paths(op: tuple[Any, ...]) -> Iterator[str]:
    if op[0] == "in":
        yield from _paths(op[2:])
    else:
        yield from (op[at] for at in _PATHS[op[0]] if at < len(op) and isinstance(op[at], str))


def families_of(file: str, *, unified: bool) -> Counter[str]:
    """How many cases of each family name the file."""
    return _asked().get((file, unified), Counter())


def anchor(family: str) -> str:
    """The fragment of a family's heading on the page of all cases."""
    return f"cases-{family.replace('_', '-')}"


def page() -> str:
    """Every family with the names of its cases."""
    lines = []
    for family, of in _all().items():
        module = import_module(f"{cases.__name__}.{family}")
        lines += [f"({anchor(family)})=", f"## {family.replace('_', ' ')}", "", (module.__doc__ or "").strip(), ""]
        counts = Counter(case.layout for case in of)
        lines += [", ".join(f"{count} on {layout}" for layout, count in counts.items()) + ":", ""]
        lines += [f"- {name} ({', '.join(layouts)})" for name, layouts in _named(of).items()] + [""]
    return "\n".join(lines)


def _named(of: list[Case]) -> dict[str, list[str]]:
    """The layouts of the cases of each name."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for case in of:
        found[_code(case.name)].append(case.layout)
    return found


def _code(text: str) -> str:
    """The text as Markdown shows it unchanged."""
    fence = "``" if "`" in text else "`"
    return f"{fence}{text}{fence}"
