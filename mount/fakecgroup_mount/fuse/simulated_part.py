"""The simulated part of a mounted tree, and the socket by which it is controlled."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fakecgroup import JoinedProcesses, Kernel
from fakecgroup_mount.control import server
from fakecgroup_mount.fuse.native import Session
from fakecgroup_mount.live.passing_time import PassingTime
from fakecgroup_mount.workload_options import WorkloadOptions


@contextmanager
def simulated_part(
    session: Session,
    kernel: Kernel,
    processes: JoinedProcesses,
    device: str,
    workload: WorkloadOptions,
    sockets: Path | None,
) -> Iterator[PassingTime]:
    """Begins the scenario of the command line, and takes commands until the end of the mount with this device number.

    `sockets` is the `runtime_directory`. Raises ScenarioError.
    """
    passing_time = PassingTime(kernel, processes, session.lock, session.before_requests, workload.speed)
    if workload.scenario is not None:
        with session.lock:
            passing_time.add(workload.scenario)
    control = server.start(sockets, device, passing_time)
    if control is not None:
        session.tell_control_socket(os.fspath(control.path))
    try:
        yield passing_time
    finally:
        if control is not None:
            control.close()
