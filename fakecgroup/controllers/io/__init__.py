"""The io controller, called blkio on v1: one css, the files of the unified hierarchy and those of v1.

Nothing is read or written in a fake cgroup. Limits and weights are kept; counters show an idle disk. Debian's kernels
lack the policies of io.latency and io.prio.class, and have bfq only as a module.
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
