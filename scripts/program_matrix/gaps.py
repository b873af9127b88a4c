"""Steps that are known to fail, and why.

A listed step that works is reported, like an unlisted step that fails.
"""

from __future__ import annotations

from .program import LAYOUTS

ALL = ""
"""Stands for all commands: the program is not run there."""

GAPS: dict[tuple[str, str, str, str], str] = {
    ("Debian 12", "stress-ng", "v2", ALL): "stress-ng 0.15 has no --cgroup",
    ("Debian 12", "stress-ng", "hybrid", ALL): "stress-ng 0.15 has no --cgroup",
    ("Debian 12", "ninja", "v2", "ninja --help"): "ninja reads nothing of v2 before 1.13",
    ("Debian 13", "ninja", "v2", "ninja --help"): "ninja reads nothing of v2 before 1.13",
    ("Debian sid", "LXC", "v1", ALL): "LXC has no cgroup v1 since 7.0",
    ("Debian sid", "lxcfs", "v1", ALL): "lxcfs has no cgroup v1 since 7.0",
    ("Debian sid", "systemd", "v1", ALL): "systemd has no cgroup v1 since 258",
    ("Debian sid", "systemd-nspawn", "v1", ALL): "systemd has no cgroup v1 since 258",
    **{
        (release, "cgroup-tools", layout, "cgclear -l FILE"): "the package has no cgclear since 3.1"
        for release in ("Debian 13", "Debian sid")
        for layout in LAYOUTS
    },
}
"""The reason, by release, program, layout and command."""


def gap(release: str, program: str, layout: str, command: str) -> str:
    """Why a step is known to fail, or ""."""
    return GAPS.get((release, program, layout, ALL)) or GAPS.get((release, program, layout, command), "")
