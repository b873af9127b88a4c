"""What a mounted tree does beyond answering: a workload lives in it, limits act, requests fail, calls are recorded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fakecgroup import JoinedProcesses, Kernel
from fakecgroup.named_tuple import NamedTuple
from fakecgroup_mount.control.controlled_tree import ControlledTree
from fakecgroup_mount.control.server import controlled
from fakecgroup_mount.enforce.enforcement import Enforcement, enforced
from fakecgroup_mount.fuse.asked import Additions
from fakecgroup_mount.fuse.fault_injection import injected
from fakecgroup_mount.fuse.native import Session
from fakecgroup_mount.fuse.simulated_part import simulated_part
from fakecgroup_mount.host.processes import HostProcesses
from fakecgroup_mount.live.passing_time import PassingTime
from fakecgroup_mount.record.tracing import Tracing, traced


class Added(NamedTuple):
    """What there is."""

    time: PassingTime
    enforcement: Enforcement
    tracing: Tracing


@contextmanager
def added(
    asked: Additions,
    session: Session,
    kernel: Kernel,
    processes: HostProcesses,
    joined: JoinedProcesses,
    *,
    source: str,
    device: str,
    sockets: str | None,
    spared: frozenset[int] = frozenset(),
) -> Iterator[Added]:
    """Adds it to a tree meanwhile, and the control socket by which it is changed.

    `source` is what serves the tree, such as "fakecgroup mount", `device` is its mount ("0:42"), `sockets` is where its
    control socket goes, None for nowhere. Limits never act on the processes `spared`. Raises ScenarioError, and
    RuntimeError if no thread can be started.
    """
    time = simulated_part(session, kernel, joined, asked.workload)
    injection = injected(session, kernel, asked.faults)

    def settle() -> None:
        session.settle()
        enforcement.settle()

    with (
        enforced(asked.enforce, kernel, processes, session.lock, session.before_requests, spared) as enforcement,
        traced(Tracing(kernel, session.lock, source, [session], device), asked.trace) as tracing,
        controlled(sockets, device, ControlledTree(kernel, time, injection, enforcement, tracing, settle)) as control,
    ):
        session.tell_control_socket(control)
        yield Added(time, enforcement, tracing)
