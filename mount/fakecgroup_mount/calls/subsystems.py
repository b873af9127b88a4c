"""What an option of a v1 hierarchy can be called by."""

from __future__ import annotations

from fakecgroup.controllers import CONTROLLERS
from fakecgroup.core.hierarchy import Hierarchy
from fakecgroup.machine.personality import Personality


def known(personality: Personality) -> frozenset[str]:
    """The subsystems that a kernel has for v1."""
    return frozenset(
        controller.legacy_name or controller.name
        for controller in CONTROLLERS
        if controller.legacy and personality.has(controller.config) and personality.has(controller.legacy_config)
    )


def bound(hierarchies: list[Hierarchy]) -> dict[str, Hierarchy]:
    """The v1 hierarchy that each subsystem is bound to."""
    return {
        controller.legacy_name or controller.name: hierarchy
        for hierarchy in hierarchies
        if not hierarchy.dfl
        for controller in hierarchy.controllers.values()
    }
