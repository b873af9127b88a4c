"""What of this machine shows in cgroup files, in the words of `recording.description`."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from fakecgroup.machine.machine import KNOWN_HUGE_PAGES
from fakecgroup.machine.mount_options import SINCE
from fakecgroup_mount.host.cgroup_mounts import unified

_SYS = Path("/sys")


def description() -> dict[str, Any]:
    """CPUs, NUMA nodes, memory and swap in bytes, block devices, sizes of huge pages in bytes, mount options."""
    mount = unified()
    return {
        "cpus": os.cpu_count() or 1,
        "nodes": len(list(_SYS.glob("devices/system/node/node[0-9]*"))) or 1,
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "swap": _swap(),
        "block_devices": sorted(file.read_text().strip() for file in _SYS.glob("block/*/dev")),
        "hugepages": sorted(_huge_pages() & set(KNOWN_HUGE_PAGES)),
        "mount_options": [option for option in SINCE if mount is not None and option in mount.options],
    }


def _swap() -> int:
    found = re.search(r"^SwapTotal: *([0-9]+) kB$", Path("/proc/meminfo").read_text(), re.M)
    return int(found[1]) * 1024 if found else 0


def _huge_pages() -> set[int]:
    names = (path.name for path in _SYS.glob("kernel/mm/hugepages/hugepages-*kB"))
    return {int(name.removeprefix("hugepages-").removesuffix("kB")) * 1024 for name in names}
