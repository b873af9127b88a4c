"""The kernel's functions behind each interface file, as its tables of files (struct cftype) name them.

Taken from the sources of 6.1, 6.12 and 7.2, for each file from the newest that has it.
"""

from __future__ import annotations

import re

from ...named_tuple import NamedTuple

_HUGE_PAGE = re.compile(r"^hugetlb\.\d+[KMG]B\.")


class Handlers(NamedTuple):
    """Functions that read and write a file, "" where there is none; the kernel's source that has its row."""

    read: str
    write: str
    source: str


def handlers_of(file: str, *, dfl: bool) -> Handlers | None:
    """Of a file by its name, in the unified hierarchy (`dfl`) or on v1. None if no table has it."""
    return (_DFL if dfl else _LEGACY).get(_HUGE_PAGE.sub("hugetlb.", file))


_DFL = {
    "cgroup.controllers": Handlers("cgroup_controllers_show", "", "kernel/cgroup/cgroup.c"),
    "cgroup.events": Handlers("cgroup_events_show", "", "kernel/cgroup/cgroup.c"),
    "cgroup.freeze": Handlers("cgroup_freeze_show", "cgroup_freeze_write", "kernel/cgroup/cgroup.c"),
    "cgroup.kill": Handlers("", "cgroup_kill_write", "kernel/cgroup/cgroup.c"),
    "cgroup.max.depth": Handlers("cgroup_max_depth_show", "cgroup_max_depth_write", "kernel/cgroup/cgroup.c"),
    "cgroup.max.descendants": Handlers(
        "cgroup_max_descendants_show", "cgroup_max_descendants_write", "kernel/cgroup/cgroup.c"
    ),
    "cgroup.pressure": Handlers("cgroup_pressure_show", "cgroup_pressure_write", "kernel/cgroup/cgroup.c"),
    "cgroup.procs": Handlers("cgroup_procs_show", "cgroup_procs_write", "kernel/cgroup/cgroup.c"),
    "cgroup.stat": Handlers("cgroup_stat_show", "", "kernel/cgroup/cgroup.c"),
    "cgroup.stat.local": Handlers("cgroup_core_local_stat_show", "", "kernel/cgroup/cgroup.c"),
    "cgroup.subtree_control": Handlers(
        "cgroup_subtree_control_show", "cgroup_subtree_control_write", "kernel/cgroup/cgroup.c"
    ),
    "cgroup.threads": Handlers("cgroup_procs_show", "cgroup_threads_write", "kernel/cgroup/cgroup.c"),
    "cgroup.type": Handlers("cgroup_type_show", "cgroup_type_write", "kernel/cgroup/cgroup.c"),
    "cpu.idle": Handlers("cpu_idle_read_s64", "cpu_idle_write_s64", "kernel/sched/core.c"),
    "cpu.max": Handlers("cpu_max_show", "cpu_max_write", "kernel/sched/core.c"),
    "cpu.max.burst": Handlers("cpu_burst_read_u64", "cpu_burst_write_u64", "kernel/sched/core.c"),
    "cpu.pressure": Handlers("cgroup_cpu_pressure_show", "cgroup_cpu_pressure_write", "kernel/cgroup/cgroup.c"),
    "cpu.stat": Handlers("cpu_stat_show", "", "kernel/cgroup/cgroup.c"),
    "cpu.stat.local": Handlers("cpu_local_stat_show", "", "kernel/cgroup/cgroup.c"),
    "cpu.uclamp.max": Handlers("cpu_uclamp_max_show", "cpu_uclamp_max_write", "kernel/sched/core.c"),
    "cpu.uclamp.min": Handlers("cpu_uclamp_min_show", "cpu_uclamp_min_write", "kernel/sched/core.c"),
    "cpu.weight": Handlers("cpu_weight_read_u64", "cpu_weight_write_u64", "kernel/sched/core.c"),
    "cpu.weight.nice": Handlers("cpu_weight_nice_read_s64", "cpu_weight_nice_write_s64", "kernel/sched/core.c"),
    "cpuset.cpus": Handlers("cpuset_common_seq_show", "cpuset_write_resmask", "kernel/cgroup/cpuset.c"),
    "cpuset.cpus.effective": Handlers("cpuset_common_seq_show", "", "kernel/cgroup/cpuset.c"),
    "cpuset.cpus.exclusive": Handlers("cpuset_common_seq_show", "cpuset_write_resmask", "kernel/cgroup/cpuset.c"),
    "cpuset.cpus.exclusive.effective": Handlers("cpuset_common_seq_show", "", "kernel/cgroup/cpuset.c"),
    "cpuset.cpus.isolated": Handlers("cpuset_common_seq_show", "", "kernel/cgroup/cpuset.c"),
    "cpuset.cpus.partition": Handlers("cpuset_partition_show", "cpuset_partition_write", "kernel/cgroup/cpuset.c"),
    "cpuset.mems": Handlers("cpuset_common_seq_show", "cpuset_write_resmask", "kernel/cgroup/cpuset.c"),
    "cpuset.mems.effective": Handlers("cpuset_common_seq_show", "", "kernel/cgroup/cpuset.c"),
    "hugetlb.current": Handlers("hugetlb_cgroup_read_u64_max", "", "mm/hugetlb_cgroup.c"),
    "hugetlb.events": Handlers("hugetlb_events_show", "", "mm/hugetlb_cgroup.c"),
    "hugetlb.events.local": Handlers("hugetlb_events_local_show", "", "mm/hugetlb_cgroup.c"),
    "hugetlb.max": Handlers("hugetlb_cgroup_read_u64_max", "hugetlb_cgroup_write_dfl", "mm/hugetlb_cgroup.c"),
    "hugetlb.numa_stat": Handlers("hugetlb_cgroup_read_numa_stat", "", "mm/hugetlb_cgroup.c"),
    "hugetlb.rsvd.current": Handlers("hugetlb_cgroup_read_u64_max", "", "mm/hugetlb_cgroup.c"),
    "hugetlb.rsvd.max": Handlers("hugetlb_cgroup_read_u64_max", "hugetlb_cgroup_write_dfl", "mm/hugetlb_cgroup.c"),
    "io.cost.model": Handlers("ioc_cost_model_show", "ioc_cost_model_write", "block/blk-iocost.c"),
    "io.cost.qos": Handlers("ioc_qos_show", "ioc_qos_write", "block/blk-iocost.c"),
    "io.max": Handlers("tg_print_limit", "tg_set_limit", "block/blk-throttle.c"),
    "io.pressure": Handlers("cgroup_io_pressure_show", "cgroup_io_pressure_write", "kernel/cgroup/cgroup.c"),
    "io.stat": Handlers("blkcg_print_stat", "", "block/blk-cgroup.c"),
    "io.weight": Handlers("ioc_weight_show", "ioc_weight_write", "block/blk-iocost.c"),
    "memory.current": Handlers("memory_current_read", "", "mm/memcontrol.c"),
    "memory.events": Handlers("memory_events_show", "", "mm/memcontrol.c"),
    "memory.events.local": Handlers("memory_events_local_show", "", "mm/memcontrol.c"),
    "memory.high": Handlers("memory_high_show", "memory_high_write", "mm/memcontrol.c"),
    "memory.low": Handlers("memory_low_show", "memory_low_write", "mm/memcontrol.c"),
    "memory.max": Handlers("memory_max_show", "memory_max_write", "mm/memcontrol.c"),
    "memory.min": Handlers("memory_min_show", "memory_min_write", "mm/memcontrol.c"),
    "memory.numa_stat": Handlers("memory_numa_stat_show", "", "mm/memcontrol.c"),
    "memory.oom.group": Handlers("memory_oom_group_show", "memory_oom_group_write", "mm/memcontrol.c"),
    "memory.peak": Handlers("memory_peak_show", "memory_peak_write", "mm/memcontrol.c"),
    "memory.pressure": Handlers(
        "cgroup_memory_pressure_show", "cgroup_memory_pressure_write", "kernel/cgroup/cgroup.c"
    ),
    "memory.reclaim": Handlers("", "memory_reclaim", "mm/memcontrol.c"),
    "memory.stat": Handlers("memory_stat_show", "", "mm/memcontrol.c"),
    "memory.swap.current": Handlers("swap_current_read", "", "mm/memcontrol.c"),
    "memory.swap.events": Handlers("swap_events_show", "", "mm/memcontrol.c"),
    "memory.swap.high": Handlers("swap_high_show", "swap_high_write", "mm/memcontrol.c"),
    "memory.swap.max": Handlers("swap_max_show", "swap_max_write", "mm/memcontrol.c"),
    "memory.swap.peak": Handlers("swap_peak_show", "swap_peak_write", "mm/memcontrol.c"),
    "memory.zswap.current": Handlers("zswap_current_read", "", "mm/memcontrol.c"),
    "memory.zswap.max": Handlers("zswap_max_show", "zswap_max_write", "mm/memcontrol.c"),
    "memory.zswap.writeback": Handlers("zswap_writeback_show", "zswap_writeback_write", "mm/memcontrol.c"),
    "misc.capacity": Handlers("misc_cg_capacity_show", "", "kernel/cgroup/misc.c"),
    "misc.current": Handlers("misc_cg_current_show", "", "kernel/cgroup/misc.c"),
    "misc.events": Handlers("misc_events_show", "", "kernel/cgroup/misc.c"),
    "misc.events.local": Handlers("misc_events_local_show", "", "kernel/cgroup/misc.c"),
    "misc.max": Handlers("misc_cg_max_show", "misc_cg_max_write", "kernel/cgroup/misc.c"),
    "misc.peak": Handlers("misc_cg_peak_show", "", "kernel/cgroup/misc.c"),
    "pids.current": Handlers("pids_current_read", "", "kernel/cgroup/pids.c"),
    "pids.events": Handlers("pids_events_show", "", "kernel/cgroup/pids.c"),
    "pids.events.local": Handlers("pids_events_local_show", "", "kernel/cgroup/pids.c"),
    "pids.max": Handlers("pids_max_show", "pids_max_write", "kernel/cgroup/pids.c"),
    "pids.peak": Handlers("pids_peak_read", "", "kernel/cgroup/pids.c"),
    "rdma.current": Handlers("rdmacg_resource_read", "", "kernel/cgroup/rdma.c"),
    "rdma.events": Handlers("rdmacg_events_show", "", "kernel/cgroup/rdma.c"),
    "rdma.events.local": Handlers("rdmacg_events_local_show", "", "kernel/cgroup/rdma.c"),
    "rdma.max": Handlers("rdmacg_resource_read", "rdmacg_resource_set_max", "kernel/cgroup/rdma.c"),
    "rdma.peak": Handlers("rdmacg_resource_read", "", "kernel/cgroup/rdma.c"),
}
_LEGACY = {
    "blkio.bfq.io_service_bytes": Handlers("bfqg_print_rwstat", "", "block/bfq-cgroup.c"),
    "blkio.bfq.io_service_bytes_recursive": Handlers("bfqg_print_rwstat_recursive", "", "block/bfq-cgroup.c"),
    "blkio.bfq.io_serviced": Handlers("bfqg_print_rwstat", "", "block/bfq-cgroup.c"),
    "blkio.bfq.io_serviced_recursive": Handlers("bfqg_print_rwstat_recursive", "", "block/bfq-cgroup.c"),
    "blkio.bfq.weight": Handlers("bfq_io_show_weight_legacy", "bfq_io_set_weight_legacy", "block/bfq-cgroup.c"),
    "blkio.bfq.weight_device": Handlers("bfq_io_show_weight", "bfq_io_set_weight", "block/bfq-cgroup.c"),
    "blkio.reset_stats": Handlers("", "blkcg_reset_stats", "block/blk-cgroup.c"),
    "blkio.throttle.io_service_bytes": Handlers("tg_print_rwstat", "", "block/blk-throttle.c"),
    "blkio.throttle.io_service_bytes_recursive": Handlers("tg_print_rwstat_recursive", "", "block/blk-throttle.c"),
    "blkio.throttle.io_serviced": Handlers("tg_print_rwstat", "", "block/blk-throttle.c"),
    "blkio.throttle.io_serviced_recursive": Handlers("tg_print_rwstat_recursive", "", "block/blk-throttle.c"),
    "blkio.throttle.read_bps_device": Handlers("tg_print_conf_u64", "tg_set_conf_u64", "block/blk-throttle.c"),
    "blkio.throttle.read_iops_device": Handlers("tg_print_conf_uint", "tg_set_conf_uint", "block/blk-throttle.c"),
    "blkio.throttle.write_bps_device": Handlers("tg_print_conf_u64", "tg_set_conf_u64", "block/blk-throttle.c"),
    "blkio.throttle.write_iops_device": Handlers("tg_print_conf_uint", "tg_set_conf_uint", "block/blk-throttle.c"),
    "cgroup.clone_children": Handlers(
        "cgroup_clone_children_read", "cgroup_clone_children_write", "kernel/cgroup/cgroup-v1.c"
    ),
    "cgroup.event_control": Handlers("", "memcg_write_event_control", "mm/memcontrol-v1.c"),
    "cgroup.procs": Handlers("cgroup_pidlist_show", "cgroup1_procs_write", "kernel/cgroup/cgroup-v1.c"),
    "cgroup.sane_behavior": Handlers("cgroup_sane_behavior_show", "", "kernel/cgroup/cgroup-v1.c"),
    "cpu.cfs_burst_us": Handlers("cpu_burst_read_u64", "cpu_burst_write_u64", "kernel/sched/core.c"),
    "cpu.cfs_period_us": Handlers("cpu_period_read_u64", "cpu_period_write_u64", "kernel/sched/core.c"),
    "cpu.cfs_quota_us": Handlers("cpu_quota_read_s64", "cpu_quota_write_s64", "kernel/sched/core.c"),
    "cpu.idle": Handlers("cpu_idle_read_s64", "cpu_idle_write_s64", "kernel/sched/core.c"),
    "cpu.rt_period_us": Handlers("cpu_rt_period_read_uint", "cpu_rt_period_write_uint", "kernel/sched/core.c"),
    "cpu.rt_runtime_us": Handlers("cpu_rt_runtime_read", "cpu_rt_runtime_write", "kernel/sched/core.c"),
    "cpu.shares": Handlers("cpu_shares_read_u64", "cpu_shares_write_u64", "kernel/sched/core.c"),
    "cpu.stat": Handlers("cpu_cfs_stat_show", "", "kernel/sched/core.c"),
    "cpu.stat.local": Handlers("cpu_cfs_local_stat_show", "", "kernel/sched/core.c"),
    "cpu.uclamp.max": Handlers("cpu_uclamp_max_show", "cpu_uclamp_max_write", "kernel/sched/core.c"),
    "cpu.uclamp.min": Handlers("cpu_uclamp_min_show", "cpu_uclamp_min_write", "kernel/sched/core.c"),
    "cpuacct.stat": Handlers("cpuacct_stats_show", "", "kernel/sched/cpuacct.c"),
    "cpuacct.usage": Handlers("cpuusage_read", "cpuusage_write", "kernel/sched/cpuacct.c"),
    "cpuacct.usage_all": Handlers("cpuacct_all_seq_show", "", "kernel/sched/cpuacct.c"),
    "cpuacct.usage_percpu": Handlers("cpuacct_percpu_seq_show", "", "kernel/sched/cpuacct.c"),
    "cpuacct.usage_percpu_sys": Handlers("cpuacct_percpu_sys_seq_show", "", "kernel/sched/cpuacct.c"),
    "cpuacct.usage_percpu_user": Handlers("cpuacct_percpu_user_seq_show", "", "kernel/sched/cpuacct.c"),
    "cpuacct.usage_sys": Handlers("cpuusage_sys_read", "", "kernel/sched/cpuacct.c"),
    "cpuacct.usage_user": Handlers("cpuusage_user_read", "", "kernel/sched/cpuacct.c"),
    "cpuset.cpu_exclusive": Handlers("cpuset_read_u64", "cpuset_write_u64", "kernel/cgroup/cpuset-v1.c"),
    "cpuset.cpus": Handlers("cpuset_common_seq_show", "cpuset_write_resmask", "kernel/cgroup/cpuset-v1.c"),
    "cpuset.effective_cpus": Handlers("cpuset_common_seq_show", "", "kernel/cgroup/cpuset-v1.c"),
    "cpuset.effective_mems": Handlers("cpuset_common_seq_show", "", "kernel/cgroup/cpuset-v1.c"),
    "cpuset.mem_exclusive": Handlers("cpuset_read_u64", "cpuset_write_u64", "kernel/cgroup/cpuset-v1.c"),
    "cpuset.mem_hardwall": Handlers("cpuset_read_u64", "cpuset_write_u64", "kernel/cgroup/cpuset-v1.c"),
    "cpuset.memory_migrate": Handlers("cpuset_read_u64", "cpuset_write_u64", "kernel/cgroup/cpuset-v1.c"),
    "cpuset.memory_pressure": Handlers("cpuset_read_u64", "", "kernel/cgroup/cpuset-v1.c"),
    "cpuset.memory_pressure_enabled": Handlers("cpuset_read_u64", "cpuset_write_u64", "kernel/cgroup/cpuset-v1.c"),
    "cpuset.memory_spread_page": Handlers("cpuset_read_u64", "cpuset_write_u64", "kernel/cgroup/cpuset-v1.c"),
    "cpuset.memory_spread_slab": Handlers("cpuset_read_u64", "cpuset_write_u64", "kernel/cgroup/cpuset-v1.c"),
    "cpuset.mems": Handlers("cpuset_common_seq_show", "cpuset_write_resmask", "kernel/cgroup/cpuset-v1.c"),
    "cpuset.sched_load_balance": Handlers("cpuset_read_u64", "cpuset_write_u64", "kernel/cgroup/cpuset-v1.c"),
    "cpuset.sched_relax_domain_level": Handlers("cpuset_read_s64", "cpuset_write_s64", "kernel/cgroup/cpuset-v1.c"),
    "devices.allow": Handlers("", "devcgroup_access_write", "security/device_cgroup.c"),
    "devices.deny": Handlers("", "devcgroup_access_write", "security/device_cgroup.c"),
    "devices.list": Handlers("devcgroup_seq_show", "", "security/device_cgroup.c"),
    "freezer.parent_freezing": Handlers("freezer_parent_freezing_read", "", "kernel/cgroup/legacy_freezer.c"),
    "freezer.self_freezing": Handlers("freezer_self_freezing_read", "", "kernel/cgroup/legacy_freezer.c"),
    "freezer.state": Handlers("freezer_read", "freezer_write", "kernel/cgroup/legacy_freezer.c"),
    "hugetlb.failcnt": Handlers("hugetlb_cgroup_read_u64", "hugetlb_cgroup_reset", "mm/hugetlb_cgroup.c"),
    "hugetlb.limit_in_bytes": Handlers("hugetlb_cgroup_read_u64", "hugetlb_cgroup_write_legacy", "mm/hugetlb_cgroup.c"),
    "hugetlb.max_usage_in_bytes": Handlers("hugetlb_cgroup_read_u64", "hugetlb_cgroup_reset", "mm/hugetlb_cgroup.c"),
    "hugetlb.numa_stat": Handlers("hugetlb_cgroup_read_numa_stat", "", "mm/hugetlb_cgroup.c"),
    "hugetlb.rsvd.failcnt": Handlers("hugetlb_cgroup_read_u64", "hugetlb_cgroup_reset", "mm/hugetlb_cgroup.c"),
    "hugetlb.rsvd.limit_in_bytes": Handlers(
        "hugetlb_cgroup_read_u64", "hugetlb_cgroup_write_legacy", "mm/hugetlb_cgroup.c"
    ),
    "hugetlb.rsvd.max_usage_in_bytes": Handlers(
        "hugetlb_cgroup_read_u64", "hugetlb_cgroup_reset", "mm/hugetlb_cgroup.c"
    ),
    "hugetlb.rsvd.usage_in_bytes": Handlers("hugetlb_cgroup_read_u64", "", "mm/hugetlb_cgroup.c"),
    "hugetlb.usage_in_bytes": Handlers("hugetlb_cgroup_read_u64", "", "mm/hugetlb_cgroup.c"),
    "memory.failcnt": Handlers("mem_cgroup_read_u64", "mem_cgroup_reset", "mm/memcontrol-v1.c"),
    "memory.force_empty": Handlers("", "mem_cgroup_force_empty_write", "mm/memcontrol-v1.c"),
    "memory.kmem.failcnt": Handlers("mem_cgroup_read_u64", "mem_cgroup_reset", "mm/memcontrol-v1.c"),
    "memory.kmem.limit_in_bytes": Handlers("mem_cgroup_read_u64", "mem_cgroup_write", "mm/memcontrol-v1.c"),
    "memory.kmem.max_usage_in_bytes": Handlers("mem_cgroup_read_u64", "mem_cgroup_reset", "mm/memcontrol-v1.c"),
    "memory.kmem.slabinfo": Handlers("mem_cgroup_slab_show", "", "mm/memcontrol-v1.c"),
    "memory.kmem.tcp.failcnt": Handlers("mem_cgroup_read_u64", "mem_cgroup_reset", "mm/memcontrol-v1.c"),
    "memory.kmem.tcp.limit_in_bytes": Handlers("mem_cgroup_read_u64", "mem_cgroup_write", "mm/memcontrol-v1.c"),
    "memory.kmem.tcp.max_usage_in_bytes": Handlers("mem_cgroup_read_u64", "mem_cgroup_reset", "mm/memcontrol-v1.c"),
    "memory.kmem.tcp.usage_in_bytes": Handlers("mem_cgroup_read_u64", "", "mm/memcontrol-v1.c"),
    "memory.kmem.usage_in_bytes": Handlers("mem_cgroup_read_u64", "", "mm/memcontrol-v1.c"),
    "memory.limit_in_bytes": Handlers("mem_cgroup_read_u64", "mem_cgroup_write", "mm/memcontrol-v1.c"),
    "memory.max_usage_in_bytes": Handlers("mem_cgroup_read_u64", "mem_cgroup_reset", "mm/memcontrol-v1.c"),
    "memory.memsw.failcnt": Handlers("mem_cgroup_read_u64", "mem_cgroup_reset", "mm/memcontrol-v1.c"),
    "memory.memsw.limit_in_bytes": Handlers("mem_cgroup_read_u64", "mem_cgroup_write", "mm/memcontrol-v1.c"),
    "memory.memsw.max_usage_in_bytes": Handlers("mem_cgroup_read_u64", "mem_cgroup_reset", "mm/memcontrol-v1.c"),
    "memory.memsw.usage_in_bytes": Handlers("mem_cgroup_read_u64", "", "mm/memcontrol-v1.c"),
    "memory.move_charge_at_immigrate": Handlers(
        "mem_cgroup_move_charge_read", "mem_cgroup_move_charge_write", "mm/memcontrol-v1.c"
    ),
    "memory.numa_stat": Handlers("memcg_numa_stat_show", "", "mm/memcontrol-v1.c"),
    "memory.oom_control": Handlers("mem_cgroup_oom_control_read", "mem_cgroup_oom_control_write", "mm/memcontrol-v1.c"),
    "memory.pressure_level": Handlers("mem_cgroup_dummy_seq_show", "", "mm/memcontrol-v1.c"),
    "memory.soft_limit_in_bytes": Handlers(
        "mem_cgroup_soft_limit_read", "mem_cgroup_soft_limit_write", "mm/memcontrol-v1.c"
    ),
    "memory.stat": Handlers("memory_stat_show", "", "mm/memcontrol-v1.c"),
    "memory.swappiness": Handlers("mem_cgroup_swappiness_read", "mem_cgroup_swappiness_write", "mm/memcontrol-v1.c"),
    "memory.usage_in_bytes": Handlers("mem_cgroup_read_u64", "", "mm/memcontrol-v1.c"),
    "memory.use_hierarchy": Handlers("mem_cgroup_hierarchy_read", "mem_cgroup_hierarchy_write", "mm/memcontrol-v1.c"),
    "misc.capacity": Handlers("misc_cg_capacity_show", "", "kernel/cgroup/misc.c"),
    "misc.current": Handlers("misc_cg_current_show", "", "kernel/cgroup/misc.c"),
    "misc.events": Handlers("misc_events_show", "", "kernel/cgroup/misc.c"),
    "misc.events.local": Handlers("misc_events_local_show", "", "kernel/cgroup/misc.c"),
    "misc.max": Handlers("misc_cg_max_show", "misc_cg_max_write", "kernel/cgroup/misc.c"),
    "misc.peak": Handlers("misc_cg_peak_show", "", "kernel/cgroup/misc.c"),
    "net_cls.classid": Handlers("read_classid", "write_classid", "net/core/netclassid_cgroup.c"),
    "net_prio.ifpriomap": Handlers("read_priomap", "write_priomap", "net/core/netprio_cgroup.c"),
    "net_prio.prioidx": Handlers("read_prioidx", "", "net/core/netprio_cgroup.c"),
    "notify_on_release": Handlers(
        "cgroup_read_notify_on_release", "cgroup_write_notify_on_release", "kernel/cgroup/cgroup-v1.c"
    ),
    "pids.current": Handlers("pids_current_read", "", "kernel/cgroup/pids.c"),
    "pids.events": Handlers("pids_events_show", "", "kernel/cgroup/pids.c"),
    "pids.max": Handlers("pids_max_show", "pids_max_write", "kernel/cgroup/pids.c"),
    "pids.peak": Handlers("pids_peak_read", "", "kernel/cgroup/pids.c"),
    "rdma.current": Handlers("rdmacg_resource_read", "", "kernel/cgroup/rdma.c"),
    "rdma.events": Handlers("rdmacg_events_show", "", "kernel/cgroup/rdma.c"),
    "rdma.events.local": Handlers("rdmacg_events_local_show", "", "kernel/cgroup/rdma.c"),
    "rdma.max": Handlers("rdmacg_resource_read", "rdmacg_resource_set_max", "kernel/cgroup/rdma.c"),
    "rdma.peak": Handlers("rdmacg_resource_read", "", "kernel/cgroup/rdma.c"),
    "release_agent": Handlers("cgroup_release_agent_show", "cgroup_release_agent_write", "kernel/cgroup/cgroup-v1.c"),
    "tasks": Handlers("cgroup_pidlist_show", "cgroup1_tasks_write", "kernel/cgroup/cgroup-v1.c"),
}
