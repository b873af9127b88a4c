"""The rooms of a package, in the order that the linter holds, each with what its docstring says."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

from .tables import table

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_PROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"


def page(package: str) -> str:
    """A row for each room, the one that imports no other first. Raises ValueError for a package without an order."""
    rows = [(f"`{room}`", _purpose(import_module(f"{package}.{room}"))) for room in rooms(package)]
    return table(("room", "what it is for"), rows)


def rooms(package: str) -> list[str]:
    """The rooms of a package; a room imports only those before it."""
    contracts = tomllib.loads(_PROJECT.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    for contract in contracts:
        if contract.get("containers") == [package]:
            return [room for layer in reversed(contract["layers"]) for room in layer.split(" | ")]
    raise ValueError(f"no order of rooms for {package!r} in {_PROJECT.name}")


def _purpose(module: ModuleType) -> str:
    """The first paragraph of the docstring, on one line."""
    return " ".join((module.__doc__ or "").split("\n\n")[0].replace("``", "`").split())
