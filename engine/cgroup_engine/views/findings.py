"""The differences between two trees, grouped: one finding per kind of change, with its workloads and extremes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from cgroup_engine.model.hugepages import PREFIX, UNLIMITED
from cgroup_engine.model.wanted_cgroup import WantedCgroup
from cgroup_engine.views.explain import Value
from cgroup_engine.views.takes_effect import EFFECTS, takes_effect

_LIMITS = ("memory", "memory_high", "swap", "quota", "pids")  # less is tighter
_NOTHING = ("max", "-1", "max 100000", "")
_OFF = ("memory_min", "memory_low", "oom_group")  # 0 is none of it
_NOUNS = {"container": "container", "pod": "pod", "qos": "QoS class", "node": "kubepods", "reserved": "reserved cgroup"}


@dataclass(frozen=True)
class Change:
    """One changed value: an explained one, a plain one, or None on the side without it."""

    cgroup: WantedCgroup
    what: str
    before: Any
    after: Any


def findings(changes: Iterable[Change], cgroup_version: int) -> list[dict[str, Any]]:
    """The changes by rule, as plain data; a rule is what changes in which way on which level.

    ``tightest``: the least new limit, with its ``amount`` as a number. ``worst``: the greatest relative change; it is
    ``by`` as the logarithm of new/old without its sign. ``cgroup_version`` chooses the names.
    """
    groups: dict[tuple[str, str, str, str], list[Change]] = {}
    for change in changes:
        label, kind = _label(change, cgroup_version), _kind(change, cgroup_version)
        if kind == "":
            continue
        groups.setdefault((label, kind, change.cgroup.level, change.what), []).append(change)
    found = [_finding(label, kind, each, cgroup_version) for (label, kind, _level, _what), each in groups.items()]
    return sorted(found, key=lambda one: (EFFECTS.index(one["takes_effect"]), -one["cgroups"]))


def _finding(label: str, kind: str, changes: list[Change], version: int) -> dict[str, Any]:
    first = changes[0]
    workloads = Counter(workload(change.cgroup) for change in changes)
    level = first.cgroup.level
    data: dict[str, Any] = {
        "rule": f"{level} {label}" if kind == "becomes" else f"{level} {label} {kind}",
        "level": level,
        "what": first.what,
        "change": kind,
        "takes_effect": takes_effect(level, first.what),
        "cgroups": len(changes),
        "pods": len({change.cgroup.pod.uid for change in changes if change.cgroup.pod is not None}),
        "workloads": [{"workload": name, "cgroups": number} for name, number in workloads.most_common()],
    }
    text = f"{label if kind == 'becomes' else f'{label} {kind}'} on {counted(len(changes), level)}"
    if kind not in ("becomes", "goes") and (first.what in _LIMITS or first.what.startswith(PREFIX)):
        least = min(changes, key=lambda change: _amount(change.after, change.what, version))
        amount = _amount(least.after, least.what, version)
        if math.isfinite(amount):
            data["tightest"] = {"value": _texts(least, version)[1], "amount": amount, "for": least.cgroup.owner}
            text += f", tightest {shown(amount, first.what)}"
    both = [change for change in changes if kind != "becomes" and math.isfinite(_ratio(change, version))]
    if both:
        worst = max(both, key=lambda change: _ratio(change, version))
        old, new = _texts(worst, version)
        data["worst"] = {"from": old, "to": new, "by": round(_ratio(worst, version), 4), "for": worst.cgroup.owner}
    data["text"] = text
    return data


def workload(cgroup: WantedCgroup) -> str:
    """NAMESPACE/KIND/NAME of the workload, the pod without one, or the owner of a cgroup above the pods."""
    if cgroup.pod is None:
        return cgroup.owner
    return f"{cgroup.pod.namespace}/{cgroup.pod.workload}" if cgroup.pod.workload else str(cgroup.pod)


def counted(number: int, level: str) -> str:
    """``96 containers``."""
    noun = _NOUNS.get(level, "cgroup")
    if noun == "kubepods":
        return noun
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"


def shown(amount: float, what: str) -> str:
    """A limit for people: bytes as 241Mi, a quota as CPUs."""
    if what == "quota":
        return f"{amount:.3g} CPUs"
    if what == "pids":
        return f"{amount:.0f} tasks"
    for name, size in (("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)):
        if amount >= size:
            return f"{amount / size:.1f}".removesuffix(".0") + name
    return f"{amount:.0f} bytes"


def _files(side: Any, version: int) -> Mapping[str, str]:
    """The files of a value in the layout of the version, else in the other one."""
    if not isinstance(side, Value):
        return {}
    return side.of(version) or side.of(3 - version)


def _changed_version(change: Change, version: int) -> int:
    """The layout in which the value differs; that of the node if both do."""
    sides = [side.of(version) for side in (change.before, change.after) if isinstance(side, Value)]
    if len(sides) == 2 and sides[0] == sides[1]:
        return 3 - version
    return version if any(sides) else 3 - version


def _label(change: Change, version: int) -> str:
    old, new = _file(change, version)
    if old == new == "":
        return {"qos_class": "QoS class", "cgroup": "the path"}.get(change.what, change.what)
    if old and new and old != new:
        return f"{old} becomes {new}"
    layout = _changed_version(change, version)
    return new or old if layout == version else f"{new or old} (cgroup v{layout})"


def _file(change: Change, version: int) -> tuple[str, str]:
    """The first file that differs, by its name on both sides; "" on a side without the value."""
    layout = _changed_version(change, version)
    old, new = _files(change.before, layout), _files(change.after, layout)
    if not old or not new or not old.keys() & new.keys():
        return next(iter(old), ""), next(iter(new), "")
    name = next((name for name in (*new, *old) if old.get(name) != new.get(name)), "")
    return name, name


def _texts(change: Change, version: int) -> tuple[str, str]:
    """The texts of that file."""
    layout = _changed_version(change, version)
    texts = []
    for side, name in zip((change.before, change.after), _file(change, version), strict=True):
        text = _files(side, layout).get(name, "") if isinstance(side, Value) else side
        texts.append("" if text is None else str(text))
    return texts[0], texts[1]


def _kind(change: Change, version: int) -> str:
    """appears, goes, rises, falls, changes, or becomes another file; "" if neither side does anything."""
    old, new = _file(change, version)
    if old and new and old != new:
        return "becomes"
    before, after = _texts(change, version)
    if _is_nothing(before, change.what) or _is_nothing(after, change.what):
        none = _is_nothing(before, change.what), _is_nothing(after, change.what)
        return {(True, False): "appears", (False, True): "goes"}.get(none, "")
    numbers = [_number(text) for text in (before, after)]
    if None in numbers or numbers[0] == numbers[1]:
        return "changes"
    return "rises" if (numbers[1] or 0) > (numbers[0] or 0) else "falls"


def _is_nothing(text: str, what: str) -> bool:
    return text in _NOTHING or text.startswith("max ") or (what in _OFF and text == "0")


def _number(text: str) -> float | None:
    """A value as a number; a quota with its period ("50000 100000") as CPUs."""
    parts = text.split()
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        return None
    if not numbers:
        return None
    return numbers[0] / numbers[1] if len(numbers) == 2 and numbers[1] else numbers[0]


def _amount(side: Any, what: str, version: int) -> float:
    files = _files(side, version)
    text = " ".join(files.values()) if what == "quota" else next(iter(files.values()), "")
    number = None if _is_nothing(text, what) else _number(text)
    return math.inf if number is None or number < 0 or number >= UNLIMITED else number


def _ratio(change: Change, version: int) -> float:
    """How great a change is: the logarithm of new/old without its sign; infinite if one side has no number."""
    texts = _texts(change, version)
    old, new = map(_number, texts)
    if old is None or new is None or any(_is_nothing(text, change.what) for text in texts):
        return math.inf
    if old > 0 and new > 0:
        return abs(math.log(new / old))
    return abs(new - old)
