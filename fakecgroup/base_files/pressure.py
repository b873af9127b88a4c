"""Pressure stall information (kernel/sched/psi.c): how long tasks of a cgroup stalled, and triggers on open files."""

from __future__ import annotations

from errno import EBUSY, EINVAL
from select import POLLERR, POLLPRI
from typing import TYPE_CHECKING

from ..credentials.capability import Capability
from ..parse import scan_decimal
from ..refuse import refuse

if TYPE_CHECKING:
    from ..core.cgroup import Cgroup
    from ..core.file_context import FileContext
    from ..credentials.caller import Caller

_IDLE = " avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
_U32 = 1 << 32
_WINDOW_MIN = 500_000  # µs, before 6.5
_WINDOW_MAX = 10_000_000  # µs
_WINDOW_UNPRIVILEGED = 2_000_000  # µs; unprivileged windows are multiples of it, the averages' interval


def _has_full_cpu(cgroup: Cgroup) -> bool:
    return cgroup.hierarchy.personality.at_least(5, 13)


def show_memory_pressure(cgroup: Cgroup) -> str:
    """The lines `some` and `full`: averages in percent, total in µs."""
    return "".join(_lines(cgroup, "memory"))


def show_io_pressure(cgroup: Cgroup) -> str:
    """As `show_memory_pressure`."""
    return "".join(_lines(cgroup, "io"))


def show_cpu_pressure(cgroup: Cgroup) -> str:
    """As `show_memory_pressure`; before 5.13 cpu.pressure has no `full` line."""
    some, full = _lines(cgroup, "cpu")
    return some + full if _has_full_cpu(cgroup) else some


def _lines(cgroup: Cgroup, resource: str) -> list[str]:
    stalls = cgroup.stalls.get(resource)
    return [f"some{_IDLE}", f"full{_IDLE}"] if stalls is None else stalls.lines(cgroup.hierarchy.now())


def write_pressure(cgroup: Cgroup, text: str, of: FileContext, writer: Caller) -> None:
    """Set a trigger `some|full THRESHOLD WINDOW`, both in µs and cut to 32 bits (psi_trigger_create).

    Raises EBUSY for a second trigger on one open file, EINVAL for anything else. A trigger never fires: nothing stalls.
    """
    if of.trigger:
        raise refuse(EBUSY)
    kernel = cgroup.hierarchy.personality
    kind, rest = text[:4], text[4:]
    if kind not in ("some", "full"):
        raise refuse(EINVAL)
    threshold, rest = scan_decimal(rest, saturate=kernel.saturates)
    window = scan_decimal(rest, saturate=kernel.saturates)[0]
    if threshold is None or window is None:
        raise refuse(EINVAL)
    threshold, window = threshold % _U32, window % _U32
    shortest = 1 if kernel.at_least(6, 5) else _WINDOW_MIN
    if not shortest <= window <= _WINDOW_MAX or not 0 < threshold <= window:
        raise refuse(EINVAL)
    if kernel.at_least(6, 1) and window % _WINDOW_UNPRIVILEGED and not _may_hurry(of):
        raise refuse(EINVAL)
    of.set_trigger()


def _may_hurry(of: FileContext) -> bool:
    """True if the file was opened with CAP_SYS_RESOURCE, in any user namespace (psi_trigger_create)."""
    return bool(of.opener.privileges().effective & Capability.SYS_RESOURCE)


def write_cpu_pressure(cgroup: Cgroup, text: str, of: FileContext, writer: Caller) -> None:
    """As `write_pressure`. Before 5.13 a `full` trigger is EINVAL."""
    if text.startswith("full") and not of.trigger and not _has_full_cpu(cgroup):
        raise refuse(EINVAL)
    write_pressure(cgroup, text, of, writer)


def poll_pressure(of: FileContext) -> int:
    """The poll events beside POLLIN and POLLOUT: without a trigger always an error (psi_trigger_poll)."""
    return 0 if of.trigger else POLLERR | POLLPRI
