"""Thread mode: which cgroups of the unified hierarchy may have processes, threads and controllers.

The functions have the names of the kernel's (kernel/cgroup/cgroup.c).
"""

from __future__ import annotations

from errno import EBUSY, EOPNOTSUPP
from typing import TYPE_CHECKING

from ..refuse import refuse

if TYPE_CHECKING:
    from ..core.cgroup import Cgroup


def domain_of(cgroup: Cgroup) -> Cgroup:
    """The domain of a threaded cgroup; any other cgroup is its own (dom_cgrp)."""
    return cgroup.domain or cgroup


def domain_controllers(cgroup: Cgroup) -> bool:
    """True if subtree_control has a controller that is not threaded."""
    controllers = cgroup.hierarchy.controllers
    return any(not controllers[name].threaded for name in cgroup.subtree_control)


def is_mixable(cgroup: Cgroup) -> bool:
    """True for the root, which may have processes and controllers at once."""
    return cgroup.parent is None


def is_thread_root(cgroup: Cgroup) -> bool:
    """True for a domain with threaded children, or with tasks beside threaded controllers."""
    if cgroup.threaded:
        return False
    if cgroup.nr_threaded_children:
        return True
    controllers = cgroup.hierarchy.controllers
    return bool(cgroup.tasks) and any(controllers[name].threaded for name in cgroup.subtree_control)


def can_be_thread_root(cgroup: Cgroup) -> bool:
    if is_mixable(cgroup):
        return True
    if cgroup.threaded or domain_controllers(cgroup):
        return False
    return not any(child.populated and not child.threaded for child in cgroup.children.values())


def is_valid_domain(cgroup: Cgroup) -> bool:
    """False in a threaded cgroup and below a thread root that is not the root."""
    if cgroup.threaded:
        return False
    for ancestor in cgroup.lineage():
        if ancestor is cgroup:
            continue
        if ancestor.threaded or (not is_mixable(ancestor) and is_thread_root(ancestor)):
            return False
    return True


def kind(cgroup: Cgroup) -> str:
    """The text of cgroup.type."""
    if cgroup.threaded:
        return "threaded"
    if not is_valid_domain(cgroup):
        return "domain invalid"
    if is_thread_root(cgroup):
        return "domain threaded"
    return "domain"


def vet_enable(cgroup: Cgroup, domain: bool) -> None:
    """Check that controllers may be enabled; `domain`: not all are threaded (cgroup_vet_subtree_control_enable).

    Raises EOPNOTSUPP in a thread subtree, EBUSY if processes would compete with child cgroups.
    """
    if not is_valid_domain(domain_of(cgroup)):
        raise refuse(EOPNOTSUPP)
    if is_mixable(cgroup):
        return
    if domain:
        if is_thread_root(cgroup) or cgroup.threaded:
            raise refuse(EOPNOTSUPP)
    elif can_be_thread_root(cgroup) or cgroup.threaded:
        return
    if cgroup.tasks:
        raise refuse(EBUSY)


def vet_migration(cgroup: Cgroup) -> None:
    """Check that tasks may move in (cgroup_migrate_vet_dst). Raises EOPNOTSUPP, EBUSY."""
    if not is_valid_domain(domain_of(cgroup)):
        raise refuse(EOPNOTSUPP)
    if can_be_thread_root(cgroup) or cgroup.threaded:
        return
    if cgroup.subtree_control:
        raise refuse(EBUSY)


def vet_threaded(cgroup: Cgroup) -> None:
    """Check that a cgroup may become threaded (cgroup_enable_threaded). Raises EOPNOTSUPP."""
    assert cgroup.parent is not None
    domain = domain_of(cgroup.parent)
    if cgroup.populated or domain_controllers(cgroup) or not is_valid_domain(domain) or not can_be_thread_root(domain):
        raise refuse(EOPNOTSUPP)
