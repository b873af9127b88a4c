"""The scheduler's domains, and which of them count the bandwidth that is reserved on their CPUs.

A cpuset cannot be emptied while the domain of its first CPU has reserved bandwidth (dl_cpuset_cpumask_can_shrink).
A new domain counts the reservation of its CPUs' own deadline servers. A rebuild clears the count of each domain that
stays the same, and 6.12 does not add the servers again (dl_clear_root_domain).
"""

from __future__ import annotations

from collections.abc import Iterable


class SchedulerDomains:
    """The domains of 6.12: one of the CPUs that partitions leave to the root, one per balanced partition."""

    _counts: dict[int, bool]  # CPUs of a domain -> whether it counts their servers

    def __init__(self, cpus: int) -> None:
        self._counts = {cpus: True}

    def reserved(self, cpus: int) -> bool:
        """True if the domain of the first of these CPUs has reserved bandwidth. CPUs in no domain have none."""
        first = cpus & -cpus
        return any(counts for domain, counts in self._counts.items() if domain & first)

    def needs(self, cpu: int, online: int) -> bool:
        """True if a CPU is the last one online in a domain that has reserved bandwidth."""
        last = 1 << cpu
        return any(counts and domain & online == last for domain, counts in self._counts.items())

    def rebuild(self, domains: Iterable[int]) -> None:
        """Replace the domains, each given by its CPUs (rebuild_sched_domains_locked)."""
        self._counts = {domain: domain not in self._counts for domain in domains}
