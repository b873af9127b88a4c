"""Utilization clamps in percent with two decimals (kernel/sched/core.c, capacity_from_percent)."""

from __future__ import annotations

from errno import EINVAL, ERANGE

from ...core.cftype import CFType, Where
from ...machine.personality import Personality
from ...parse import strstrip
from ...parse.digits import U64, digits
from ...parse.space import SPACES
from ...refuse import refuse
from .css import CLAMP_MAX, Cpu

_CAPACITY = 1024


def _signed(text: str, saturate: bool) -> tuple[int, int] | None:
    """`%lld`: the value and how many characters it took, leading white space included."""
    start = len(text) - len(text.lstrip(SPACES))
    negative = text[start : start + 1] == "-"
    value, count = digits(text[start + negative :], 10)
    if not count:
        return None
    value = min(value, U64 - 1) if saturate else value % U64
    return (-value if negative else value), start + negative + count


def _parse_percent(text: str, kernel: Personality) -> int:
    """Hundredths of a percent, of `max` or a decimal number; trailing text is ignored (cgroup_parse_float).

    Raises EINVAL for text without a number, ERANGE beyond 0..100.
    """
    text = strstrip(text)
    if text == "max":
        return CLAMP_MAX
    whole = _signed(text, kernel.saturates)
    if whole is None:
        raise refuse(EINVAL)
    fraction, length = 0, 0
    if text[whole[1] : whole[1] + 1] == ".":
        found = _signed(text[whole[1] + 1 :], kernel.saturates)
        fraction, length = found if found is not None else (0, 0)
    if fraction < 0:
        raise refuse(EINVAL)
    scale: int = 10 ** abs(2 - length)
    hundredths = fraction * scale if length < 2 else (fraction + scale // 2) // scale
    percent = (whole[0] * 100 + hundredths) % U64
    if percent > CLAMP_MAX:
        raise refuse(ERANGE)
    return percent


def _show_percent(percent: int) -> str:
    """A clamp as its file shows it: `max` if it rounds to the whole capacity."""
    capacity = (percent * _CAPACITY + CLAMP_MAX // 2) // CLAMP_MAX
    return "max\n" if capacity == _CAPACITY else f"{percent // 100}.{percent % 100:02}\n"


def show_min(css: Cpu) -> str:
    return _show_percent(css.uclamp_min)


def write_min(css: Cpu, text: str) -> None:
    css.uclamp_min = _parse_percent(text, css.kernel)


def show_max(css: Cpu) -> str:
    return _show_percent(css.uclamp_max)


def write_max(css: Cpu, text: str) -> None:
    css.uclamp_max = _parse_percent(text, css.kernel)


FILES = (
    CFType("cpu.uclamp.min", Where.CHILD, config="UCLAMP_TASK_GROUP", show=show_min, write=write_min),
    CFType("cpu.uclamp.max", Where.CHILD, config="UCLAMP_TASK_GROUP", show=show_max, write=write_max),
)
