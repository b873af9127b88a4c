"""Memory, swap, pids, and the OOM killer."""

from __future__ import annotations

import re

from cgroup_engine.errors import quoted
from cgroup_engine.inputs.config.fields import ConfigFields
from cgroup_engine.kubelet.memory_qos import MemoryReservationPolicy
from cgroup_engine.kubelet.node import MemoryManagerPolicy
from cgroup_engine.kubelet.swap import SwapBehavior


def qos_reserved_memory(config: ConfigFields) -> int | None:
    reserved = config.mapping("qosReserved")
    for resource in reserved:
        if resource != "memory":
            raise config.error("qosReserved", f"{quoted(resource)} is not supported", "use memory")
    text = reserved.get("memory")
    if text is None:
        return None
    # ParseQOSReserved: a sign and leading zeros are taken, and more than one "%"
    if not isinstance(text, str) or not re.fullmatch(r"[+-]?[0-9]{1,18}%+", text, re.ASCII):
        raise config.error("qosReserved.memory", f"{quoted(text)} is not a percentage", "use 0% to 100%")
    percent = int(text.rstrip("%"))
    if not 0 <= percent <= 100:
        raise config.error("qosReserved.memory", f"{quoted(text)} is not a percentage", "use 0% to 100%")
    if not config.version.enabled("QOSReserved"):
        config.warnings.append(f"{config.where}: qosReserved: has no effect without featureGates.QOSReserved: true")
        return None
    return percent


def memory_manager_policy(config: ConfigFields) -> MemoryManagerPolicy:
    policy = config.text("memoryManagerPolicy", "")
    if policy not in ("", "None", "Static"):
        raise config.error("memoryManagerPolicy", f"{quoted(policy)} is not known", "use None or Static", policy)
    return "Static" if policy == "Static" else "None"


def memory_reservation_policy(config: ConfigFields) -> MemoryReservationPolicy:
    """memoryReservationPolicy (1.36): TieredReservation needs the gate MemoryQoS."""
    policy = config.text("memoryReservationPolicy", "") if config.version.at_least(36) else ""
    if policy in ("", "None"):
        return "None"
    if policy != "TieredReservation":
        raise config.error(
            "memoryReservationPolicy", f"{quoted(policy)} is not known", "use None or TieredReservation", policy
        )
    if not config.version.enabled("MemoryQoS"):
        config.refuse("memoryReservationPolicy", f"{policy} needs a feature gate", "set featureGates.MemoryQoS: true")
        return "None"
    return "TieredReservation"


def memory_throttling_factor(config: ConfigFields) -> float | None:
    """memoryThrottlingFactor, above 0 and up to 1; default none, before 1.37 0.9, before 1.27 0.8.

    1.37 (change 140007, from the pull request): None gives no memory.high. With the gate MemoryQoS off a factor other
    than the former default is refused.
    """
    factor, version = config.fields.get("memoryThrottlingFactor"), config.version
    if factor is None:
        return None if version.at_least(37) else 0.9 if version.at_least(27) else 0.8
    if isinstance(factor, bool) or not isinstance(factor, (int, float)) or not 0 < factor <= 1:
        raise config.error("memoryThrottlingFactor", f"{quoted(factor)} is not above 0 and up to 1", "correct it")
    if version.at_least(37) and factor != 0.9 and not version.enabled("MemoryQoS"):
        raise config.error(
            "memoryThrottlingFactor", f"{factor} needs a feature gate", "set featureGates.MemoryQoS: true"
        )
    return float(factor)


def swap_behavior(config: ConfigFields) -> SwapBehavior | None:
    """memorySwap.swapBehavior, or its default (configureContainerSwapResources).

    Setting it needs the gate NodeSwap. Unset: up to 1.27 LimitedSwap, or nothing without the gate; 1.28
    and 1.29 UnlimitedSwap, or NoSwap without the gate; since 1.30 NoSwap, and UnlimitedSwap is gone.
    """
    gate, newer = config.version.enabled("NodeSwap"), config.version.at_least(30)
    settings = config.mapping("memorySwap")
    text = settings.get("swapBehavior") or ""
    if text and not gate:
        config.refuse("memorySwap.swapBehavior", "needs a feature gate", "set featureGates.NodeSwap: true")
        text = ""
    if text in ("NoSwap", "UnlimitedSwap") and newer != (text == "NoSwap"):
        raise config.error("memorySwap.swapBehavior", f"{text} is refused by kubelet {config.version}")
    if text == "LimitedSwap" or text == "UnlimitedSwap" or text == "NoSwap":
        return "LimitedSwap" if text == "LimitedSwap" else "NoSwap" if text == "NoSwap" else "UnlimitedSwap"
    if text:
        raise config.error("memorySwap.swapBehavior", f"{quoted(text)} is not known", "use LimitedSwap")
    if not config.version.at_least(28):
        return "LimitedSwap" if gate else None
    return "NoSwap" if newer or not gate else "UnlimitedSwap"


def single_process_oom_kill(config: ConfigFields) -> bool | None:
    """singleProcessOOMKill: false makes containers oom groups on v2.

    The field came in 1.32. Since 1.28 containers are groups by default, before 1.28 none is.
    """
    if config.version.at_least(32) and config.fields.get("singleProcessOOMKill") is not None:
        return config.flag("singleProcessOOMKill", False)
    return None if config.version.at_least(28) else True


def kubelet_oom_score_adj(config: ConfigFields) -> int:
    """oomScoreAdj of the kubelet itself, -1000 to 1000; default -999."""
    score = config.fields.get("oomScoreAdj")
    if score is None:
        return -999
    if isinstance(score, bool) or not isinstance(score, int) or not -1000 <= score <= 1000:
        raise config.error("oomScoreAdj", f"{quoted(score)} is not within -1000 to 1000")
    return score


def pod_pids_limit(config: ConfigFields) -> int | None:
    """podPidsLimit in tasks; -1 (the default) and 0 are no limit."""
    limit = config.fields.get("podPidsLimit")
    if limit is None:
        return None
    if isinstance(limit, bool) or not isinstance(limit, int) or not -(1 << 63) <= limit < 1 << 63:
        raise config.error("podPidsLimit", f"{quoted(limit)} is not a whole number")
    return limit if limit > 0 else None
