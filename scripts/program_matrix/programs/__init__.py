"""The cases, by kind of program."""

from __future__ import annotations

from ..program import Program
from . import cgroup_tools, containers, oci_runtimes, readers, services, shell

PROGRAMS: tuple[Program, ...] = (
    *oci_runtimes.PROGRAMS,
    *containers.PROGRAMS,
    *services.PROGRAMS,
    *cgroup_tools.PROGRAMS,
    *readers.PROGRAMS,
    *shell.PROGRAMS,
)
