"""cpu.weight of cgroup v2 (1..10000) from CPU shares (2..262144): two formulas, and the level that uses each.

* ``linear``: 1 + ((shares - 2) × 9999) / 262142. One CPU, 1024 shares, becomes 39. The kubelet uses it for its own
  cgroups (node, QoS classes, pods, reserved) in all versions here: ``getCPUWeight`` of
  ``pkg/kubelet/cm/cgroup_manager_linux.go``.
* ``quadratic``: ceil(10^((l² + 125·l)/612 - 7/34)) with l = log2 shares. 1024 shares become 100, the kernel's default.
  Runtimes use it for containers since runc 1.3.2 (``ConvertCPUSharesToCgroupV2Value`` of opencontainers/cgroups
  0.0.3) and crun 1.23. Older runtimes use the linear formula; see ``oci_runtime``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Literal

from cgroup_engine.kubelet.oci_runtime import OciRuntime
from cgroup_engine.model.limits import CgroupLimits
from cgroup_engine.model.reason import CM, THE_RUNTIME, Citation, Reason, Ruled

Formula = Literal["linear", "quadratic"]
LEVELS = ("reserved", "node", "qos", "pod", "container")
_KUBELETS = Citation("getCPUWeight", f"{CM}/cgroup_manager_linux.go")
_FORMULAS: tuple[Formula, ...] = ("linear", "quadratic")

_MIN_SHARES, _MAX_SHARES = 2, 262144
_MAX_WEIGHT = 10000


def linear(shares: int) -> int:
    """The kubelet's formula; shares out of range count as the nearest bound."""
    if shares >= _MAX_SHARES:
        return _MAX_WEIGHT
    return 1 + (max(shares, _MIN_SHARES) - 2) * 9999 // 262142


def quadratic(shares: int) -> int:
    """The runtimes' newer formula; shares out of range count as the nearest bound."""
    if shares <= _MIN_SHARES:
        return 1
    if shares >= _MAX_SHARES:
        return _MAX_WEIGHT
    log = math.log2(shares)
    return math.ceil(math.pow(10, (log * log + 125 * log) / 612.0 - 7.0 / 34.0))


def weight(shares: int, formula: Formula) -> int:
    """cpu.weight for shares."""
    return linear(shares) if formula == "linear" else quadratic(shares)


def with_weight(limits: CgroupLimits) -> CgroupLimits:
    """Limits with the cpu.weight that the kubelet's formula makes of their shares; a weight that is given stays."""
    if limits.weight is not None or limits.shares is None:
        return limits
    return replace(limits, weight=linear(limits.shares))


def ruled_weight(shares: int, level: str, chosen: Mapping[str, Formula], runtime: OciRuntime) -> Ruled[int]:
    """cpu.weight of a cgroup and the formula with the numbers filled in; ``chosen``: formulas by level."""
    return _ruled_weight(shares, level, formula_of(level, chosen, runtime), runtime)


@lru_cache(maxsize=1 << 12)  # pods repeat the same few amounts
def _ruled_weight(shares: int, level: str, formula: Formula, runtime: OciRuntime) -> Ruled[int]:
    number = weight(shares, formula)
    if formula == "linear":
        why = f"linear cpu.weight = 1 + (({shares} - 2) × 9999) / 262142 = {number}"
    else:
        why = f"quadratic cpu.weight = 10^((l² + 125·l)/612 - 7/34) with l = log2 {shares}, rounded up = {number}"
    if level != "container":
        return Ruled(number, Reason(why, _KUBELETS))
    newer = "since 1.3.2 and crun since 1.23" if formula == "quadratic" else "before 1.3.2 and crun before 1.23"
    return Ruled(number, Reason(f"{why}, as runc {newer} write it", THE_RUNTIME, lambda: {"runtime": str(runtime)}))


def default_formula(level: str, runtime: OciRuntime) -> Formula:
    """The formula of a level if none is chosen: that of the runtime for a container, else the kubelet's."""
    return "quadratic" if level == "container" and runtime.quadratic else "linear"


def parse_formulas(text: str) -> dict[str, Formula]:
    """``quadratic`` for every level, or ``container=linear,pod=quadratic`` for some.

    :raises ValueError: the text has neither form.
    """
    chosen: dict[str, Formula] = {}
    for part in text.split(","):
        name, equals, value = part.rpartition("=")
        levels = [level for level in LEVELS if not equals or level == name]
        formulas = [formula for formula in _FORMULAS if formula == value]
        if not levels or not formulas:
            raise ValueError(f"{part!r} is not LEVEL=FORMULA of {', '.join(LEVELS)} and {', '.join(_FORMULAS)}")
        chosen |= dict.fromkeys(levels, formulas[0])
    return chosen


def formula_of(level: str, chosen: Mapping[str, Formula], runtime: OciRuntime) -> Formula:
    """The chosen formula of a level, or its default."""
    return chosen.get(level) or default_formula(level, runtime)
