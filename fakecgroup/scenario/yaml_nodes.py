"""The nodes of a YAML text, all of whose scalars are text, and their places."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import yaml

_BIGGEST = 4 << 20  # characters

_T = TypeVar("_T")


class ScenarioError(ValueError):
    """A scenario is wrong: one line, with the place."""


def compose(text: str, name: str) -> yaml.Node:
    """The node of a text's only document; `name` is the file's, for messages. Raises ScenarioError."""
    nodes = compose_all(text, name)
    if len(nodes) > 1:
        mark = nodes[1].start_mark
        raise ScenarioError(f"{name}:{mark.line + 1}:{mark.column + 1}: a second document begins here; one is taken")
    return nodes[0]


def compose_all(text: str, name: str) -> list[yaml.Node]:
    """The nodes of a text's documents, at least one. Raises ScenarioError."""
    if len(text) > _BIGGEST:
        raise ScenarioError(f"{name}: more than {_BIGGEST >> 20} MiB: no scenario is that long")
    try:
        nodes = list(yaml.compose_all(text, Loader=yaml.BaseLoader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f":{mark.line + 1}:{mark.column + 1}" if mark is not None else ""
        raise ScenarioError(f"{name}{where}: {error.problem}") from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise ScenarioError(f"{name}: this is no YAML: {str(error).splitlines()[0]}") from None
    if not nodes:
        raise ScenarioError(f"{name}: it is empty")
    return nodes


class YamlNodes:
    """Reads nodes of one file, `name` in messages. Methods raise ScenarioError with the place of a wrong node."""

    def __init__(self, name: str) -> None:
        self._name = name

    def mapping(self, node: yaml.Node, keys: tuple[str, ...], needed: tuple[str, ...] = ()) -> dict[str, yaml.Node]:
        found: dict[str, yaml.Node] = {}
        for key, value in self.pairs(node):
            name = self.text(key)
            if name not in keys:
                raise self.wrong(key, f"no key {name!r}; there is {', '.join(keys)}")
            found[name] = value
        for name in needed:
            if name not in found:
                raise self.wrong(node, f"{name} is missing")
        return found

    def pairs(self, node: yaml.Node | None) -> list[tuple[yaml.Node, yaml.Node]]:
        if node is None:
            return []
        if not isinstance(node, yaml.MappingNode):
            raise self.wrong(node, "a mapping is needed here (key: value)")
        seen = set()
        for key, _ in node.value:
            name = self.text(key)
            if name in seen:
                raise self.wrong(key, f"{name!r} is here twice")
            seen.add(name)
        return list(node.value)

    def items(self, node: yaml.Node | None) -> list[yaml.Node]:
        if node is None:
            return []
        if not isinstance(node, yaml.SequenceNode):
            raise self.wrong(node, "a list is needed here")
        return list(node.value)

    def text(self, node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise self.wrong(node, "a single value is needed here")
        return str(node.value)

    def path(self, node: yaml.Node) -> str:
        text = self.text(node).strip("/")
        if any(part in ("", ".", "..") for part in text.split("/")) or "\0" in text:
            raise self.wrong(node, f"{text!r} is no path below the root")
        return text

    def is_empty(self, node: yaml.Node) -> bool:
        return isinstance(node, yaml.ScalarNode) and node.value in ("", "~", "null")

    def read(self, node: yaml.Node, reader: Callable[[str], _T]) -> _T:
        try:
            return reader(self.text(node))
        except ScenarioError:
            raise
        except ValueError as error:
            raise self.wrong(node, str(error)) from None

    def place(self, node: yaml.Node) -> str:
        mark = node.start_mark
        return f"{self._name}:{mark.line + 1}:{mark.column + 1}"

    def wrong(self, node: yaml.Node, what: str) -> ScenarioError:
        return ScenarioError(f"{self.place(node)}: {what}")
