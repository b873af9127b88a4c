"""Pressure stall information (kernel/sched/psi.c): an idle cgroup, and triggers per open file."""

from __future__ import annotations

from errno import EBUSY, EINVAL
from typing import TYPE_CHECKING

from ..parse import scan_decimal
from ..refuse import refuse

if TYPE_CHECKING:
    from ..caller import Caller
    from ..cgroup import Cgroup
    from ..openfile import OpenFile

_IDLE = " avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
_WINDOW_MAX = 10_000_000  # µs
_WINDOW_UNPRIVILEGED = 2_000_000  # µs; an unprivileged trigger must run on the averages' clock


def show_pressure(cgroup: Cgroup) -> str:
    """`some` and `full`, in percent and µs."""
    return f"some{_IDLE}full{_IDLE}"


def show_cpu_pressure(cgroup: Cgroup) -> str:
    """As `show_pressure`; before 5.13 cpu.pressure has no `full` line."""
    return show_pressure(cgroup) if cgroup.hierarchy.personality.at_least(5, 13) else f"some{_IDLE}"


def write_pressure(cgroup: Cgroup, text: str, of: OpenFile, writer: Caller) -> None:
    """A trigger `some|full THRESHOLD WINDOW`, both µs (psi_trigger_create).

    Raises EBUSY for a second trigger on one open file, else EINVAL. The trigger never fires: nothing stalls here.
    """
    if of.trigger:
        raise refuse(EBUSY)
    kind, rest = text[:4], text[4:]
    threshold, rest = scan_decimal(rest) if kind in ("some", "full") else (None, "")
    window = scan_decimal(rest)[0] if threshold is not None else None
    if threshold is None or window is None:
        raise refuse(EINVAL)
    if not of.opener.privileged and window % _WINDOW_UNPRIVILEGED:
        raise refuse(EINVAL)
    if not 0 < window <= _WINDOW_MAX or not 0 < threshold <= window:
        raise refuse(EINVAL)
    of.trigger = True
