"""Prints a pod as Go's spew library does with ``%#v``: every field with its type. The kubelet hashes this text.

Source: DeepHashObject (``pkg/util/hash``; ``ForHash`` of the dump package since 1.27), formatState of go-spew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cgroup_engine.errors import quoted
from cgroup_engine.inputs.static_pods.amounts import written_amount
from cgroup_engine.inputs.static_pods.defaults import converted, value_if_missing
from cgroup_engine.inputs.static_pods.not_covered import NotCoveredError
from cgroup_engine.inputs.static_pods.type_table import type_table
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.quantity import Quantity

_INTEGERS = {"int32": 1 << 31, "int64": 1 << 63}
_ZEROS: dict[str, Any] = {"string": "", "bool": False, "int32": 0, "int64": 0}
_NO_DEC = "(resource.infDecAmount){Dec:(*inf.Dec)<nil>}"
_WORD = 1 << 64
_MAX_LENGTH = 16 << 20  # the kubelet reads no manifest of more than 10 MiB


def dumped(pod: Mapping[str, Any], version: KubeletVersion) -> str:
    """The text of a decoded manifest, as the kubelet prints it.

    :raises NotCoveredError: a field or a value is not covered.
    """
    parts, length = ["(*core.Pod)"], 0
    for part in _Printer(version).value("core.Pod", pod, ""):
        parts.append(part)
        length += len(part)
        if length > _MAX_LENGTH:  # YAML's aliases can repeat one object very often
            raise NotCoveredError("the pod", f"is more than {_MAX_LENGTH >> 20} Mi characters as the kubelet prints it")
    return "".join(parts)


class _Printer:
    def __init__(self, version: KubeletVersion) -> None:
        self.table = type_table(version.minor)

    def typed(self, type_: str, value: Any, spot: str) -> Iterator[str]:
        yield f"({type_})"
        if type_[0] != "*":
            yield from self.value(type_, value, spot)
        elif value is None:
            yield "<nil>"
        else:
            yield from self.value(type_[1:], value, spot)

    def value(self, type_: str, value: Any, spot: str) -> Iterator[str]:
        kind = self.table.kinds.get(type_, type_)
        if kind in self.table.structs:
            yield from self.struct(kind, value, spot)
        elif kind.startswith("[]"):
            yield from self.list(kind[2:], value, spot)
        elif kind.startswith("map["):
            yield from self.map(kind.partition("]")[2], value, spot)
        elif kind in _ZEROS:
            yield self.scalar(kind, value, spot)
        elif kind == "types.UID":
            yield self.scalar("string", value, spot)
        elif kind == "resource.Quantity":
            yield self.quantity(value, spot)
        elif kind == "intstr.IntOrString":
            yield self.int_or_string(value, spot)
        elif kind == "v1.Time" and value is None:
            yield "{Time:(time.Time){wall:(uint64)0 ext:(int64)0 loc:(*time.Location)<nil>}}"
        else:
            raise NotCoveredError(spot, "is a field that this engine does not follow")

    def struct(self, type_: str, item: Any, spot: str) -> Iterator[str]:
        if item is None:
            item = {}
        elif not isinstance(item, dict):
            raise NotCoveredError(spot, "is not a mapping")
        item = converted(type_, item, spot)
        separator = "{"
        for field in self.table.structs[type_]:
            yield f"{separator}{field.name}:"
            separator = " "
            if field.inline:
                yield from self.typed(field.type, item, spot)
                continue
            value = None if field.key is None else item.get(field.key)
            if value is None or (field.type[0] != "*" and value in ("", 0) and value is not False):
                default = value_if_missing(type_, field.key or "")
                value = default if default is not None else value
            yield from self.typed(field.type, value, f"{spot}.{field.key}" if spot else field.key or "")
        yield "}"

    def list(self, type_: str, items: Any, spot: str) -> Iterator[str]:
        if items is None:
            yield "<nil>"
            return
        if not isinstance(items, list):
            raise NotCoveredError(spot, "is not a list")
        yield "["
        for n, item in enumerate(items):
            if n:
                yield " "
            yield from self.value(type_, item, f"{spot}[{n}]")
        yield "]"

    def map(self, type_: str, items: Any, spot: str) -> Iterator[str]:
        if items is None:
            yield "<nil>"
            return
        if not isinstance(items, dict) or not all(isinstance(key, str) for key in items):
            raise NotCoveredError(spot, "is not a mapping of texts")
        separator = "map["
        for key in sorted(items, key=lambda key: key.encode("utf-8", "surrogatepass")):
            yield f"{separator}{key}:"
            separator = " "
            yield from self.value(type_, items[key], f"{spot}.{key}")
        yield "]" if items else "map[]"

    def scalar(self, kind: str, value: Any, spot: str) -> str:
        if value is None:
            value = _ZEROS[kind]
        if kind == "string" and isinstance(value, str):
            return value
        if kind == "bool" and isinstance(value, bool):
            return "true" if value else "false"
        whole = isinstance(value, int) and not isinstance(value, bool)
        if kind in _INTEGERS and whole and -_INTEGERS[kind] <= value < _INTEGERS[kind]:
            return str(value)
        raise NotCoveredError(spot, f"{quoted(value)} is not of the type {kind}")

    def int_or_string(self, value: Any, spot: str) -> str:
        number, text = (0, value) if isinstance(value, str) else (value, "")
        written = self.scalar("int32", number, spot)
        return f"{{Type:(intstr.Type){int(number is not value)} IntVal:(int32){written} StrVal:(string){text}}}"

    def quantity(self, value: Any, spot: str) -> str:
        if value is None:
            return _quantity(0, 0, _NO_DEC, "", "")
        amount = value if isinstance(value, Quantity) else written_amount(value, spot)
        if amount.small is not None:
            return _quantity(*amount.small, _NO_DEC, _kept_text(amount), amount.format)
        if amount.nano == 0:
            raise NotCoveredError(spot, "is a zero that the kubelet does not hold as a whole number")
        unscaled, words = abs(amount.nano) // 10 ** (9 - amount.places), []
        while unscaled:
            unscaled, word = divmod(unscaled, _WORD)
            words.append(str(word))
        negative = "true" if amount.nano < 0 else "false"
        number = f"(big.Int){{neg:(bool){negative} abs:(big.nat)[{' '.join(words)}]}}"
        dec = f"(resource.infDecAmount){{Dec:(*inf.Dec){{unscaled:{number} scale:(inf.Scale){amount.places}}}}}"
        return _quantity(0, 0, dec, "", amount.format)


def _quantity(mantissa: int, scale: int, dec: str, text: str, format_: str) -> str:
    number = f"(resource.int64Amount){{value:(int64){mantissa} scale:(resource.Scale){scale}}}"
    return f"{{i:{number} d:{dec} s:(string){text} Format:(resource.Format){format_}}}"


def _kept_text(amount: Quantity) -> str:
    """The text that a Quantity keeps beside its number; a binary one only if the written number is no multiple of 8."""
    if amount.format != "BinarySI":
        return amount.text
    written = amount.text.lstrip("+-").rstrip("KMGTPEi")
    return amount.text if written and int(written.rstrip(".")) % 8 else ""
