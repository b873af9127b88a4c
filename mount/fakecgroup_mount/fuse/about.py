"""What a daemon says of itself: attributes of the root directory, which listxattr(2) does not list."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fakecgroup.named_tuple import NamedTuple

if TYPE_CHECKING:
    from fakecgroup import Kernel

DAEMON_XATTR = "user.fakecgroup.daemon"
"""The pid of the daemon."""

TREE_XATTR = "user.fakecgroup.tree"
"""What tree it is: `TreeFacts` as JSON."""


class TreeFacts(NamedTuple):
    """What tree a daemon serves. `cgroups` counts those below the roots of the hierarchies."""

    layout: str
    kernel: str
    transport: str
    cgroups: int

    @classmethod
    def parse(cls, value: bytes) -> TreeFacts:
        """The facts in the value of TREE_XATTR."""
        import json  # takes a while to load

        said = json.loads(value)
        return cls(said["layout"], said["kernel"], said["transport"], said["cgroups"])


def about(name: str, kernel: Kernel, transport: str) -> bytes | None:
    """The value of one of the two attributes; None for any other."""
    if name == DAEMON_XATTR:
        return b"%d" % os.getpid()
    if name == TREE_XATTR:
        import json

        cgroups = sum(hierarchy.root.nr_descendants for hierarchy in kernel.hierarchies)
        return json.dumps(TreeFacts(kernel.layout, kernel.personality.name, transport, cgroups)._asdict()).encode()
    return None
