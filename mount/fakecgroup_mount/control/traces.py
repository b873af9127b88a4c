"""`ctl DIR trace ...`: what programs do is recorded from now on, and no longer."""

from __future__ import annotations

import os

from fakecgroup_mount.control.controlled_tree import Asked, ControlledTree
from fakecgroup_mount.control.errors import CommandError
from fakecgroup_mount.record.tracing import AlreadyTracedError, OwnFileError


def start(tree: ControlledTree, asked: Asked) -> dict[str, object]:
    """Records to the file that the asker has opened, `limit` bytes at most. `name` is for messages."""
    limit = asked.arguments["limit"]
    if asked.file < 0 or not limit.isdecimal() or len(limit) > 15:
        raise CommandError("trace start: the file or its limit is missing", 2)
    try:
        tree.tracing.vet(asked.file)
    except AlreadyTracedError as error:
        raise CommandError(f"a trace is written already, to {error}: end it with trace stop") from None
    except OwnFileError:
        raise CommandError("a trace cannot go into the tree that it is of") from None
    fd = os.dup(asked.file)
    try:
        tree.tracing.start(fd, asked.arguments["name"], int(limit))
    except RuntimeError:
        os.close(fd)
        raise
    return {}


def stop(tree: ControlledTree, asked: Asked) -> dict[str, object]:
    """Ends the trace. What waits is written soon: `state` says when it is."""
    name = tree.tracing.stop()
    if name is None:
        raise CommandError("no trace is written")
    return {"name": name}


def state(tree: ControlledTree, asked: Asked) -> dict[str, object]:
    """`none`, `written`, or `ending` while the file takes the last lines; and which file that is."""
    return {"state": tree.tracing.state, "name": tree.tracing.name}
