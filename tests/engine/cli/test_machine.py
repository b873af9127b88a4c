"""The size of this machine, as a kubelet would take it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cgroup_engine.cli.machine import online_cpus
from cgroup_engine.model.cpu_list import parse_cpu_list


@pytest.mark.skipif(not Path("/sys/devices/system/cpu/online").exists(), reason="needs sysfs")
def test_a_process_with_fewer_cpus_counts_those_of_the_machine() -> None:
    own = os.sched_getaffinity(0)
    online = parse_cpu_list(Path("/sys/devices/system/cpu/online").read_text().strip())
    os.sched_setaffinity(0, {min(own)})
    try:
        assert online_cpus() == len(online)
    finally:
        os.sched_setaffinity(0, own)
