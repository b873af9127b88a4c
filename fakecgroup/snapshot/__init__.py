"""Snapshots of trees of cgroups: a node's or a fake's, as one file, and as a model again.

`content` is what a snapshot has. `of_kernel` takes one of a model; `lines` writes and reads the file, `talos` reads
Talos's archive. `played` chooses the kernel, `by_files` makes the tree from what its files have shown, with `stand_ins`
for its processes; `by_state` makes that of a fake from its own `state`. `compare` says where two snapshots differ,
`redact` takes the names out, `as_page` shows one in a browser.

Everything here is pure, but for `files`.
"""

from .compare import Difference, compare
from .content import SeenProcess, Snapshot, told_of
from .errors import SnapshotError
from .files import read_snapshot, redacted, write_snapshot
from .of_kernel import of_kernel
from .restore import restore

__all__ = [
    "Difference",
    "SeenProcess",
    "Snapshot",
    "SnapshotError",
    "compare",
    "of_kernel",
    "read_snapshot",
    "redacted",
    "restore",
    "told_of",
    "write_snapshot",
]
