"""The cpu controller: share of the CPU, CFS and real-time bandwidth, utilization clamps (kernel/sched/core.c)."""

from ...core.cftype import CFType
from ...core.css import Controller
from .css import Cpu


def _dfl_base() -> tuple[CFType, ...]:
    from .stat import DFL_BASE

    return DFL_BASE


def _dfl() -> tuple[CFType, ...]:
    from . import bandwidth, clamp, weight

    return (*weight.DFL, *bandwidth.DFL, *clamp.FILES)


def _legacy() -> tuple[CFType, ...]:
    from . import bandwidth, clamp, realtime, stat, weight

    return (*weight.LEGACY, *bandwidth.LEGACY, *realtime.LEGACY, *stat.LEGACY, *clamp.FILES)


CPU = Controller("cpu", Cpu, dfl_base=_dfl_base, dfl=_dfl, legacy=_legacy, threaded=True)
