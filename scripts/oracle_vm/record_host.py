"""Makes the recording of this machine's own kernel: the v1 cases in own cgroups of its real hierarchies."""

from __future__ import annotations

import datetime
import gzip
import os
from collections.abc import Callable
from pathlib import Path

from fakecgroup.conformance import recording
from fakecgroup.conformance.ask_again import asked
from fakecgroup.conformance.cases import all_cases
from fakecgroup.conformance.recording import NOT_ASKED, VARIES, RecordedCase, Recording
from fakecgroup_mount.conformance.target_host import HostTarget
from fakecgroup_mount.host.cgroup_mounts import hierarchies

#: Build options that decide what the hierarchies answer.
_OPTIONS = (
    "BFQ_GROUP_IOSCHED", "BLK_DEV_THROTTLING", "CFS_BANDWIDTH", "CGROUP_MISC", "CGROUP_RDMA", "CPUSETS_V1", "MEMCG_V1",
    "PSI_DEFAULT_DISABLED", "RT_GROUP_SCHED", "UCLAMP_TASK_GROUP",
)  # fmt: skip


def record_host(report: Callable[[str], None]) -> Path:
    """Write the recording of the running kernel on layout v1.  Raises MountError."""
    target = HostTarget()
    try:
        wanted = [(family, case) for family, cases in all_cases("v1").items() for case in cases]
        recorded = []
        for number, (family, case) in enumerate(wanted, start=1):
            first, second = asked(target, case), asked(target, case)
            answers = tuple(one if one == other else VARIES for one, other in zip(first, second, strict=True))
            for op, one, other in zip(case.ops, first, second, strict=True):
                if one != other:
                    report(f"varies: {case.name}: {op}: {str(one)[:200]} / {str(other)[:200]}")
            if any(answer != NOT_ASKED for answer in answers):
                recorded.append(RecordedCase(family, case, answers))
            if number % 100 == 0:
                report(f"{number} of {len(wanted)} cases")
    finally:
        target.close()
    series = ".".join(os.uname().release.split(".")[:2])
    header = {
        "kernel": series,
        "version": os.uname().release,
        "configuration": _configuration(),
        "layout": "v1",
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "machine": _machine(),
        "cases": len(recorded),
        "operations": sum(len(one.case.ops) for one in recorded),
        "digest": recording.digest(one.case for one in recorded),
    }
    return recording.save(Recording("v1", series, header, tuple(recorded)))


def _configuration() -> dict[str, bool]:
    with gzip.open("/proc/config.gz", "rt") as file:
        on = {line.partition("=")[0].removeprefix("CONFIG_") for line in file if line.rstrip().endswith(("=y", "=m"))}
    return {option: option in on for option in _OPTIONS}


def _machine() -> dict[str, object]:
    """As ``machine.description`` has it, memory in bytes."""
    return {
        "cpus": os.cpu_count(),
        "nodes": len(list(Path("/sys/devices/system/node").glob("node[0-9]*"))),
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "block_devices": sorted(file.read_text().strip() for file in Path("/sys/block").glob("*/dev")),
        "hierarchies": sorted(hierarchies()),
    }
