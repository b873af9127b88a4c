"""The io controller, blkio on v1: one css, the files of the unified hierarchy and those of v1.

Nothing is read or written in a fake cgroup: limits and weights are kept, counters stay as they are on an idle disk.
io.latency and io.prio.class belong to policies that Debian leaves out, bfq is a module there.
"""

from ...core.css import Controller
from . import bfq, iocost, stat, throttle
from .css import Io

IO = Controller(
    "io",
    Io,
    dfl=(*stat.DFL, *throttle.DFL, *iocost.DFL),
    legacy=(*stat.LEGACY, *throttle.LEGACY, *bfq.LEGACY),
    depends_on=("memory",),
    legacy_name="blkio",
)
