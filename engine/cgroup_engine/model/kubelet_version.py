"""Which kubelet's rules are used, and which feature gates are on in it.

The range is 1.24 to 1.37. Compiled kubelets of 1.32.10 and 1.36.2 were asked for their answers. The releases up to 1.36
come from the sources and the change logs: each rule names the release in which it changed. The rules of 1.37 come from
the pull requests, the release's list of feature gates and parts of its tests; no kubelet 1.37 was asked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from cgroup_engine.errors import ConfigError, quoted

OLDEST = 24
NEWEST = 37
ASSUMED = 36  # the newest release of which a compiled kubelet was asked

Stage = Literal["alpha", "beta", "ga", "deprecated", "removed"]


@dataclass(frozen=True)
class Gate:
    """A feature gate from a release on: its stage, whether it is on by default, whether it is locked."""

    stage: Stage
    on: bool
    locked: bool = False


_ALPHA = Gate("alpha", on=False)
_BETA = Gate("beta", on=True)
_GA = Gate("ga", on=True, locked=True)
_REMOVED = Gate("removed", on=True)  # a kubelet refuses its name; the feature is on

# The gates that cgroups depend on: gate -> release 1.N -> its state from there on. Before the first it is unknown.
# Source: pkg/features/kube_features.go of each release; for 1.37 the list of feature gates in its documentation.
GATES: dict[str, dict[int, Gate]] = {
    "CPUManager": {24: _BETA, 26: _GA, 33: _REMOVED},
    "CPUManagerPolicyAlphaOptions": {24: _ALPHA},
    "CPUManagerPolicyBetaOptions": {24: _BETA},
    "CPUManagerPolicyOptions": {24: _BETA, 33: _GA},
    "CustomCPUCFSQuotaPeriod": {24: _ALPHA, 36: Gate("ga", on=True)},
    "DisableCPUQuotaWithExclusiveCPUs": {33: _BETA, 36: Gate("deprecated", on=True)},
    "InPlacePodLevelResourcesVerticalScaling": {35: _ALPHA, 36: _BETA},
    "InPlacePodVerticalScaling": {27: _ALPHA, 33: _BETA, 35: _GA},
    "InPlacePodVerticalScalingExclusiveCPUs": {32: _ALPHA},
    "InPlacePodVerticalScalingExclusiveMemory": {34: _ALPHA},
    "InPlacePodVerticalScalingInitContainers": {36: _BETA, 37: _GA},
    "KubeletCgroupDriverFromCRI": {28: _ALPHA, 31: _BETA, 34: _GA},
    "KubeletInUserNamespace": {24: _ALPHA, 37: _BETA},
    "LocalStorageCapacityIsolation": {24: _BETA, 25: _GA, 27: _REMOVED},
    "MemoryManager": {24: _BETA, 32: _GA, 36: _REMOVED},
    "MemoryQoS": {24: _ALPHA, 37: _BETA},
    "NodeSwap": {24: _ALPHA, 28: Gate("beta", on=False), 30: _BETA, 34: _GA},
    "PodLevelResourceManagers": {36: _ALPHA, 37: Gate("beta", on=False)},
    "PodLevelResources": {32: _ALPHA, 34: _BETA},
    "PodLevelResourcesFixKubeletQOSClass": {37: _BETA},
    "PodOverhead": {24: _GA, 26: _REMOVED},
    "QOSReserved": {24: _ALPHA},
    "SidecarContainers": {28: _ALPHA, 29: _BETA, 33: _GA},
    "TopologyManager": {24: _BETA, 27: _GA, 29: _REMOVED},
}
ALL_OF_A_STAGE: dict[str, Stage] = {"AllAlpha": "alpha", "AllBeta": "beta"}


@dataclass(frozen=True)
class KubeletVersion:
    """A kubelet release 1.``minor`` and the feature gates set in its configuration."""

    minor: int = ASSUMED
    gates: Mapping[str, bool] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"1.{self.minor}"

    def at_least(self, minor: int) -> bool:
        return self.minor >= minor

    def gate(self, name: str) -> Gate | None:
        """The state of a gate of ``GATES`` in this release; None if the release does not know it."""
        known = [gate for since, gate in GATES[name].items() if self.minor >= since]
        return known[-1] if known else None

    def enabled(self, name: str) -> bool:
        """Is a gate of ``GATES`` on? Its own setting decides, else AllAlpha or AllBeta, else the release's default.

        A gate that the release does not know is off. A locked or removed gate is on, whatever the configuration says.
        Source: ``k8s.io/component-base/featuregate``.
        """
        return name in self._enabled

    @cached_property
    def _enabled(self) -> frozenset[str]:
        return frozenset(name for name in GATES if self._is_enabled(name))

    def _is_enabled(self, name: str) -> bool:
        gate = self.gate(name)
        if gate is None or gate.locked or gate.stage == "removed":
            return gate is not None
        if name in self.gates:
            return self.gates[name]
        for every, stage in ALL_OF_A_STAGE.items():
            if gate.stage == stage and every in self.gates:
                return self.gates[every]
        return gate.on


def parse(text: str, gates: Mapping[str, bool] | None = None) -> KubeletVersion:
    """``1.28``, ``v1.28`` or ``1.28.3`` as a version.

    :raises ConfigError: not a version, or outside 1.24 to 1.37.
    """
    match = re.fullmatch(r"v?1\.([0-9]{1,3})(?:\.[0-9]{1,3})?(?:[-+][0-9A-Za-z.+-]{1,64})?", text, re.ASCII)
    if match is None or not OLDEST <= int(match[1]) <= NEWEST:
        raise ConfigError(
            f"kubelet version {quoted(text)} is not known",
            value=text,
            todo=f"give one from 1.{OLDEST} to 1.{NEWEST}",
        )
    return KubeletVersion(int(match[1]), dict(gates or {}))
