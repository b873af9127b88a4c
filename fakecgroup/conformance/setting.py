"""Where and as whom cases are done that are not done in a machine's roots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Setting:
    """The machine that a target has, and the cgroups in place of the roots.

    ``machine``: as `recording.description` has it, with ``hugepages`` (sizes in bytes) and ``mount_options``.
    ``controllers``: those of the unified hierarchy that the cgroup in place of its root has.
    ``files``: values of that cgroup's parent, such as cpuset.cpus, that are not the kernel's defaults.
    ``uid``, ``gid``: the user whom these cgroups belong to and who asks.
    """

    machine: Mapping[str, Any]
    controllers: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    uid: int = 0
    gid: int = 0
