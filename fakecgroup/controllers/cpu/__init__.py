"""The cpu controller: share of the CPU, CFS and real-time bandwidth, utilization clamps (kernel/sched/core.c)."""

from ...core.css import Controller
from . import bandwidth, clamp, realtime, stat, weight
from .css import Cpu

CPU = Controller(
    "cpu",
    Cpu,
    dfl_base=stat.DFL_BASE,
    dfl=(*weight.DFL, *bandwidth.DFL, *clamp.FILES),
    legacy=(*weight.LEGACY, *bandwidth.LEGACY, *realtime.LEGACY, *stat.LEGACY, *clamp.FILES),
    threaded=True,
)
