"""Which kubelet's rules are used, and which feature gates are on in it.

The range is 1.24 to 1.36. Rules read from compiled kubelets are those of 1.32.10 and 1.36.2; for the versions between
and below, the release in which a rule changed comes from the change logs and is said where the rule is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from engine.errors import ConfigError, shown

OLDEST = 24
NEWEST = 36

Stage = Literal["alpha", "beta", "ga"]

# gate -> (release 1.N, stage from then on); a gate that is missing from a release is off there.
GATES: dict[str, tuple[tuple[int, Stage], ...]] = {
    "QOSReserved": ((11, "alpha"),),
    "CustomCPUCFSQuotaPeriod": ((12, "alpha"), (36, "ga")),
    "SidecarContainers": ((28, "alpha"), (29, "beta"), (33, "ga")),
    "PodLevelResources": ((32, "alpha"), (34, "beta")),
}


@dataclass(frozen=True)
class KubeletVersion:
    """A kubelet release 1.``minor`` and the feature gates set in its configuration."""

    minor: int = NEWEST
    gates: Mapping[str, bool] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"1.{self.minor}"

    def at_least(self, minor: int) -> bool:
        return self.minor >= minor

    def enabled(self, gate: str) -> bool:
        """Is a gate of ``GATES`` on? Explicit setting, else AllAlpha/AllBeta, else the default of its stage.

        Source: ``k8s.io/component-base/featuregate``: alpha is off and beta is on by default, GA gates stay on.
        """
        stage: Stage | None = None
        for since, name in GATES[gate]:
            if self.minor >= since:
                stage = name
        if stage is None:
            return False
        if stage == "ga":
            return True
        if gate in self.gates:
            return self.gates[gate]
        every = self.gates.get("AllAlpha" if stage == "alpha" else "AllBeta")
        return every if every is not None else stage == "beta"


def parse(text: str, gates: Mapping[str, bool] | None = None) -> KubeletVersion:
    """``1.28``, ``v1.28`` or ``1.28.3`` as a version.

    :raises ConfigError: not a version, or outside 1.24 to 1.36.
    """
    match = re.fullmatch(r"v?1\.([0-9]{1,3})(?:\.[0-9]{1,3})?(?:[-+][0-9A-Za-z.+-]{1,64})?", text, re.ASCII)
    if match is None or not OLDEST <= int(match[1]) <= NEWEST:
        raise ConfigError(
            f"kubelet version {shown(text)} is not known",
            value=text,
            todo=f"give one from 1.{OLDEST} to 1.{NEWEST}",
        )
    return KubeletVersion(int(match[1]), dict(gates or {}))
