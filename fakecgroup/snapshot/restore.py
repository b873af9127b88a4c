"""Restores a kernel from a snapshot."""

from __future__ import annotations

import time
from collections.abc import Callable

from ..kernel import Kernel, Setup
from ..machine.learnt import LearntKernel
from ..tasks.joined_processes import JoinedProcesses
from ..tasks.process_table import ProcessTable
from ..tasks.processes import Processes
from ..tasks.tid import FIRST_SIMULATED
from .by_files import begin_counts, fill
from .by_state import load_state
from .compare import compare, told
from .content import FAKE, Snapshot
from .of_kernel import files_of
from .played import played
from .state.whole import is_current


def restore(
    snapshot: Snapshot,
    kernel: str | LearntKernel | None = None,
    *,
    processes: Processes | None = None,
    clock: Callable[[], int] = time.time_ns,
    seed: int = 0,
) -> Kernel:
    """The tree of a snapshot in a kernel. `kernel` says another one than the snapshot's.

    `processes` is a `JoinedProcesses`; the default is a table of its own. The tree's processes are simulated, and time
    passes for them in `Kernel.advance` alone. Raises SnapshotError, ValueError for a kernel without the layout.
    """
    plays = played(snapshot, kernel)
    table = processes if processes is not None else ProcessTable(FIRST_SIMULATED)
    if isinstance(table, JoinedProcesses):
        table.hide_strangers()
    made = Kernel.of(
        Setup(
            snapshot.layout,
            plays.personality,
            plays.machine,
            plays.mount_options,
            table,
            plays.mounts,
            clock,
            seed,
        )
    )
    own = snapshot.state if snapshot.origin == FAKE and kernel is None else []
    if is_current(own):
        load_state(made, snapshot, alone=not isinstance(table, JoinedProcesses))
        begin_counts(made, snapshot)
    else:
        if own:
            plays.differs.append("its state is of another version of fakecgroup: the tree is made of its files")
        made.advance_ns(0)
        fill(made, snapshot)
        made.advance_ns(0)
    made.restored = True
    made.differs = (*plays.differs, *told(compare(snapshot, files_of(made)), made.personality.name))
    return made
