"""Reads the parts of a YAML text from PyYAML's events: document by document, and the items of a List one by one.

PyYAML's C parser makes the events, if it was built with libyaml. Values are made of them directly, without PyYAML's
nodes. As in Kubernetes there are no timestamps and no base-60 numbers, which YAML 1.1 has. Anchors may repeat data. The
number of keys that merge keys add is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import yaml
from yaml.composer import ComposerError
from yaml.constructor import ConstructorError
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)
from yaml.nodes import ScalarNode

try:
    from yaml import CSafeLoader as _SafeLoader
except ImportError:  # PyYAML without libyaml
    from yaml import SafeLoader as _SafeLoader  # type: ignore[assignment]

from cgroup_engine.inputs.document_parts import Document, Item, Part
from cgroup_engine.inputs.input_text import InputText

AnyEvent = Any  # PyYAML's stubs do not know that an event's class tells its attributes

_MAX_MERGED_KEYS = 100_000
_MAX_DEPTH = 500
_TOO_DEEP = "exceeded maximum nesting depth"  # what libyaml says since 0.2.6, at 1,000 levels of flow style
_KNOWN, _KNOWN_LENGTH = 1 << 14, 64  # plain texts whose values are kept, and the longest of them
_TAG = "tag:yaml.org,2002:"
_COLLECTIONS: dict[type, tuple[str | None, ...]] = {
    SequenceStartEvent: (None, "!", f"{_TAG}seq"),
    MappingStartEvent: (None, "!", f"{_TAG}map"),
}
_TEXTS = (f"{_TAG}str", f"{_TAG}value")  # the second is "=", a text where PyYAML reads a key
_STARTS = (SequenceStartEvent, MappingStartEvent)
_ENDS = (SequenceEndEvent, MappingEndEvent)
# lists and mappings of pods that no cgroup depends on, which are most of what kubectl writes
_UNUSED = frozenset(
    "affinity env envFrom lifecycle livenessProbe managedFields ports readinessProbe securityContext startupProbe "
    "tolerations topologySpreadConstraints volumeMounts volumes".split()
)


class _Loader(_SafeLoader):
    """The safe loader with fewer implicit types."""


_NO_BASE_60 = re.compile(r"[-+]?0b[0-1_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+")
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in (f"{_TAG}timestamp", f"{_TAG}int")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(f"{_TAG}int", re.compile(rf"^(?:{_NO_BASE_60.pattern})$"), list("-+0123456789"))


class NotYamlError(Exception):
    """The text is not YAML, or cannot be made into plain data; ``line``: where, if that is known."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        super().__init__(" ".join(problem.split())[:200])
        self.line = line


def yaml_parts(text: InputText, *, split: bool = True, most_nodes: int | None = None) -> Iterator[Part]:
    """The parts of a YAML text, with ``None`` for empty documents.

    ``split``: the items of a List come one by one, without what no cgroup depends on. ``most_nodes`` bounds the values.

    :raises NotYamlError: it is not YAML, or has more values.
    :raises RecursionError: it is nested too deeply.
    """
    loader = _Loader(text)
    try:
        yield from _Reader(loader, text, most_nodes).parts(split)
    except UnicodeDecodeError:  # a ValueError, too, and the reader's
        raise
    except yaml.MarkedYAMLError as failed:
        if failed.problem == _TOO_DEEP:
            raise RecursionError from None
        line = failed.problem_mark.line + 1 if failed.problem_mark is not None else None
        raise NotYamlError(failed.problem or "cannot be parsed", line) from None
    except (yaml.YAMLError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as failed:
        # explicit tags such as !!timestamp and !!bool make PyYAML's constructors raise these
        raise NotYamlError(str(failed)) from None
    finally:
        loader.dispose()


class _Reader:
    """Makes values of a loader's events."""

    def __init__(self, loader: _Loader, text: InputText, most_nodes: int | None) -> None:
        self._loader: Any = loader
        self._text = text
        self._most_nodes, self._nodes = most_nodes or 0, 0
        self._event: Callable[[], AnyEvent] = loader.get_event if most_nodes is None else self._counted
        self._anchors: dict[str, Any] = {}
        self._known: dict[str, Any] = {}
        self._merged = 0
        self._pairs: dict[int, int] = {}  # id of an anchored mapping -> pairs in it, with those that merge keys repeat
        self._unused: frozenset[str] = frozenset()

    def parts(self, split: bool) -> Iterator[Part]:
        self._loader.get_event()
        while isinstance(self._loader.get_event(), DocumentStartEvent):
            self._anchors, self._pairs = {}, {}
            root = self._event()
            if split:
                self._text.begin("")
            if split and type(root) is MappingStartEvent and root.tag in _COLLECTIONS[MappingStartEvent]:
                yield from self._split(root)
            else:
                yield Document(self._value(root, 1))
            self._loader.get_event()

    def _split(self, root: AnyEvent) -> Iterator[Part]:
        fields: dict[Any, Any] = {}
        merges: list[Any] = []
        items = None
        if root.anchor:
            self._anchors[root.anchor] = fields
        while type(event := self._event()) is not MappingEndEvent:
            if type(event) is not ScalarEvent or event.value != "items" or event.tag is not None:
                self._pair(root, event, fields, merges, 1)
                continue
            value = self._event()
            fields.pop("items", None)
            if type(value) is not SequenceStartEvent or value.anchor or value.tag is not None:
                fields["items"], items = self._value(value, 2), None
                continue
            items, self._unused = 0, _UNUSED
            while type(event := self._event()) is not SequenceEndEvent:
                self._text.begin(f"items[{items}]")
                yield Item(items, self._value(event, 3))
                items += 1
            self._unused = frozenset()
        self._merge(root, fields, merges)
        yield Document(fields, items)

    def _counted(self) -> AnyEvent:
        event = self._loader.get_event()
        if type(event) not in _ENDS:
            self._nodes += 1
            if self._nodes > self._most_nodes:
                raise yaml.YAMLError(f"it has more than {self._most_nodes} values")
        return event

    def _value(self, event: AnyEvent, depth: int) -> Any:
        """The value that begins with an event, on a level of nesting."""
        kind = type(event)
        if kind is ScalarEvent:
            value = self._scalar(event)
            if event.anchor:
                self._anchors[event.anchor] = value
            return value
        if kind is AliasEvent:
            if event.anchor not in self._anchors:
                raise ComposerError(None, None, f"found undefined alias {event.anchor!r}", event.start_mark)
            return self._anchors[event.anchor]
        if depth > _MAX_DEPTH:
            raise RecursionError
        if event.tag not in _COLLECTIONS[kind]:
            raise _unknown(event)
        if kind is MappingStartEvent:
            return self._mapping(event, depth)
        items: list[Any] = []
        if event.anchor:
            self._anchors[event.anchor] = items
        while type(one := self._event()) is not SequenceEndEvent:
            items.append(self._value(one, depth + 1))
        return items

    def _mapping(self, start: AnyEvent, depth: int) -> dict[Any, Any]:
        fields: dict[Any, Any] = {}
        merges: list[Any] = []
        if start.anchor:
            self._anchors[start.anchor] = fields
        while type(event := self._event()) is not MappingEndEvent:
            self._pair(start, event, fields, merges, depth)
        if merges:
            self._merge(start, fields, merges)
        return fields

    def _pair(self, start: AnyEvent, event: AnyEvent, fields: dict[Any, Any], merges: list[Any], depth: int) -> None:
        """Reads a pair, whose key begins with the event, into ``fields`` or, of a merge key, into ``merges``."""
        if type(event) is ScalarEvent:
            if (event.value == "<<" and event.tag is None and event.implicit[0]) or event.tag == f"{_TAG}merge":
                merges.append(self._value(self._event(), depth + 1))
                return
            key = self._scalar(event)
            if event.anchor:
                self._anchors[event.anchor] = key
        else:
            key = self._value(event, depth + 1)
            try:
                hash(key)
            except TypeError:
                raise ConstructorError(
                    "while constructing a mapping", start.start_mark, "found unhashable key", event.start_mark
                ) from None
        value = self._event()
        if key in self._unused and type(value) in _STARTS and self._skip(value, depth + 1):
            return
        fields[key] = self._value(value, depth + 1)

    def _merge(self, start: AnyEvent, fields: dict[Any, Any], merges: list[Any]) -> None:
        """Adds the pairs of merged mappings. Own pairs win over merged ones, and in a list earlier ones over later."""
        own, pairs = dict(fields), len(fields)
        fields.clear()
        for merged in merges:
            for one in reversed(merged) if isinstance(merged, list) else (merged,):
                if not isinstance(one, dict):
                    what = "expected a mapping or list of mappings for merging"
                    raise ConstructorError("while constructing a mapping", start.start_mark, what, start.start_mark)
                more = self._pairs.get(id(one), len(one))
                pairs += more
                self._merged += more
                if self._merged > _MAX_MERGED_KEYS:
                    what = f"merge keys (<<) repeat more than {_MAX_MERGED_KEYS} keys"
                    raise ConstructorError(None, None, what, start.start_mark)
                fields.update(one)
        fields.update(own)
        if start.anchor:
            self._pairs[id(fields)] = pairs

    def _skip(self, start: AnyEvent, depth: int) -> bool:
        """Skips a collection without making values; False, and nothing is skipped, if it has an anchor."""
        if start.anchor:
            return False
        most = _MAX_DEPTH - depth
        level = 0
        while True:
            event = self._event()
            kind = type(event)
            if kind in _ENDS:
                if level == 0:
                    return True
                level -= 1
            elif kind is not AliasEvent and event.anchor:
                self._value(event, depth + level + 1)  # an alias may refer to it
            elif kind in _STARTS:
                level += 1
                if level > most:
                    raise RecursionError

    def _scalar(self, event: AnyEvent) -> Any:
        text = event.value
        if event.tag is None and not event.implicit[0]:
            return text
        if event.tag is not None:
            tag = self._loader.resolve(ScalarNode, text, event.implicit) if event.tag == "!" else event.tag
            return self._constructed(tag, event)
        if text in self._known:
            return self._known[text]
        tag = self._loader.resolve(ScalarNode, text, (True, False))
        value = text if tag in _TEXTS else self._constructed(tag, event)
        if len(text) <= _KNOWN_LENGTH and len(self._known) < _KNOWN:
            self._known[text] = value
        return value

    def _constructed(self, tag: str, event: AnyEvent) -> Any:
        """What PyYAML's constructor of a tag makes of a text."""
        construct = self._loader.yaml_constructors.get(tag)
        if construct is None:
            raise _unknown(event, tag)
        node = ScalarNode(tag, event.value, event.start_mark, event.end_mark)
        return construct(self._loader, node)


def _unknown(event: AnyEvent, tag: str | None = None) -> ConstructorError:
    what = f"could not determine a constructor for the tag {tag or event.tag!r}"
    return ConstructorError(None, None, what, event.start_mark)
