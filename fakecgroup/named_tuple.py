"""`NamedTuple`: as `typing.NamedTuple`, and for type checkers it is that one.

Python's takes ten times as long to make a class: it evaluates the source of a constructor, and parses each field's
type. A start makes seventy classes. Here one constructor for each number of fields is evaluated, and gets the names of
the fields. The types stay texts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:
    from collections import _tuplegetter  # what `collections.namedtuple` reads a field with
    from functools import cache
    from types import FunctionType

    _NEW = {"new": tuple.__new__}
    _FIELD = [_tuplegetter(at, None) for at in range(32)]

    @cache
    def _constructor(fields):
        """The code of a constructor that takes so many fields."""
        names = "".join(f", _{at}" for at in range(fields))
        return eval(f"lambda _cls{names}: new(_cls, ({names[2:]},))", _NEW).__code__

    class _Class(type):
        def __new__(meta, name, bases, namespace):
            if bases == (tuple,) or hasattr(bases[0], "_fields"):
                return super().__new__(meta, name, bases, namespace)
            types = namespace["__annotations__"]
            fields = tuple(types)
            defaults = {field: namespace[field] for field in fields if field in namespace}
            if tuple(defaults) != fields[len(fields) - len(defaults) :]:
                raise TypeError(f"{name}: a field without a default follows one with a default")
            code = _constructor(len(fields)).replace(co_varnames=("_cls", *fields))
            new = FunctionType(code, _NEW, "__new__", tuple(defaults.values()))
            new.__qualname__ = f"{namespace['__qualname__']}.__new__"
            new.__annotations__ = types
            namespace.update(zip(fields, _FIELD[: len(fields)], strict=True))
            namespace |= {"__slots__": (), "__new__": new, "__match_args__": fields}
            namespace |= {"_fields": fields, "_field_defaults": defaults}
            return super().__new__(meta, name, bases, namespace)

    class NamedTuple(tuple, metaclass=_Class):
        __slots__ = ()

        @classmethod
        def _make(cls, values):
            made = tuple.__new__(cls, values)
            if len(made) != len(cls._fields):
                raise TypeError(f"{cls.__name__} has {len(cls._fields)} fields, not {len(made)}")
            return made

        def _replace(self, **changed):
            made = tuple.__new__(type(self), map(changed.pop, self._fields, self))
            if changed:
                raise TypeError(f"{type(self).__name__} has no {', '.join(changed)}")
            return made

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self):
            fields = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
            return f"{type(self).__name__}({fields})"

        def __getnewargs__(self):
            return tuple(self)
