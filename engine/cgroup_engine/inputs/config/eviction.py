"""When the kubelet evicts pods: evictionHard, evictionSoft and what goes with them."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping

from cgroup_engine.errors import quoted
from cgroup_engine.inputs.config.duration import duration_ns
from cgroup_engine.inputs.config.fields import ConfigFields
from cgroup_engine.kubelet.eviction_thresholds import (
    Amount,
    EvictionConfig,
    Signal,
    Threshold,
    with_allocatable,
)
from cgroup_engine.model.quantity import Quantity, from_bytes

_DEFAULT_EVICTION_MEMORY = "100Mi"
_TRANSITION_NS = 300 * 10**9
_NONE = ("0%", "100%")
_MEMORY_SIGNALS: tuple[Signal, ...] = ("memory.available", "allocatableMemory.available")
_SIGNALS = {  # release 1.N -> the signals of evictionHard that it brought
    24: "memory.available nodefs.available nodefs.inodesFree imagefs.available imagefs.inodesFree "
    "allocatableMemory.available pid.available",
    29: "containerfs.available containerfs.inodesFree",
}


def check_eviction(config: ConfigFields) -> None:
    """Refuses thresholds of evictionHard and evictionSoft as parseThresholdStatement does.

    A threshold is a percentage, or an amount above zero. 1.29 brought the signals of containerfs. A soft threshold
    needs its evictionSoftGracePeriod (ParseThresholdConfig).

    :raises ConfigError: a signal is not known, or its threshold is no such text.
    """
    known = {signal for since, names in _SIGNALS.items() if config.version.at_least(since) for signal in names.split()}
    for name in ("evictionHard", "evictionSoft", "evictionSoftGracePeriod", "evictionMinimumReclaim"):
        for signal, text in config.mapping(name).items():
            if signal not in known:
                config.refuse(name, f"{quoted(signal)} is not known", f"use some of {', '.join(sorted(known))}")
            elif name in ("evictionHard", "evictionSoft"):
                threshold = _threshold(config, f"{name}.{signal}", text)
                if isinstance(threshold, Quantity) and threshold.is_zero():  # ParseThresholdConfig refuses it
                    config.warnings.append(
                        f"{config.where}: {name}.{signal}: {quoted(text)} is not above zero, and a kubelet does not "
                        "start with it; taken as none, which is written 0%"
                    )
    for signal, text in config.mapping("evictionSoft").items():
        if signal not in config.mapping("evictionSoftGracePeriod") and text not in _NONE:
            config.refuse(
                f"evictionSoft.{signal}", "has no grace period", f"give evictionSoftGracePeriod.{signal}, such as 90s"
            )


def eviction_config(config: ConfigFields, enforce: frozenset[str]) -> EvictionConfig:
    """When pods are evicted for memory; ``enforce``: what enforceNodeAllocatable names.

    :raises ConfigError: a text is no threshold, duration or number.
    """
    hard = {signal: _memory_text(config, signal) for signal in _MEMORY_SIGNALS}
    soft = config.mapping("evictionSoft")
    thresholds = [
        Threshold(signal, amount, grace, _min_reclaim(config, signal))
        for texts, name in ((hard, "evictionHard"), (soft, "evictionSoft"))
        for signal in _MEMORY_SIGNALS
        if (amount := _amount(config, f"{name}.{signal}", texts.get(signal)))
        for grace in [_duration(config, "evictionSoftGracePeriod", signal) if texts is soft else 0]
    ]
    transition = _duration_text(config, "evictionPressureTransitionPeriod", config.fields) or _TRANSITION_NS
    grace = config.fields.get("evictionMaxPodGracePeriod")
    if grace is None:
        grace = 0
    elif isinstance(grace, bool) or not isinstance(grace, int) or not -(1 << 31) <= grace < 1 << 31:
        raise config.error("evictionMaxPodGracePeriod", f"{quoted(grace)} is no number of seconds")
    return EvictionConfig(with_allocatable(thresholds, enforce), transition, grace)


def eviction_memory(config: ConfigFields, capacity: int) -> Quantity | None:
    """evictionHard["memory.available"] as bytes of the capacity; None without a threshold."""
    text = _memory_text(config, "memory.available")
    threshold = None if text is None else _threshold(config, "evictionHard.memory.available", text)
    return from_bytes(int(float(capacity) * threshold)) if isinstance(threshold, float) else threshold


def _memory_text(config: ConfigFields, signal: str) -> object:
    """What evictionHard says of a signal.

    Without evictionHard the default is 100Mi for memory.available; with it there is a default only with
    mergeDefaultEvictionSettings (1.33).
    """
    hard = config.mapping("evictionHard") if config.fields.get("evictionHard") is not None else None
    merge = config.version.at_least(33) and config.flag("mergeDefaultEvictionSettings", False)
    text = (hard or {}).get(signal)
    if text is None and signal == "memory.available" and (hard is None or merge):
        return _DEFAULT_EVICTION_MEMORY
    return text


def _amount(config: ConfigFields, spot: str, text: object) -> Amount:
    """A threshold in bytes or as a part of the capacity; 0 for none."""
    threshold = None if text is None else _threshold(config, spot, text)
    return threshold.value() if isinstance(threshold, Quantity) else threshold or 0


def _min_reclaim(config: ConfigFields, signal: Signal) -> Amount:
    return _amount(config, f"evictionMinimumReclaim.{signal}", config.mapping("evictionMinimumReclaim").get(signal))


def _duration(config: ConfigFields, name: str, signal: Signal) -> int:
    return _duration_text(config, name, {name: config.mapping(name).get(signal)}) or 0


def _duration_text(config: ConfigFields, name: str, fields: Mapping[str, object]) -> int | None:
    text = fields.get(name)
    if text is None:
        return None
    duration = duration_ns(text) if isinstance(text, str) else None
    if duration is None:
        raise config.error(name, f"{quoted(text)} is not a duration", 'write one such as "90s"')
    return duration


def _threshold(config: ConfigFields, spot: str, text: object) -> Quantity | float | None:
    """An amount, or a fraction as a float32; None for none: parseThresholdStatement ignores "0%" and "100%"."""
    if text in _NONE:
        return None
    if not isinstance(text, str) or not text.endswith("%"):
        return config.amount(text, spot)
    number = text.rstrip("%")
    if not re.fullmatch(r"[+-]?([0-9]{1,20}\.?[0-9]{0,20}|\.[0-9]{1,20})(e[+-]?[0-9]{1,2})?", number, re.A | re.I):
        raise config.error(spot, f"{quoted(text)} is not a percentage", "use 0% to 100%")
    fraction = _float32(_float32(float(number)) / 100)
    if not 0 <= fraction <= 1:
        raise config.error(spot, f"{quoted(text)} is not a percentage", "use 0% to 100%")
    return fraction


def _float32(number: float) -> float:
    return float(struct.unpack("f", struct.pack("f", number))[0])
