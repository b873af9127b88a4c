"""How much of a cgroup's memory memory.min and memory.low protect (mm/page_counter.c)."""

from __future__ import annotations


def effective_protection(
    *, usage: int, setting: int, parent_usage: int, parent_effective: int, siblings_protected: int, recursive: bool
) -> int:
    """The effective protection of a cgroup, in the unit of its arguments (effective_protection).

    `setting` is its own, `parent_effective` the parent's effective one. `siblings_protected` is the sum, over the
    parent's children with this one, of the lesser of usage and setting. What the children leave is divided by their
    unprotected usage with `recursive` (the mount option memory_recursiveprot). The children of the cgroup that is
    reclaimed have what they are set to; do not ask for them.
    """
    protected = min(usage, setting)
    if siblings_protected > parent_effective:
        return protected * parent_effective // siblings_protected
    if not recursive or parent_effective <= siblings_protected or parent_usage <= siblings_protected:
        return protected
    unclaimed = (parent_effective - siblings_protected) * max(0, usage - protected)
    return protected + unclaimed // (parent_usage - siblings_protected)
