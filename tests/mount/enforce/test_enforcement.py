"""The thread that enforces limits."""

from __future__ import annotations

import threading

import pytest

from fakecgroup import Kernel
from fakecgroup_mount.enforce.enforcement import enforced
from fakecgroup_mount.host.processes import HostProcesses


@pytest.mark.parametrize("layout", ["v2", "v1"])
def test_limits_act_from_the_beginning_on(processes: HostProcesses, layout: str) -> None:
    kernel = Kernel(layout, processes=processes)
    memory = next(hierarchy for hierarchy in kernel.hierarchies if hierarchy.counts_memory)
    with enforced(frozenset({"memory"}), kernel, processes, threading.Lock(), lambda before, after: None):
        assert memory.membership.enforcer is not None
    assert memory.membership.enforcer is None
