"""The commands that a daemon answers, by the words that `fakecgroup ctl DIR` takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fakecgroup_mount.control import enforced, faults, snapshots, traces, workloads
from fakecgroup_mount.control.controlled_tree import Asked, ControlledTree

Command = Callable[[ControlledTree, Asked], dict[str, object]]
"""Does a command with the model's lock held; returns what to tell. Raises CommandError."""

BEFORE: Mapping[str, Callable[[ControlledTree], None]] = {
    "fault add": faults.load_errnos,
    "snapshot": snapshots.load,
}
"""What a command needs that takes long: it is done first, without the lock."""

COMMANDS: Mapping[str, Command] = {
    "workload add": workloads.add,
    "workload list": workloads.list_all,
    "workload remove": workloads.remove,
    "workload pause": workloads.pause,
    "workload resume": workloads.resume,
    "workload spawn": workloads.spawn,
    "workload advance": workloads.advance,
    "workload kills": workloads.kills,
    "fault add": faults.add,
    "fault list": faults.list_all,
    "fault remove": faults.remove,
    "enforce": enforced.enforce,
    "snapshot": snapshots.take,
    "trace start": traces.start,
    "trace stop": traces.stop,
    "trace state": traces.state,
}
