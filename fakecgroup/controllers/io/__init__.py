"""The io controller, blkio on v1: one css, the files of the unified hierarchy and those of v1.

Nothing is read or written in a fake cgroup: limits and weights are kept, counters stay as they are on an idle disk.
io.latency, io.prio.class and io.bfq.weight belong to policies that Debian leaves out or builds as a module.
"""

from ...css import Controller
from . import iocost, stat, throttle
from .css import Io

IO = Controller(
    "io",
    Io,
    dfl=(*stat.DFL, *throttle.DFL, *iocost.DFL),
    legacy=(*stat.LEGACY, *throttle.LEGACY),
    depends_on=("memory",),
    legacy_name="blkio",
)
