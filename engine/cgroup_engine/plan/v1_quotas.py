"""v1: the order in which CPU quotas change.

The kernel compares quota/period. A cgroup may not have more than its nearest ancestor with a quota, nor less than a
descendant with a quota, after each write (tg_cfs_schedulable_down).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from cgroup_engine.plan.transition import Transition
from cgroup_engine.plan.write import PassWrites, Write, same_setting
from cgroup_engine.tree.knobs import V1_QUOTA, Setting


class V1Quotas:
    """The writes of each cgroup's quota and period, by pass; ask for children before their parents."""

    def __init__(self, transition: Transition) -> None:
        self._transition = transition
        self._lowered: dict[str, Setting] = {}

    def writes(self, path: str, old: Setting, new: Setting) -> PassWrites:
        """The writes from one setting to the other.

        If a cgroup gains or loses its quota while its limiting ancestor changes, give it that ancestor's quota
        meanwhile. Without a quota it would follow the ancestor. With its own it would exceed the ancestor, or keep it
        from shrinking.
        """
        parent, size = path.rpartition("/")[0], V1_QUOTA.size(new)
        above_before, limiting_before = self._above(parent, self._found)
        above_after, limiting_after = self._above(parent, self._final)
        before, after = min(V1_QUOTA.size(old), above_before), min(size, above_after)
        obstacle = self._obstacle_above(path, size)
        begins, ends = math.isinf(V1_QUOTA.size(old)), math.isinf(size)
        between = old
        if not ends and (after < before or (begins and after == before)):
            between, obstacle = new, obstacle or self._obstacle_below(path, size)
        elif ends and after < before:
            between = self._final(limiting_after) if before < above_before else new
            obstacle = obstacle or self._obstacle_below(path, after)
        elif begins and not ends and after < above_after:
            between = self._found(limiting_before)
        self._lowered[path] = old if obstacle else between  # with an obstacle the kernel refuses the write
        return PassWrites(
            lower=self._path(path, old, between, above_before, obstacle),
            make=self._path(path, between, new, above_after, obstacle),
        )

    def _path(self, path: str, old: Setting, new: Setting, above: float, obstacle: str) -> list[Write]:
        if same_setting(V1_QUOTA, old, new):
            return []
        low, high = sorted((V1_QUOTA.size(old), V1_QUOTA.size(new)))
        both = old[1] != new[1] and old[0] != new[0]
        state, writes = dict(zip(V1_QUOTA.files, old, strict=True)), []
        for file, text in V1_QUOTA.writes(old, new, self._below(path) if both else math.inf, above):
            state[file] = text
            size = V1_QUOTA.size(tuple(state.values()))
            need = "" if low <= min(size, max(above, high)) <= high else "a moment: quota and period are two files"
            writes.append(Write(V1_QUOTA, file, text, need, obstacle))
        return writes

    def _found(self, path: str) -> Setting:
        return self._transition.found_setting(path, V1_QUOTA)

    def _final(self, path: str) -> Setting:
        return self._transition.final_setting(path, V1_QUOTA)

    def _above(self, path: str, setting: Callable[[str], Setting]) -> tuple[float, str]:
        """The size of the nearest quota from here up, and the path of its cgroup."""
        while path:
            size = V1_QUOTA.size(setting(path))
            if not math.isinf(size):
                return size, path
            path = path.rpartition("/")[0]
        return math.inf, ""

    def _below(self, path: str) -> float:
        """The greatest size below a cgroup after the pass ``lower``."""
        greatest = 0.0
        for child in self._transition.children(path):
            size = V1_QUOTA.size(self._lowered.get(child) or self._found(child))
            greatest = max(greatest, self._below(child) if math.isinf(size) else size)
        return greatest

    def _obstacle_above(self, path: str, size: float) -> str:
        above, whose = self._above(path.rpartition("/")[0], self._final)
        if size <= above or math.isinf(size) or self._transition.wanted_setting(whose, V1_QUOTA) is not None:
            return ""
        return _quota_obstacle(whose, self._final(whose), "less than is wanted below it", "raise")

    def _obstacle_below(self, path: str, size: float) -> str:
        for child in self._transition.children(path):
            have = V1_QUOTA.size(self._final(child))
            if math.isinf(have) or self._transition.wanted_setting(child, V1_QUOTA) is not None:
                if math.isinf(have) and (obstacle := self._obstacle_below(child, size)):
                    return obstacle
            elif have > size:
                return _quota_obstacle(child, self._final(child), "more than is wanted above it", "lower")
        return ""


def _quota_obstacle(path: str, setting: Setting, what: str, verb: str) -> str:
    quota, period = setting
    return f"{verb} cpu.cfs_quota_us of /{path}, not managed by this engine: {quota} of {period} µs are {what}"
