"""The OCI runtime, runc or crun. It makes the containers' cgroups, and turns their CPU shares into cpu.weight.

Sources: the change logs of runc (1.3.2, change 4897; 1.4.0-rc.1, issue 4896) and crun (1.23, change 1767), and those
of containerd, whose release archives bring a runc (changes 12478 to 12480 brought runc 1.3.3).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.names import Runtime

Name = Literal["runc", "crun"]
Version = tuple[int, int, int]

_QUADRATIC_SINCE: dict[Name, Version] = {"runc": (1, 3, 2), "crun": (1, 23, 0)}
# release line of containerd -> its first release that brings runc 1.3.3 (those before it bring 1.3.0 or older)
_BRINGS_NEW_RUNC: dict[tuple[int, int], int] = {(1, 7): 29, (2, 0): 7, (2, 1): 5}
_OLD_RUNC, _NEW_RUNC = (1, 3, 0), (1, 3, 3)


@dataclass(frozen=True)
class OciRuntime:
    """runc or crun of a version. ``containerd``: the containerd that brought it, "" if it was named itself."""

    name: Name
    version: Version
    containerd: str = ""

    def __str__(self) -> str:
        text = f"{self.name} {'.'.join(map(str, self.version))}"
        return f"{text} of containerd {self.containerd}" if self.containerd else text

    @property
    def quadratic(self) -> bool:
        """Does it write cpu.weight by the newer, quadratic formula?"""
        return self.version >= _QUADRATIC_SINCE[self.name]


def parse_oci_runtime(text: str, runtime: Runtime) -> OciRuntime:
    """``1.3.3``, ``runc-1.3.3``, ``crun-1.23`` or ``containerd-2.1.5``, which stands for the runc that it brings.

    A bare number is that of crun for CRI-O, else that of runc.

    :raises ValueError: the text has none of these forms.
    """
    pattern = r"(?:(runc|crun|containerd)[-= ])?v?([0-9]{1,4})\.([0-9]{1,4})(?:\.([0-9]{1,4}))?(?:[-+~][\w.+-]{1,64})?"
    match = re.fullmatch(pattern, text.strip(), re.ASCII)
    if match is None:
        raise ValueError(f"{text!r} is no runtime version: write 1.3.3, runc-1.3.3, crun-1.23 or containerd-2.1.5")
    version = (int(match[2]), int(match[3]), int(match[4] or 0))
    if match[1] == "containerd":
        return OciRuntime("runc", _runc_of_containerd(version), ".".join(map(str, version)))
    if match[1] is None:
        return OciRuntime("crun" if runtime == "crio" else "runc", version)
    return OciRuntime("crun" if match[1] == "crun" else "runc", version)


def assumed(version: KubeletVersion, runtime: Runtime) -> OciRuntime:
    """The runtime of the kubelet's release date, for a node whose runtime is not known.

    CRI-O runs crun, which changed its formula before kubelet 1.34 (August 2025). containerd and docker run runc, which
    changed it before kubelet 1.35 (December 2025).
    """
    if runtime == "crio":
        return OciRuntime("crun", (1, 23, 0) if version.at_least(34) else (1, 22, 0))
    return OciRuntime("runc", _NEW_RUNC if version.at_least(35) else _OLD_RUNC)


def _runc_of_containerd(version: Version) -> Version:
    line, patch = version[:2], version[2]
    if line >= (2, 2) or patch >= _BRINGS_NEW_RUNC.get(line, 1 << 16):
        return _NEW_RUNC
    return _OLD_RUNC
