"""What `up` was asked for."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

KUBELET_CONFIG = "kubelet.yaml"
"""In the directory of the cluster: what all kubelets are given, as a root of another release has no other files."""


@dataclass(frozen=True)
class Settings:
    """`cpus`, `memory` and `enforce` are each node's, as `fakecgroup run` takes them. `kubelet_config`: a file, or ""
    for ours.
    """

    nodes: int
    layout: str
    cpus: str
    memory: str
    enforce: str
    release: str
    kubelet_config: str
    prometheus: bool

    def write(self, directory: Path) -> None:
        (directory / "settings.json").write_text(json.dumps(asdict(self)))

    @classmethod
    def read(cls, directory: Path) -> Settings:
        return cls(**json.loads((directory / "settings.json").read_text()))
