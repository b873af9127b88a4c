"""The scheduler's domains, and which of them know of the bandwidth that is reserved on their CPUs.

A cpuset cannot be emptied while the domain of its first CPU has bandwidth to give
(dl_cpuset_cpumask_can_shrink). That of the CPUs' own deadline servers is added up when a domain is made. One that stays
as it is when the domains are drawn anew is set to 0, and 6.12 does not add the servers again (dl_clear_root_domain).
"""

from __future__ import annotations

from .state import ROOT, CpusetState


class SchedulerDomains:
    """6.12's, of the CPUs that partitions leave to the root and of each partition whose load is balanced."""

    def __init__(self, cpus: int) -> None:
        self._counts = {cpus: True}  # by the CPUs of a domain, whether it counts their servers

    def reserved(self, cpus: int) -> bool:
        """Is bandwidth reserved in the domain of the first of these CPUs? CPUs in no domain have none."""
        first = cpus & -cpus
        return any(counts for domain, counts in self._counts.items() if domain & first)

    def redraw(self, top: CpusetState) -> None:
        """The domains are those of the partitions now (rebuild_sched_domains_locked, generate_sched_domains)."""
        domains = [top.effective_cpus]
        below = list(top.children())
        while below:
            css = below.pop()
            if css.partition == ROOT and css.effective_cpus:
                domains.append(css.effective_cpus)
            if css.partition.valid or css.exclusive:
                below.extend(css.children())
        self._counts = {domain: domain not in self._counts for domain in domains}
