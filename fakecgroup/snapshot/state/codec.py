"""Turns the state of objects into JSON and back, as their annotations say.

A field's type decides how it is written, and what is taken when it is read: a value of another type is refused. So a
file decides over values alone, never over classes, functions or modules.

Objects of the classes in `shared` are written once and referred to by number; `given` objects are made by whoever
reads, and referred to by number too. All others belong to the one object that has them.
"""

from __future__ import annotations

import dataclasses
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import partial
from inspect import get_annotations
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from ...tasks.place import Place, Places
from ...tasks.tid import Tid


class StateError(Exception):
    """What was read is not what the state has; the text says where."""


class Coder:
    """Writes and reads values of one type."""

    def __init__(self, encode: Callable[[Any], Any], decode: Callable[[Any], Any], *, tid: bool = False) -> None:
        self.encode = encode
        self.decode = decode
        self.tid = tid  # a task's number


class Kinds:
    """The classes whose state is kept. `without` are fields that are not kept, by class."""

    def __init__(
        self, records: Collection[type], shared: Collection[type], given: Collection[type], without: Mapping[type, str]
    ) -> None:
        self.records = frozenset(records)
        self.shared = tuple(shared)
        self.given = tuple(given)
        self._without = {cls: frozenset(names.split()) for cls, names in without.items()}
        self._names = {cls.__name__: cls for cls in (*records, *shared, *given)} | _ABSTRACT
        self._fields: dict[type, dict[str, Any]] = {}

    def fields(self, cls: type) -> dict[str, Any]:
        """The fields of a class that are kept, each with its type."""
        known = self._fields.get(cls)
        if known is None:
            known = self._fields[cls] = {
                name: _resolved(text, {**self._names, **vars(sys.modules[base.__module__])})
                for base, name, text in self._annotated(cls)
            }
        return known

    def texts(self, cls: type) -> list[tuple[str, str]]:
        """The fields of a class that are kept, each with its type as the source has it."""
        return [(name, text) for _, name, text in self._annotated(cls)]

    def _annotated(self, cls: type) -> Iterator[tuple[type, str, Any]]:
        for base in reversed(cls.__mro__):
            for name, text in get_annotations(base).items():
                if not any(name in self._without.get(one, ()) for one in cls.__mro__):
                    yield base, name, text

    def left_out(self, cls: type) -> frozenset[str]:
        """The fields of a class that are not kept."""
        return self._without.get(cls, frozenset())

    def group(self, cls: type) -> type | None:
        """The class of `shared` or `given` that a class is of."""
        return next((one for one in (*self.shared, *self.given) if issubclass(cls, one)), None)


_ABSTRACT: dict[str, Any] = {
    "Mapping": Mapping,
    "Iterable": Iterable,
    "Sequence": Sequence,
    "Collection": Collection,
    "Callable": Callable,
    "Iterator": Iterator,
    "Tid": Tid,
    "Place": Place,
    "Places": Places,
}


class _Holder:
    """Something with annotations."""

    def __init__(self, text: object) -> None:
        self.__annotations__ = {"it": text}


def _resolved(text: object, names: dict[str, Any]) -> Any:
    return get_type_hints(_Holder(text), globalns=names, include_extras=True)["it"]


class Codec:
    """Writes and reads state of these kinds. `tids` gives a task's number for the one that was read; 0 for none."""

    def __init__(self, kinds: Kinds, tids: Callable[[int], int] = int) -> None:
        self._kinds = kinds
        self._tids = tids
        self._coders: dict[Any, Coder] = {}
        self.objects: dict[type, list[Any]] = {cls: [] for cls in (*kinds.shared, *kinds.given)}
        self._numbers: dict[int, int] = {}  # id of an object -> its number among those of its group

    # -- objects that are referred to -------------------------------------------------------------

    def give(self, made: object) -> None:
        """Let an object be referred to from now on."""
        group = self._kinds.group(type(made))
        assert group is not None
        self._numbers[id(made)] = len(self.objects[group])
        self.objects[group].append(made)

    def reserve(self, cls: type, count: int) -> None:
        """Make blank objects of a shared class, which `fill` fills."""
        for _ in range(count):
            self.give(object.__new__(cls))

    def knows(self, one: object) -> bool:
        """True if an object has a number."""
        return id(one) in self._numbers

    def number_of(self, one: Any) -> int:
        """The number of an object among those of its group; a new shared one gets the next."""
        if id(one) not in self._numbers:
            if self._kinds.group(type(one)) not in self._kinds.shared:
                raise TypeError(f"{one!r} is not among the objects that are kept")
            self.give(one)
        return self._numbers[id(one)]

    def _object(self, group: type, wanted: type, number: Any) -> Any:
        objects = self.objects[group]
        if type(number) is not int or not 0 <= number < len(objects) or not isinstance(objects[number], wanted):
            raise StateError(f"there is no {wanted.__name__} {number!r}")
        return objects[number]

    # -- records ----------------------------------------------------------------------------------

    def state(self, one: object, cls: type | None = None) -> dict[str, Any]:
        """The fields of an object that differ from the defaults of its class; `cls` is a class above its own."""
        found = {}
        for name, tp in self._kinds.fields(cls or type(one)).items():
            if name in getattr(one, "__dict__", ()) or _has_slot(one, name):
                found[name] = self.coder(tp).encode(getattr(one, name))
        return found

    def fill(self, one: object, values: Any, cls: type | None = None) -> None:
        """Set the fields of an object; those that are not among the values get the defaults of its class.

        Raises StateError.
        """
        fields = self._kinds.fields(cls or type(one))
        if not isinstance(values, dict) or not values.keys() <= fields.keys():
            raise StateError(f"a {type(one).__name__} has other fields")
        for name, tp in fields.items():
            if name in values:
                object.__setattr__(one, name, self.coder(tp).decode(values[name]))
            elif name in getattr(one, "__dict__", ()):
                object.__delattr__(one, name)
            elif not hasattr(one, name) and not hasattr(one, "__dict__"):
                raise StateError(f"a {type(one).__name__} has no {name}")

    def _record(self, cls: type, values: Any) -> Any:
        made: Any = object.__new__(cls)
        for name in self._kinds.left_out(cls):
            object.__setattr__(made, name, None)
        for name, value in _defaults(cls).items():
            object.__setattr__(made, name, value())
        self.fill(made, values)
        return made

    # -- types --------------------------------------------------------------------------------------

    def coder(self, tp: Any) -> Coder:
        """How values of a type are written and read."""
        known = self._coders.get(tp)
        if known is None:
            known = self._coders[tp] = self._made(tp)
        return known

    def _made(self, tp: Any) -> Coder:
        if tp in _SCALARS:
            return Coder(int if tp is int else _same, partial(_scalar, _SCALARS[tp]))
        if tp is bytes:
            return Coder(bytes.hex, _bytes)
        if get_origin(tp) is Annotated:
            return Coder(_same, self._tid, tid=True)
        origin, arguments = get_origin(tp), get_args(tp)
        if origin in (Union, UnionType):
            return self._union(arguments)
        if origin is tuple and arguments[1:] != (...,):
            return self._row([self.coder(one) for one in arguments], tuple)
        if origin in _LISTS:
            return self._list(self.coder(arguments[0]), _LISTS[origin])
        if origin is not None and issubclass(origin, Mapping):
            value = arguments[1] if len(arguments) > 1 else int
            return self._dict(self.coder(arguments[0]), self.coder(value), Counter if origin is Counter else dict)
        if isinstance(tp, type):
            return self._class(tp)
        raise TypeError(f"{tp} is no type of state")

    def _class(self, cls: type) -> Coder:
        if issubclass(cls, Enum):
            return Coder(lambda one: one.name, partial(_member, cls))
        if issubclass(cls, tuple) and hasattr(cls, "_fields"):
            return self._row([self.coder(tp) for tp in self._kinds.fields(cls).values()], lambda found: cls(*found))
        group = self._kinds.group(cls)
        if group is not None:
            return Coder(lambda one: self.number_of(one), partial(self._object, group, cls))
        if cls in self._kinds.records:
            return Coder(lambda one: self.state(one), partial(self._record, cls))
        stands_for = {one.__name__: one for one in self._kinds.given}.get(_STANDS_FOR.get(cls.__name__, ""))
        if stands_for is not None:
            return self._class(stands_for)
        raise TypeError(f"{cls} is no type of state")

    def _tid(self, value: Any) -> int:
        return self._tids(_scalar((int,), value))

    def _union(self, members: Sequence[Any]) -> Coder:
        others = [one for one in members if one is not type(None)]
        if len(others) != 1 or len(others) == len(members):
            raise TypeError(f"{members} is no type of state")
        inner = self.coder(others[0])
        return Coder(
            lambda value: None if value is None else [inner.encode(value)],
            lambda data: None if data is None else inner.decode(_items(data, 1)[0]),
        )

    def _row(self, coders: Sequence[Coder], make: Callable[[Iterable[Any]], Any]) -> Coder:
        def encode(value: Any) -> Any:
            return [coder.encode(one) for coder, one in zip(coders, value, strict=True)]

        def decode(data: Any) -> Any:
            items = _items(data, len(coders))
            return make([coder.decode(one) for coder, one in zip(coders, items, strict=True)])

        return Coder(encode, decode)

    def _list(self, inner: Coder, make: Callable[[Iterable[Any]], Any]) -> Coder:
        def decode(data: Any) -> Any:
            found = [inner.decode(one) for one in _items(data)]
            return make(one for one in found if one or not inner.tid)

        return Coder(lambda value: [inner.encode(one) for one in _ordered(value)], decode)

    def _dict(self, key: Coder, value: Coder, make: Callable[[dict[Any, Any]], Any]) -> Coder:
        def decode(data: Any) -> Any:
            pairs = [_items(pair, 2) for pair in _items(data)]
            found = {key.decode(one): value.decode(other) for one, other in pairs}
            return make({one: other for one, other in found.items() if one or not key.tid})

        return Coder(lambda it: [[key.encode(one), value.encode(other)] for one, other in it.items()], decode)


_SCALARS: dict[Any, tuple[type, ...]] = {int: (int,), float: (float, int), bool: (bool,), str: (str,), None: ()}
_SCALARS[type(None)] = ()
_LISTS: dict[Any, Callable[[Iterable[Any]], Any]] = {
    list: list,
    tuple: tuple,
    set: set,
    frozenset: frozenset,
    Sequence: list,
    Collection: list,
}
_STANDS_FOR = {"Place": "Cgroup"}  # a protocol, and the one class that has it


def _same(value: Any) -> Any:
    return value


def _scalar(types: tuple[type, ...], value: Any) -> Any:
    if not types:
        if value is not None:
            raise StateError("a value is not null")
        return None
    if type(value) not in types or value != value or value in (float("inf"), float("-inf")):
        raise StateError(f"{str(value)[:40]!a} is no {types[0].__name__}")
    return value


def _bytes(value: Any) -> bytes:
    try:
        return bytes.fromhex(value)
    except (TypeError, ValueError):
        raise StateError("a value is no bytes") from None


def _member(cls: type[Enum], name: Any) -> Enum:
    if not isinstance(name, str) or name not in cls.__members__:
        raise StateError(f"there is no {cls.__name__} {str(name)[:40]!a}")
    return cls.__members__[name]


def _items(data: Any, count: int | None = None) -> list[Any]:
    if not isinstance(data, list) or (count is not None and len(data) != count):
        raise StateError("a list is missing, or has another length")
    return data


def _ordered(value: Iterable[Any]) -> Iterable[Any]:
    """The same order for the same set."""
    return sorted(value) if isinstance(value, (set, frozenset)) else value


def _has_slot(one: object, name: str) -> bool:
    return not hasattr(one, "__dict__") and hasattr(one, name)


def _defaults(cls: type) -> dict[str, Callable[[], Any]]:
    """What a dataclass's fields are without a value."""
    found: dict[str, Callable[[], Any]] = {}
    if dataclasses.is_dataclass(cls):
        for field in dataclasses.fields(cls):
            if field.default is not dataclasses.MISSING:
                found[field.name] = partial(_same, field.default)
            elif field.default_factory is not dataclasses.MISSING:
                found[field.name] = field.default_factory
    return found
