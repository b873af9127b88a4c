"""Do the enforced reserved cgroups exist, as a kubelet demands it?

Source: Validate of ``pkg/kubelet/cm/cgroup_v1_manager_linux.go`` and ``cgroup_v2_manager_linux.go``
(``cgroup_manager_linux.go`` before 1.31), the same from 1.24 to 1.36.
"""

from __future__ import annotations

from collections.abc import Collection

from cgroup_engine.errors import ReservedCgroupMissingError
from cgroup_engine.model.wanted_cgroup import WantedCgroup
from cgroup_engine.tree.found import FoundTree
from cgroup_engine.tree.layout import V2_CONTROLLERS


def check_reserved_cgroup(cgroup: WantedCgroup, found: FoundTree, enabled_by_us: Collection[str]) -> None:
    """Checks one; ``enabled_by_us``: the cgroups in which this plan enables every controller for children (v2).

    :raises ReservedCgroupMissingError: it is missing, or it is not in a hierarchy (v1), or lacks a controller (v2).
    :raises RootError: something there cannot be read.
    """
    there = found.get(cgroup.path)
    if found.layout.version == 1:
        missing = [
            hierarchy for hierarchy in found.layout.demanded if there is None or hierarchy not in there.hierarchies
        ]
        where, todo = f" in {', '.join(missing)}", "make the cgroup there, as a kubelet wants it"
    else:
        missing = [] if there is not None else [""]
        where, todo = "", "make the cgroup, as a kubelet wants it"
    if missing:
        raise ReservedCgroupMissingError(
            f"/{cgroup.path}: does not exist{where} and {cgroup.owner} is to be enforced there",
            path=cgroup.path,
            todo=f"{todo}, or take it out of enforceNodeAllocatable",
        )
    if found.layout.version == 2 and cgroup.parent not in enabled_by_us:
        parent = found.get(cgroup.parent)
        enabled = parent.enabled if parent is not None else frozenset()
        lacking = [name for name in V2_CONTROLLERS if name in found.layout.available and name not in enabled]
        if lacking:
            raise ReservedCgroupMissingError(
                f"/{cgroup.path}: lacks {' '.join(lacking)}, which a kubelet wants where it enforces {cgroup.owner}",
                path=cgroup.path,
                todo=f"enable them in /{cgroup.parent}/cgroup.subtree_control",
            )
