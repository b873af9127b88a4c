"""Pressure stall information (kernel/sched/psi.c): how long tasks of a cgroup stalled, and triggers on open files."""

from __future__ import annotations

from errno import EBUSY, EINVAL
from select import POLLERR, POLLPRI
from typing import TYPE_CHECKING
from weakref import ref

from ..credentials.capability import Capability
from ..parse import scan_decimal
from ..refuse import refuse

if TYPE_CHECKING:
    from ..core.cgroup import Cgroup
    from ..core.file_context import FileContext
    from ..credentials.caller import Caller
    from ..effects.stalls import Stalls

_HZ = 250  # of Debian's kernels
_IDLE = " avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
_U32 = 1 << 32
_USEC = 1000  # ns
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


def _stalls(cgroup: Cgroup, resource: str) -> Stalls | None:
    """How long tasks stalled until now; None if they never did."""
    membership = cgroup.hierarchy.membership
    for counting in (membership.simulated, membership.enforcer):
        if counting is not None:
            counting.count_stalls()
    return cgroup.stalls.get(resource)


def _lines(cgroup: Cgroup, resource: str) -> list[str]:
    stalls = _stalls(cgroup, resource)
    return [f"some{_IDLE}", f"full{_IDLE}"] if stalls is None else stalls.lines(cgroup.hierarchy.now())


def totals(cgroup: Cgroup, resource: str) -> dict[str, int]:
    """ns of `some` and of `full` so far."""
    stalls = _stalls(cgroup, resource)
    return {"some": 0, "full": 0} if stalls is None else {"some": round(stalls.some), "full": round(stalls.full)}


def recall_pressure(resource: str, cgroup: Cgroup, text: str) -> None:
    """Begin with the stalls that a file has shown. Averages decay from there."""
    from ..effects.pressure_averages import interval  # these take a while to load
    from ..effects.stalls import Stalls

    cgroup.stalls = {**cgroup.stalls, resource: Stalls.recalled(text, cgroup.hierarchy.now(), interval(_HZ))}


def write_memory_pressure(cgroup: Cgroup, text: str, of: FileContext, writer: Caller) -> None:
    """Set a trigger (`_set_trigger`)."""
    _set_trigger(cgroup, "memory", text, of)


def write_io_pressure(cgroup: Cgroup, text: str, of: FileContext, writer: Caller) -> None:
    """Set a trigger (`_set_trigger`)."""
    _set_trigger(cgroup, "io", text, of)


def _set_trigger(cgroup: Cgroup, resource: str, text: str, of: FileContext) -> None:
    """Set a trigger `some|full THRESHOLD WINDOW`, both in µs and cut to 32 bits (psi_trigger_create).

    Raises EBUSY for a second trigger on one open file, EINVAL for anything else. A trigger fires for simulated
    processes, and for real ones whose limits are enforced: others do not stall.
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
    from ..effects.pressure_trigger import PressureTrigger, Window  # takes a while to load

    privileged = not kernel.at_least(6, 1) or _may_hurry(of)
    if window % _WINDOW_UNPRIVILEGED and not privileged:
        raise refuse(EINVAL)
    trigger = PressureTrigger(
        kind, threshold * _USEC, Window(window * _USEC), privileged=privileged, remembers=kernel.at_least(6, 1)
    )
    trigger.window.reset(cgroup.hierarchy.now(), totals(cgroup, resource)[kind])
    of.set_trigger(trigger)
    cgroup.hierarchy.membership.triggers.append(ref(of))


def _may_hurry(of: FileContext) -> bool:
    """True if the file was opened with CAP_SYS_RESOURCE, in any user namespace (psi_trigger_create)."""
    return bool(of.opener.privileges().effective & Capability.SYS_RESOURCE)


def write_cpu_pressure(cgroup: Cgroup, text: str, of: FileContext, writer: Caller) -> None:
    """Set a trigger (`_set_trigger`). Before 5.13 a `full` trigger is EINVAL."""
    if text.startswith("full") and not of.trigger and not _has_full_cpu(cgroup):
        raise refuse(EINVAL)
    _set_trigger(cgroup, "cpu", text, of)


def poll_pressure(of: FileContext) -> int:
    """The poll events beside POLLIN and POLLOUT: without a trigger always an error (psi_trigger_poll).

    An event of the trigger is told of once.
    """
    if of.trigger is None:
        return POLLERR | POLLPRI
    event, of.trigger.event = of.trigger.event, False
    return POLLPRI if event else 0
