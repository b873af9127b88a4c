"""The expressions of kwok's documentation: a quantity, and a quantity from an annotation or else another one."""

from __future__ import annotations

import re
from collections.abc import Mapping

_TEXT = r"\"([^\"\\]*)\""
_ANNOTATION = rf"pod\.metadata\.annotations\[{_TEXT}\]"
_QUANTITY = rf"Quantity\((?:{_TEXT}|{_ANNOTATION})\)"
_ALONE = re.compile(_QUANTITY)
_EITHER = re.compile(rf"{_TEXT}inpod\.metadata\.annotations\?({_QUANTITY}):({_QUANTITY})")


def value_of(text: str, annotations: Mapping[str, str]) -> str:
    """The quantity that an expression stands for, for a pod with these annotations.

    ``Quantity("1m")``, ``Quantity(pod.metadata.annotations["KEY"])``, and
    ``"KEY" in pod.metadata.annotations ? QUANTITY : QUANTITY``.

    :raises ValueError: another expression, or an annotation that the pod does not have.
    """
    bare = "".join(re.split(r"\s+", text)) if len(text) <= 4096 else ""
    either = _EITHER.fullmatch(bare)
    chosen = bare if either is None else either[2] if either[1] in annotations else either[5]
    alone = _ALONE.fullmatch(chosen)
    if alone is None:
        raise ValueError(
            'this expression is not simulated: use value, Quantity("1m"), Quantity(pod.metadata.annotations["KEY"]), '
            'or "KEY" in pod.metadata.annotations ? Quantity(...) : Quantity(...)'
        )
    if alone[1] is not None:
        return alone[1]
    if alone[2] not in annotations:
        raise ValueError(f"the pod has no annotation {alone[2]!r}")
    return annotations[alone[2]]
