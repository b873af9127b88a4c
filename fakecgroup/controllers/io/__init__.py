"""The io controller, called blkio on v1: one css, the files of the unified hierarchy and those of v1.

Nothing is read or written in a fake cgroup. Limits and weights are kept; counters show an idle disk. Debian's kernels
lack the policies of io.latency and io.prio.class, and have bfq only as a module.
"""

from ...core.cftype import CFType
from ...core.css import Controller
from .css import Io


def _dfl() -> tuple[CFType, ...]:
    from . import iocost, stat, throttle

    return (*stat.DFL, *throttle.DFL, *iocost.DFL)


def _legacy() -> tuple[CFType, ...]:
    from . import bfq, stat, throttle

    return (*stat.LEGACY, *throttle.LEGACY, *bfq.LEGACY)


IO = Controller(
    "io",
    Io,
    dfl=_dfl,
    legacy=_legacy,
    depends_on=("memory",),
    legacy_name="blkio",
)
