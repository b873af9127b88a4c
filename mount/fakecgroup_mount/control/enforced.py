"""`ctl DIR enforce [LIST]`: which limits act on real processes is shown, and changed."""

from __future__ import annotations

from argparse import ArgumentTypeError

from fakecgroup_mount.control.controlled_tree import Asked, ControlledTree
from fakecgroup_mount.control.errors import CommandError
from fakecgroup_mount.enforce.options import ENFORCEABLE, read_enforced


def enforce(tree: ControlledTree, asked: Asked) -> dict[str, object]:
    """Enforces the limits of `list` from now on, if it is given. Returns the controllers whose limits are enforced."""
    text = asked.arguments.get("list")
    if text is not None:
        try:
            tree.enforcement.enforce(read_enforced(text))
        except ArgumentTypeError as error:
            raise CommandError(str(error), 2) from None
    return {"enforced": [name for name in ENFORCEABLE if name in tree.enforcement.names]}
