"""The plan for a node's cgroup driver: writes to files, or calls to systemd if it manages the tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cgroup_engine.model.names import Driver
from cgroup_engine.model.wanted_cgroup import WantedCgroup
from cgroup_engine.plan.step import Plan
from cgroup_engine.plan.steps import make_plan
from cgroup_engine.tree.found import FoundTree

if TYPE_CHECKING:  # most roots have no systemd
    from cgroup_engine.plan.systemd.unit import ActiveUnits


def plan_for_driver(
    wanted: Sequence[WantedCgroup], found: FoundTree, driver: Driver, systemd: ActiveUnits | None
) -> Plan:
    """The steps from the found tree to the wanted one. Changes nothing.

    ``systemd``: the one that manages the tree. With None the engine makes the directories itself, with either driver.

    :raises EngineError: as ``make_plan`` and ``over_dbus``.
    """
    plan = make_plan(wanted, found, driver)
    if systemd is None:
        return plan
    from cgroup_engine.plan.systemd.translation import over_dbus

    return over_dbus(plan, wanted, found, systemd)


def down_plan_for_driver(
    wanted: Sequence[WantedCgroup],
    found: FoundTree,
    driver: Driver,
    systemd: ActiveUnits | None,
    *,
    recorded: bool = False,
) -> Plan:
    """The steps that remove the hierarchy; see ``down_plan``. Changes nothing.

    :raises EngineError: as ``down_plan`` and ``down_over_dbus``.
    """
    from cgroup_engine.plan.down import down_plan

    plan = down_plan(wanted, found, driver, recorded=recorded)
    if systemd is None:
        return plan
    from cgroup_engine.plan.systemd.translation import down_over_dbus

    return down_over_dbus(plan, found, systemd)
