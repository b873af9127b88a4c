"""The cases, by kind of program."""

from __future__ import annotations

from ..program import Program
from . import cgroup_tools, containers, kubelet, oci_runtimes, pressure_agents, readers, services, shell

PROGRAMS: tuple[Program, ...] = (
    *oci_runtimes.PROGRAMS,
    *containers.PROGRAMS,
    *kubelet.PROGRAMS,
    *services.PROGRAMS,
    *pressure_agents.PROGRAMS,
    *cgroup_tools.PROGRAMS,
    *readers.PROGRAMS,
    *shell.PROGRAMS,
)
