"""The items of memory.stat and memory.numa_stat in the order of each kernel (mm/memcontrol.c, memory_stats and
memcg_vm_event_stat).

Kernels differ most often in added items and in their order.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from ...machine.personality import Personality, Version
from ...tasks.usage import Faults, MemoryUse

_STAT: dict[Version, list[str]] = {
    (5, 10): """
        anon file kernel_stack percpu sock shmem file_mapped file_dirty file_writeback anon_thp inactive_anon
        active_anon inactive_file active_file unevictable slab_reclaimable slab_unreclaimable slab
        workingset_refault_anon workingset_refault_file workingset_activate_anon workingset_activate_file
        workingset_restore_anon workingset_restore_file workingset_nodereclaim pgfault pgmajfault pgrefill pgscan
        pgsteal pgactivate pgdeactivate pglazyfree pglazyfreed thp_fault_alloc thp_collapse_alloc
    """.split(),
    (6, 1): """
        anon file kernel kernel_stack pagetables sec_pagetables percpu sock vmalloc shmem zswap zswapped file_mapped
        file_dirty file_writeback swapcached anon_thp file_thp shmem_thp inactive_anon active_anon inactive_file
        active_file unevictable slab_reclaimable slab_unreclaimable slab workingset_refault_anon workingset_refault_file
        workingset_activate_anon workingset_activate_file workingset_restore_anon workingset_restore_file
        workingset_nodereclaim pgscan pgsteal pgscan_kswapd pgscan_direct pgsteal_kswapd pgsteal_direct pgfault
        pgmajfault pgrefill pgactivate pgdeactivate pglazyfree pglazyfreed zswpin zswpout thp_fault_alloc
        thp_collapse_alloc
    """.split(),
    (6, 12): """
        anon file kernel kernel_stack pagetables sec_pagetables percpu sock vmalloc shmem zswap zswapped file_mapped
        file_dirty file_writeback swapcached anon_thp file_thp shmem_thp inactive_anon active_anon inactive_file
        active_file unevictable slab_reclaimable slab_unreclaimable slab workingset_refault_anon workingset_refault_file
        workingset_activate_anon workingset_activate_file workingset_restore_anon workingset_restore_file
        workingset_nodereclaim pgdemote_kswapd pgdemote_direct pgdemote_khugepaged pgpromote_success pgscan pgsteal
        pgscan_kswapd pgscan_direct pgscan_khugepaged pgsteal_kswapd pgsteal_direct pgsteal_khugepaged pgfault
        pgmajfault pgrefill pgactivate pgdeactivate pglazyfree pglazyfreed swpin_zero swpout_zero zswpin zswpout zswpwb
        thp_fault_alloc thp_collapse_alloc thp_swpout thp_swpout_fallback numa_pages_migrated numa_pte_updates
        numa_hint_faults
    """.split(),
    (6, 16): """
        anon file kernel kernel_stack pagetables sec_pagetables percpu sock vmalloc shmem zswap zswapped file_mapped
        file_dirty file_writeback swapcached anon_thp file_thp shmem_thp inactive_anon active_anon inactive_file
        active_file unevictable slab_reclaimable slab_unreclaimable slab workingset_refault_anon workingset_refault_file
        workingset_activate_anon workingset_activate_file workingset_restore_anon workingset_restore_file
        workingset_nodereclaim pgdemote_kswapd pgdemote_direct pgdemote_khugepaged pgdemote_proactive pgpromote_success
        pgscan pgsteal pswpin pswpout pgscan_kswapd pgscan_direct pgscan_khugepaged pgscan_proactive pgsteal_kswapd
        pgsteal_direct pgsteal_khugepaged pgsteal_proactive pgfault pgmajfault pgrefill pgactivate pgdeactivate
        pglazyfree pglazyfreed swpin_zero swpout_zero zswpin zswpout zswpwb thp_fault_alloc thp_collapse_alloc
        thp_swpout thp_swpout_fallback numa_pages_migrated numa_pte_updates numa_hint_faults
    """.split(),
    (7, 2): """
        anon file kernel kernel_stack pagetables sec_pagetables percpu sock vmalloc shmem zswap zswapped
        zswap_incomp file_mapped file_dirty file_writeback swapcached anon_thp file_thp shmem_thp inactive_anon
        active_anon inactive_file active_file unevictable slab_reclaimable slab_unreclaimable slab
        workingset_refault_anon workingset_refault_file workingset_activate_anon workingset_activate_file
        workingset_restore_anon workingset_restore_file workingset_nodereclaim pgdemote_kswapd pgdemote_direct
        pgdemote_khugepaged pgdemote_proactive pgsteal_kswapd pgsteal_direct pgsteal_khugepaged pgsteal_proactive
        pgscan_kswapd pgscan_direct pgscan_khugepaged pgscan_proactive pgrefill pgpromote_success pgscan pgsteal
        pswpin pswpout pgfault pgmajfault pgactivate pgdeactivate pglazyfree pglazyfreed swpin_zero swpout_zero
        zswpin zswpout zswpwb thp_fault_alloc thp_collapse_alloc thp_swpout thp_swpout_fallback numa_pages_migrated
        numa_pte_updates numa_hint_faults
    """.split(),
}

#: Items that take the option ZSWAP.
_ZSWAP = frozenset("zswap zswapped zswap_incomp zswpin zswpout zswpwb".split())

_NUMA_STAT: dict[Version, list[str]] = {
    (5, 10): """
        anon file kernel_stack shmem file_mapped file_dirty file_writeback anon_thp inactive_anon active_anon
        inactive_file active_file unevictable slab_reclaimable slab_unreclaimable workingset_refault_anon
        workingset_refault_file workingset_activate_anon workingset_activate_file workingset_restore_anon
        workingset_restore_file workingset_nodereclaim
    """.split(),
    (6, 1): """
        anon file kernel_stack pagetables sec_pagetables shmem file_mapped file_dirty file_writeback swapcached
        anon_thp file_thp shmem_thp inactive_anon active_anon inactive_file active_file unevictable slab_reclaimable
        slab_unreclaimable workingset_refault_anon workingset_refault_file workingset_activate_anon
        workingset_activate_file workingset_restore_anon workingset_restore_file workingset_nodereclaim
    """.split(),
    (6, 12): """
        anon file kernel_stack pagetables sec_pagetables shmem file_mapped file_dirty file_writeback swapcached
        anon_thp file_thp shmem_thp inactive_anon active_anon inactive_file active_file unevictable slab_reclaimable
        slab_unreclaimable workingset_refault_anon workingset_refault_file workingset_activate_anon
        workingset_activate_file workingset_restore_anon workingset_restore_file workingset_nodereclaim
        pgdemote_kswapd pgdemote_direct pgdemote_khugepaged pgpromote_success
    """.split(),
    (6, 16): """
        anon file kernel_stack pagetables sec_pagetables shmem file_mapped file_dirty file_writeback swapcached anon_thp
        file_thp shmem_thp inactive_anon active_anon inactive_file active_file unevictable slab_reclaimable
        slab_unreclaimable hugetlb workingset_refault_anon workingset_refault_file workingset_activate_anon
        workingset_activate_file workingset_restore_anon workingset_restore_file workingset_nodereclaim pgdemote_kswapd
        pgdemote_direct pgdemote_khugepaged pgdemote_proactive pgpromote_success
    """.split(),
    (7, 2): """
        anon file kernel_stack pagetables sec_pagetables vmalloc shmem file_mapped file_dirty file_writeback
        swapcached anon_thp file_thp shmem_thp inactive_anon active_anon inactive_file active_file unevictable
        slab_reclaimable slab_unreclaimable hugetlb workingset_refault_anon workingset_refault_file
        workingset_activate_anon workingset_activate_file workingset_restore_anon workingset_restore_file
        workingset_nodereclaim pgdemote_kswapd pgdemote_direct pgdemote_khugepaged pgdemote_proactive pgsteal_kswapd
        pgsteal_direct pgsteal_khugepaged pgsteal_proactive pgscan_kswapd pgscan_direct pgscan_khugepaged
        pgscan_proactive pgrefill pgpromote_success
    """.split(),
}


def stat_items(kernel: Personality) -> list[str]:
    """The items of memory.stat."""
    return _stat_items(kernel.version, kernel.has("ZSWAP"))


def numa_stat_items(kernel: Personality) -> list[str]:
    """The items of memory.numa_stat."""
    return _NUMA_STAT[_newest(_NUMA_STAT, kernel.version)]


@cache
def _stat_items(version: Version, zswap: bool) -> list[str]:
    items = _STAT[_newest(_STAT, version)]
    return items if zswap else [item for item in items if item not in _ZSWAP]


def _newest(known: Iterable[Version], version: Version) -> Version:
    """The newest that is not newer than a version."""
    return max(one for one in known if one <= version)


def stat_amounts(use: MemoryUse, groups: int) -> dict[str, int]:
    """The known items of both files, in bytes. `groups` is the kernel's memory for the groups below."""
    return {
        "anon": use.anon,
        "file": use.file + use.shmem,
        "kernel": use.kernel + groups,
        "kernel_stack": use.stacks,
        "pagetables": use.tables,
        "slab_unreclaimable": use.slab,
        "slab": use.slab,
        "shmem": use.shmem,
        "file_mapped": use.file + use.shmem,
        "anon_thp": use.huge,
        **lists(use),
    }


def lists(use: MemoryUse) -> dict[str, int]:
    """Bytes on each LRU list. Anonymous pages of a process count as inactive, pages of its files as active unless cold.

    Locked pages are unevictable, and on no other list. Anonymous pages count as locked first.
    """
    anon = use.anon + use.shmem
    locked = min(use.locked, anon + use.file)
    locked_anon = min(locked, anon)
    file = use.file - (locked - locked_anon)
    cold = min(use.cold, file)
    return {
        "inactive_anon": anon - locked_anon,
        "inactive_file": cold,
        "active_file": file - cold,
        "unevictable": locked,
    }


def fault_counts(faults: Faults) -> dict[str, int]:
    """The known events."""
    return {"pgfault": faults.total, "pgmajfault": faults.major}


def reclaim_counts(pages: int) -> dict[str, int]:
    """The events of reclaim that took so many pages, all for processes at a limit; it looks at no others (modelled)."""
    return dict.fromkeys(("pgscan", "pgscan_direct", "pgsteal", "pgsteal_direct"), pages)
