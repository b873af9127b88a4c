"""A node: its size, and the KubeletConfiguration (kubelet.config.k8s.io/v1beta1) as far as cgroups depend on it.

Defaults and checks follow ``pkg/kubelet/apis/config/v1beta1/defaults.go`` and ``.../config/validation``. Fields that
do not concern cgroups are ignored; fields that do, and that this engine does not act on yet, are named in
``NodeConfig.warnings`` so that nothing is dropped silently.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from cgroup_engine.errors import ConfigError, QuantityError, UnsafeNameError, shown
from cgroup_engine.inputs.config_fields import FIELD_SINCE, NOT_ACTED_ON
from cgroup_engine.inputs.documents import read_documents
from cgroup_engine.kubelet.allocatable import over_reserved, reservation
from cgroup_engine.kubelet.memory_qos import MemoryReservationPolicy
from cgroup_engine.kubelet.node import CpuManagerPolicy, NodeConfig
from cgroup_engine.kubelet.swap import SwapBehavior
from cgroup_engine.model.cpu_list import parse_cpu_list
from cgroup_engine.model.kubelet_version import ALL_OF_A_STAGE, GATES, KubeletVersion
from cgroup_engine.model.limits import DEFAULT_PERIOD_US, CfsQuota
from cgroup_engine.model.names import (
    CgroupName,
    Driver,
    Runtime,
    components,
    kubepods_name,
    parse_cgroupfs,
    parse_reserved,
)
from cgroup_engine.model.pod import Resources
from cgroup_engine.model.quantity import Quantity, from_bytes, from_milli, parse

API_VERSION = "kubelet.config.k8s.io/v1beta1"
_DEFAULT_EVICTION_MEMORY = "100Mi"
_DURATION_UNITS_NS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}


def read_config(path: Path | None) -> tuple[Mapping[str, Any], str]:
    """The fields of a KubeletConfiguration file and its name for messages; no file is an empty configuration.

    :raises ConfigError: not one KubeletConfiguration of v1beta1.
    """
    if path is None:
        return {}, "kubelet configuration"
    documents = read_documents(path, ConfigError)
    configs = [d for d in documents if isinstance(d, dict) and d.get("kind") == "KubeletConfiguration"]
    if len(configs) != 1 or len(documents) != 1:
        raise ConfigError(
            f"{path}: holds {len(configs)} KubeletConfiguration objects in {len(documents)} documents",
            path=str(path),
            todo="give a file with exactly one and nothing else",
        )
    if configs[0].get("apiVersion") != API_VERSION:
        raise ConfigError(
            f"{path}: apiVersion: {shown(configs[0].get('apiVersion'))} is not {API_VERSION}",
            path=str(path),
            todo="convert the file",
        )
    return configs[0], str(path)


def static_pod_path(fields: Mapping[str, Any], where: str) -> str | None:
    """staticPodPath, None if it is not given; a relative one is beside the configuration, as the kubelet reads it.

    :raises ConfigError: it is no text.
    """
    path = fields.get("staticPodPath")
    if path is None or path == "":
        return None
    if not isinstance(path, str):
        raise ConfigError(f"{where}: staticPodPath: {shown(path)} is not a text", path=where, todo="give a directory")
    return os.path.abspath(os.path.join(os.path.dirname(where), path))


def feature_gates(fields: Mapping[str, Any], where: str) -> dict[str, bool]:
    """featureGates of a configuration.

    :raises ConfigError: not a mapping of names to true or false.
    """
    gates = fields.get("featureGates") or {}
    if not isinstance(gates, dict) or not all(isinstance(k, str) and isinstance(v, bool) for k, v in gates.items()):
        raise ConfigError(f"{where}: featureGates: is not a mapping of names to true or false", path=where)
    return gates


def node_config(
    fields: Mapping[str, Any],
    where: str,
    *,
    version: KubeletVersion,
    cpus: int,
    memory: int,
    max_pids: int,
    swap: int = 0,
    huge_pages: Mapping[int, int] | None = None,
    driver: Driver | None = None,
    runtime: Runtime = "containerd",
    runtime_driver: Driver | None = None,
) -> NodeConfig:
    """A node with the given size and configuration fields; ``driver`` overrides cgroupDriver.

    ``runtime_driver``: the runtime's own; None is the kubelet's, as it should be. (Kubelets from 1.31 on ask a runtime
    that can tell: gate KubeletCgroupDriverFromCRI.)

    :raises ConfigError: a field has a value that a kubelet would refuse, more is reserved than there is, or no
        container can be made with these drivers.
    """
    size = NodeConfig(cpus, memory, max_pids, version, runtime, swap=swap, huge_pages=huge_pages or {})
    node = replace(_Reader(fields, where, version).node(size, driver), runtime_driver=runtime_driver)
    if runtime_driver not in (None, node.driver) and not (node.misplaced and runtime == "containerd"):
        raise ConfigError(
            f"{where}: the kubelet's driver is {node.driver} and {runtime}'s is {runtime_driver}: no container starts",
            todo="give both the same",
        )
    return node


class _Reader:
    def __init__(self, fields: Mapping[str, Any], where: str, version: KubeletVersion) -> None:
        self.fields = fields
        self.where = where
        self.version = version
        self.warnings: list[str] = []

    def error(self, name: str, message: str, todo: str = "", value: str | None = None) -> ConfigError:
        return ConfigError(f"{self.where}: {name}: {message}", path=self.where, value=value, todo=todo)

    def node(self, size: NodeConfig, driver: Driver | None) -> NodeConfig:
        self.check_gates()
        self.warn_of_fields()
        if not self.flag("cgroupsPerQOS", True):
            raise self.error("cgroupsPerQOS", "is false, so the kubelet makes no hierarchy", "set it to true")
        driver = driver or self.driver()
        try:
            cgroup_root = parse_cgroupfs(self.text("cgroupRoot", ""))
            components(kubepods_name(cgroup_root), driver)
        except UnsafeNameError as refused:
            raise self.error("cgroupRoot", refused.message, refused.todo, refused.value) from None
        eviction = self.eviction_memory(size.memory)
        enforce = self.enforce()
        kube_reserved, system_reserved = self.both_reserved(size.cpus)
        node = replace(
            size,
            driver=driver,
            cgroup_root=cgroup_root,
            enforce=enforce,
            kube_reserved=kube_reserved,
            system_reserved=system_reserved,
            kube_reserved_cgroup=self.reserved_cgroup("kubeReservedCgroup", driver, enforce),
            system_reserved_cgroup=self.reserved_cgroup("systemReservedCgroup", driver, enforce),
            kubelet_cgroups=self.plain_cgroup("kubeletCgroups"),
            system_cgroups=self.system_cgroups(),
            kubelet_oom_score_adj=self.oom_score_adj(),
            eviction_memory=eviction,
            qos_reserved_memory=self.qos_reserved_memory(),
            pod_pids_limit=self.pod_pids_limit(),
            cfs=self.cfs(),
            cpu_manager_policy=self.cpu_manager_policy(),
            memory_reservation_policy=self.memory_reservation_policy(),
            memory_throttling_factor=self.memory_throttling_factor(),
            swap_behavior=self.swap_behavior(),
            single_process_oom_kill=self.single_process_oom_kill(),
            # default true since 1.35 (KEP-5573); the field exists since 1.31
            fail_cgroup_v1=self.version.at_least(31) and self.flag("failCgroupV1", self.version.at_least(35)),
            warnings=tuple(self.warnings),
        )
        self.check_reserved(node)
        return node

    def check_reserved(self, node: NodeConfig) -> None:
        capacity = {name: amount for name, amount in node.capacity.items() if name != "pid"}
        kept = reservation(capacity, node.kube_reserved, node.system_reserved, node.eviction_memory)
        for name in over_reserved(capacity, kept):
            raise self.error(
                f"kubeReserved, systemReserved and evictionHard of {name}",
                f"are {kept[name]} in sum and the node has {capacity[name]}",
                "reserve less",
            )
        for key, enforcement in (("kubeReserved", "kube-reserved"), ("systemReserved", "system-reserved")):
            amounts = node.kube_reserved if key == "kubeReserved" else node.system_reserved
            if not amounts and {enforcement, f"{enforcement}-compressible"} & node.enforce:
                raise self.error(key, f"is empty, but enforceNodeAllocatable names {enforcement}", "give amounts")

    def check_gates(self) -> None:
        """A kubelet does not start with a gate that it does not know, or another value than a locked one has.

        Only the gates that cgroups depend on are known here; the others are taken as they are, but for a name that
        is nearly one of these.
        """
        for name, on in self.version.gates.items():
            where = f"featureGates.{name}" if name.isprintable() and len(name) <= 100 else "featureGates"
            if name not in GATES and name not in ALL_OF_A_STAGE:
                close = get_close_matches(name.casefold(), {known.casefold(): known for known in GATES}, 1, 0.9)
                meant = [known for known in GATES if [known.casefold()] == close]
                if meant:
                    self.warnings.append(f"{self.where}: {where}: is no feature gate; is {meant[0]} meant?")
            if name not in GATES:
                continue
            gate = self.version.gate(name)
            if gate is None or gate.stage == "removed":
                state = "not know it yet" if gate is None else "not have it any more"
                raise self.error(where, f"a kubelet {self.version} does {state} and does not start", "leave it out")
            if gate.locked and on != gate.on:
                raise self.error(where, f"cannot be {str(on).lower()} in kubelet {self.version}", "leave it out")

    def warn_of_fields(self) -> None:
        for name in self.fields:
            since = FIELD_SINCE.get(name) if isinstance(name, str) else None
            if since is None:
                self.warnings.append(f"{self.where}: {shown(name)}: is no field of KubeletConfiguration; ignored")
            elif not self.version.at_least(since):
                self.warnings.append(f"{self.where}: {name}: is not known before 1.{since}; ignored")
        for name, (inert, what) in NOT_ACTED_ON.items():
            value = self.fields.get(name)
            if value not in (None, *inert):
                self.warnings.append(f"{self.where}: {name}: is not acted on yet: {what}")

    def flag(self, name: str, default: bool) -> bool:
        value = self.fields.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.error(name, f"{shown(value)} is not true or false")
        return value

    def text(self, name: str, default: str) -> str:
        value = self.fields.get(name)
        if value is None:
            return default
        if not isinstance(value, str):
            raise self.error(name, f"{shown(value)} is not a text", "put it in quotes")
        return value

    def mapping(self, name: str) -> Mapping[str, Any]:
        value = self.fields.get(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self.error(name, "is not a mapping")
        return value

    def driver(self) -> Driver:
        text = self.text("cgroupDriver", "") or "cgroupfs"
        if text == "cgroupfs" or text == "systemd":
            return "cgroupfs" if text == "cgroupfs" else "systemd"
        raise self.error("cgroupDriver", f"{shown(text)} is not a driver", "use cgroupfs or systemd", text)

    def enforce(self) -> frozenset[str]:
        """enforceNodeAllocatable, default [pods]; [] and [none] are the same.

        The -compressible keys came in 1.32. A key that is named twice is refused since 1.31.
        """
        listed = self.fields.get("enforceNodeAllocatable")
        if listed is None:
            return frozenset({"pods"})
        known = ["pods", "system-reserved", "kube-reserved", "none"]
        if self.version.at_least(32):
            known += ["system-reserved-compressible", "kube-reserved-compressible"]
        if not isinstance(listed, list):
            raise self.error("enforceNodeAllocatable", "is not a list", f"use some of {', '.join(known)}")
        for item in listed:
            if item not in known:
                raise self.error(
                    "enforceNodeAllocatable", f"{shown(item)} is not known", f"use some of {', '.join(known)}"
                )
        keys = frozenset(listed)
        if len(keys) != len(listed) and self.version.at_least(31):
            raise self.error("enforceNodeAllocatable", "names a key twice", "correct the list")
        if "none" in keys and len(listed) > 1:
            raise self.error("enforceNodeAllocatable", 'names "none" with others', "correct the list")
        for key in ("system-reserved", "kube-reserved"):
            if {key, f"{key}-compressible"} <= keys:
                raise self.error("enforceNodeAllocatable", f"names {key} and {key}-compressible", "use one of them")
        return keys - {"none"}

    def both_reserved(self, cpus: int) -> tuple[Resources, Resources]:
        """kubeReserved and systemReserved; reservedSystemCPUs replaces the CPU of both (cmd/kubelet/app/server.go)."""
        kube, system = dict(self.reserved("kubeReserved")), dict(self.reserved("systemReserved"))
        text = self.text("reservedSystemCPUs", "")
        if not text:
            return kube, system
        for name in ("systemReservedCgroup", "kubeReservedCgroup"):
            if self.text(name, ""):
                raise self.error("reservedSystemCPUs", f"is refused together with {name}", "use one of them")
        try:
            reserved = parse_cpu_list(text)
        except ValueError:
            raise self.error("reservedSystemCPUs", f"{shown(text)} is no list of CPUs", 'write "0-1,4"', text) from None
        if reserved and max(reserved) >= cpus:
            raise self.error("reservedSystemCPUs", f"{shown(text)} names CPUs that the node has not", value=text)
        kube.pop("cpu", None)
        if reserved:
            system["cpu"] = from_milli(len(reserved) * 1000)
        return kube, system

    def reserved(self, name: str) -> Resources:
        amounts = {}
        for resource, raw in self.mapping(name).items():
            spot = f"{name}.{resource}" if isinstance(resource, str) and resource.isprintable() else name
            known = ("cpu", "memory", "ephemeral-storage", "pid")
            if resource not in known:
                raise self.error(name, f"{shown(resource)} cannot be reserved", f"use {', '.join(known)}")
            amounts[resource] = self.amount(raw, spot)
        return amounts

    def amount(self, raw: Any, spot: str) -> Quantity:
        if isinstance(raw, bool) or not isinstance(raw, (str, int, float)):
            raise self.error(spot, f"{shown(raw)} is not a quantity")
        try:
            quantity = parse(str(raw))
        except QuantityError as refused:
            raise self.error(spot, refused.message, refused.todo, refused.value) from None
        if quantity.sign() < 0 or not quantity.fits():
            raise self.error(spot, f"{shown(raw)} is below zero or more than 2^63-1", "correct it", str(raw))
        return quantity

    def reserved_cgroup(self, name: str, driver: Driver, enforce: frozenset[str]) -> CgroupName:
        key = "kube-reserved" if name == "kubeReservedCgroup" else "system-reserved"
        path = self.text(name, "")
        needed = bool({key, f"{key}-compressible"} & enforce)
        if path == "" and needed:
            raise self.error(name, f"is missing, but enforceNodeAllocatable names {key}", f"give {name}")
        try:
            cgroup = parse_reserved(path, driver) if path else ()
            components(cgroup, driver)
        except UnsafeNameError as refused:
            raise self.error(name, refused.message, refused.todo, path) from None
        if needed and not cgroup:
            raise self.error(name, f"{shown(path)} is the root cgroup, which has no limits", "name another", path)
        return cgroup

    def eviction_memory(self, capacity: int) -> Quantity | None:
        """evictionHard["memory.available"] as bytes of the capacity; None without a threshold.

        ``pkg/kubelet/eviction/helpers.go`` parseThresholdStatement: "0%" and "100%" are dropped; of other percentages
        the fraction is kept as a float32. Without evictionHard the default is 100Mi; with it only if
        mergeDefaultEvictionSettings (1.33) says so. A plain zero, which a kubelet refuses, is taken for none.
        """
        hard = self.mapping("evictionHard") if self.fields.get("evictionHard") is not None else None
        merge = self.version.at_least(33) and self.flag("mergeDefaultEvictionSettings", False)
        text = (hard or {}).get("memory.available")
        if text is None and (hard is None or merge):
            text = _DEFAULT_EVICTION_MEMORY
        if text in (None, "0%", "100%"):
            return None
        if not isinstance(text, str) or not text.endswith("%"):
            return self.amount(text, "evictionHard.memory.available")
        number = text.rstrip("%")
        if not re.fullmatch(r"[+-]?([0-9]{1,20}\.?[0-9]{0,20}|\.[0-9]{1,20})(e[+-]?[0-9]{1,2})?", number, re.A | re.I):
            raise self.error("evictionHard.memory.available", f"{shown(text)} is not a percentage", "use 0% to 100%")
        fraction = _float32(_float32(float(number)) / 100)
        if not 0 <= fraction <= 1:
            raise self.error("evictionHard.memory.available", f"{shown(text)} is not a percentage", "use 0% to 100%")
        return from_bytes(int(float(capacity) * fraction))

    def plain_cgroup(self, name: str) -> CgroupName:
        """kubeletCgroups, systemCgroups: a path as it is, with either driver."""
        path = self.text(name, "")
        try:
            return parse_cgroupfs(path)
        except UnsafeNameError as refused:
            raise self.error(name, refused.message, refused.todo, path) from None

    def system_cgroups(self) -> CgroupName:
        """systemCgroups: not the root, and only together with cgroupRoot ("/" will do)."""
        path = self.plain_cgroup("systemCgroups")
        if self.text("systemCgroups", "") and not path:
            raise self.error("systemCgroups", "is the root cgroup", "name another")
        if path and not self.text("cgroupRoot", ""):
            raise self.error("systemCgroups", "needs cgroupRoot", 'set it, to "/" if it is the root')
        return path

    def oom_score_adj(self) -> int:
        """oomScoreAdj of the kubelet itself, -1000 to 1000; default -999."""
        score = self.fields.get("oomScoreAdj")
        if score is None:
            return -999
        if isinstance(score, bool) or not isinstance(score, int) or not -1000 <= score <= 1000:
            raise self.error("oomScoreAdj", f"{shown(score)} is not within -1000 to 1000")
        return score

    def qos_reserved_memory(self) -> int | None:
        reserved = self.mapping("qosReserved")
        for resource in reserved:
            if resource != "memory":
                raise self.error("qosReserved", f"{shown(resource)} is not supported", "use memory")
        text = reserved.get("memory")
        if text is None:
            return None
        # ParseQOSReserved: a sign and leading zeros are taken, and more than one "%"
        if not isinstance(text, str) or not re.fullmatch(r"[+-]?[0-9]{1,18}%+", text, re.ASCII):
            raise self.error("qosReserved.memory", f"{shown(text)} is not a percentage", "use 0% to 100%")
        percent = int(text.rstrip("%"))
        if not 0 <= percent <= 100:
            raise self.error("qosReserved.memory", f"{shown(text)} is not a percentage", "use 0% to 100%")
        if not self.version.enabled("QOSReserved"):
            self.warnings.append(f"{self.where}: qosReserved: has no effect without featureGates.QOSReserved: true")
            return None
        return percent

    def pod_pids_limit(self) -> int | None:
        """podPidsLimit in tasks; -1 (the default) and 0 are no limit."""
        limit = self.fields.get("podPidsLimit")
        if limit is None:
            return None
        if isinstance(limit, bool) or not isinstance(limit, int) or not -(1 << 63) <= limit < 1 << 63:
            raise self.error("podPidsLimit", f"{shown(limit)} is not a whole number")
        return limit if limit > 0 else None

    def memory_reservation_policy(self) -> MemoryReservationPolicy:
        """memoryReservationPolicy (1.36): TieredReservation needs the gate MemoryQoS."""
        policy = self.text("memoryReservationPolicy", "") if self.version.at_least(36) else ""
        if policy in ("", "None"):
            return "None"
        if policy != "TieredReservation":
            raise self.error(
                "memoryReservationPolicy", f"{shown(policy)} is not known", "use None or TieredReservation", policy
            )
        if not self.version.enabled("MemoryQoS"):
            raise self.error(
                "memoryReservationPolicy", f"{policy} needs a feature gate", "set featureGates.MemoryQoS: true"
            )
        return "TieredReservation"

    def memory_throttling_factor(self) -> float:
        """memoryThrottlingFactor, above 0 and up to 1; default 0.9, before 1.27 0.8."""
        factor = self.fields.get("memoryThrottlingFactor")
        if factor is None:
            return 0.9 if self.version.at_least(27) else 0.8
        if isinstance(factor, bool) or not isinstance(factor, (int, float)) or not 0 < factor <= 1:
            raise self.error("memoryThrottlingFactor", f"{shown(factor)} is not above 0 and up to 1", "correct it")
        return float(factor)

    def swap_behavior(self) -> SwapBehavior | None:
        """What memorySwap.swapBehavior comes to (configureContainerSwapResources).

        It cannot be set without the gate NodeSwap. Unset: up to 1.27 LimitedSwap, or nothing without the gate; 1.28
        and 1.29 UnlimitedSwap, or NoSwap without the gate; since 1.30 NoSwap, and UnlimitedSwap is gone.
        """
        gate, newer = self.version.enabled("NodeSwap"), self.version.at_least(30)
        settings = self.mapping("memorySwap")
        text = settings.get("swapBehavior") or ""
        if text and not gate:
            raise self.error("memorySwap.swapBehavior", "needs a feature gate", "set featureGates.NodeSwap: true")
        if text in ("NoSwap", "UnlimitedSwap") and newer != (text == "NoSwap"):
            raise self.error("memorySwap.swapBehavior", f"{text} is refused by kubelet {self.version}")
        if text == "LimitedSwap" or text == "UnlimitedSwap" or text == "NoSwap":
            return "LimitedSwap" if text == "LimitedSwap" else "NoSwap" if text == "NoSwap" else "UnlimitedSwap"
        if text:
            raise self.error("memorySwap.swapBehavior", f"{shown(text)} is not known", "use LimitedSwap")
        if not self.version.at_least(28):
            return "LimitedSwap" if gate else None
        return "NoSwap" if newer or not gate else "UnlimitedSwap"

    def single_process_oom_kill(self) -> bool | None:
        """singleProcessOOMKill: false makes containers oom groups on v2.

        Since 1.28 they are groups by default, and were always until the field came in 1.32; before, none was one.
        """
        if self.version.at_least(32) and self.fields.get("singleProcessOOMKill") is not None:
            return self.flag("singleProcessOOMKill", False)
        return None if self.version.at_least(28) else True

    def cpu_manager_policy(self) -> CpuManagerPolicy:
        policy = self.text("cpuManagerPolicy", "")
        if policy not in ("", "none", "static"):
            raise self.error("cpuManagerPolicy", f"{shown(policy)} is not known", "use none or static", policy)
        return "static" if policy == "static" else "none"

    def cfs(self) -> CfsQuota:
        """cpuCFSQuota and cpuCFSQuotaPeriod.

        Another period than 100ms needs the gate CustomCPUCFSQuotaPeriod (alpha until 1.35, on in 1.36) and is 1ms to
        1s (1µs to 1s before 1.26), as the kubelet's validation says.
        """
        text = self.text("cpuCFSQuotaPeriod", "100ms")
        period_ns = _duration_ns(text)
        if period_ns is None:
            raise self.error("cpuCFSQuotaPeriod", f"{shown(text)} is not a duration", 'write one such as "100ms"')
        if period_ns == 0:
            period_ns = DEFAULT_PERIOD_US * 1000
        if period_ns != DEFAULT_PERIOD_US * 1000 and not self.version.enabled("CustomCPUCFSQuotaPeriod"):
            raise self.error(
                "cpuCFSQuotaPeriod",
                f"{text} is refused by kubelet {self.version}",
                "set featureGates.CustomCPUCFSQuotaPeriod: true or use 100ms",
                text,
            )
        shortest, least = (10**6, "1ms") if self.version.at_least(26) else (10**3, "1µs")
        if not shortest <= period_ns <= 10**9:
            raise self.error("cpuCFSQuotaPeriod", f"{text} is not within {least} to 1s", "correct it", text)
        return CfsQuota(self.flag("cpuCFSQuota", True), period_ns // 1000)


def _duration_ns(text: str) -> int | None:
    """A Go duration ("1h", "1.5s", "100ms") in ns; None if it is none."""
    if text == "0":
        return 0
    part = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,18})?|\.[0-9]{1,18})(ns|us|µs|μs|ms|s|m|h)")
    total, position = Decimal(0), 0
    while match := part.match(text, position):
        total += Decimal(match[1]) * _DURATION_UNITS_NS[match[2]]
        position = match.end()
    return int(total) if position == len(text) and position > 0 else None


def _float32(number: float) -> float:
    return float(struct.unpack("f", struct.pack("f", number))[0])
