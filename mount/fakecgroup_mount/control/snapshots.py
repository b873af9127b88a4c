"""`ctl DIR snapshot`: the tree of a daemon goes into a file that the asker has opened."""

from __future__ import annotations

import os

from fakecgroup.tasks.joined_processes import is_simulated
from fakecgroup_mount.capture.left_out import LeftOut
from fakecgroup_mount.capture.processes import seen_process
from fakecgroup_mount.control.controlled_tree import Asked, ControlledTree
from fakecgroup_mount.control.errors import CommandError


def load(tree: ControlledTree) -> None:
    """Imports what `take` needs."""


def take(tree: ControlledTree, asked: Asked) -> dict[str, object]:
    """Writes a snapshot, without the names of processes if `names` is empty, without any if `redact` is not.

    Returns what it has and what it lacks.
    """
    if asked.file < 0:
        raise CommandError("snapshot: the file is missing", 2)
    from fakecgroup.snapshot import SeenProcess, of_kernel, redacted, told_of  # these take a while to load
    from fakecgroup.snapshot.lines import pack

    left_out = LeftOut()
    names = bool(asked.arguments["names"])

    def describe(pid: int) -> SeenProcess | None:
        return None if is_simulated(pid) else seen_process(pid, names=names, left_out=left_out)

    snapshot = of_kernel(tree.kernel, describe, names=names)
    snapshot.left_out = list(left_out.lines())
    if asked.arguments["redact"]:
        snapshot = redacted(snapshot)
    data = memoryview(pack(snapshot))
    try:
        while data:
            data = data[os.write(asked.file, data) :]
    except OSError as error:
        raise CommandError(f"the file cannot be written: {error.strerror}") from None
    return {"told": told_of(snapshot), "left_out": snapshot.left_out}
