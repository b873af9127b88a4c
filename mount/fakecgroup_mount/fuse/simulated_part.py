"""The simulated part of a mounted tree."""

from __future__ import annotations

from fakecgroup import JoinedProcesses, Kernel
from fakecgroup_mount.fuse.native import Session
from fakecgroup_mount.live.passing_time import PassingTime
from fakecgroup_mount.workload_options import WorkloadOptions


def simulated_part(
    session: Session, kernel: Kernel, processes: JoinedProcesses, workload: WorkloadOptions
) -> PassingTime:
    """Lets restored processes live, and begins the scenario of the command line. Raises ScenarioError."""
    passing_time = PassingTime(kernel, processes, session.lock, session.before_requests, workload.speed)
    with session.lock:
        if kernel.lives:
            passing_time.begin()
        if workload.scenario is not None:
            passing_time.add(workload.scenario)
    return passing_time
