"""When a group of real processes with a CPU quota is stopped, and when it goes on: the state of its bandwidth by looks.

Between two looks processes may use more than is left. What they have used too much is taken from the next periods, so
that it evens out. Times are ns.
"""

from __future__ import annotations

from fakecgroup.effects.bandwidth import Group

SHORTEST = 2_000_000
"""ns between two looks near the end of the runtime: a running process's clock is a tick late."""
_LEAST = 0.01  # CPUs
_FORGET = 0.7  # of the rate, at each look
_MOST_DEBT = 100  # periods


class Quota:
    """The bandwidth `group` of processes that are looked at. `cpus` is how many they can run on."""

    def __init__(self, group: Group, cpus: int) -> None:
        self.group = group
        self._cpus = cpus
        self._since = 0  # of the last look
        self._rate = 1.0  # CPUs that were used at the same time lately

    def limit(self, quota: int, period: int, burst: int) -> bool:
        """Takes a limit. A new one gives a quota at once, and lets everybody go on (tg_set_cfs_bandwidth).

        Returns whether it is new.
        """
        group = self.group
        if (group.quota, group.period, group.burst) == (quota, period, burst):
            return False
        group.runtime = group.snapshot = float(quota + burst)
        group.quota, group.period, group.burst = quota, period, burst
        group.throttled = False
        return True

    def correct(self, used: int) -> None:
        """Takes ns that looks have missed; negative if they counted too much."""
        self._spend(used)

    def use(self, now: int, used: int) -> int:
        """Takes the ns that the processes have used since the last look. Returns how many of these it was throttled."""
        group, passed = self.group, max(1, now - self._since)
        halted = passed if group.throttled else 0
        group.throttled_time += group.queues * halted
        if used and not halted:
            self._rate = min(max(used / max(passed, SHORTEST), _FORGET * self._rate), float(self._cpus))
        self._since = now
        if used:
            group.idle = False
            if not group.active:
                group.active = True
                group.boundary = now - min(passed, used) + group.period
            self._spend(used)
        while group.active and group.boundary <= now:
            group.snapshot += min(0.0, group.runtime)  # what was used too much is no burst
            group.expire()
        if group.active and not group.throttled and group.runtime <= 0:
            group.throttled = True
            group.queues = 0
        return halted

    def _spend(self, used: int) -> None:
        self.group.runtime = max(self.group.runtime - used, -_MOST_DEBT * float(self.group.quota))

    def hold(self, threads: int) -> None:
        """Takes how many threads wait for the next period."""
        self.group.queues = min(self._cpus, threads)

    def next_look(self, now: int) -> int | None:
        """ns until the next look at the latest; None if nobody runs."""
        group = self.group
        if not group.active:
            return None
        left = max(0, group.boundary - now)
        if group.throttled:
            return left
        return max(min(left, int(group.runtime / max(self._rate, _LEAST))), SHORTEST if group.runtime > 0 else 0)
