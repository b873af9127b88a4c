"""The bfq scheduler's files on v1, in kernels that have it built in (block/bfq-cgroup.c). No disk uses it."""

from __future__ import annotations

from errno import EOPNOTSUPP, ERANGE

from ...core.cftype import CFType, Where
from ...parse import scan_decimal, scan_word, strstrip
from ...parse.digits import digits, radix
from ...refuse import refuse
from .css import Io

_CONFIG = "BFQ_GROUP_IOSCHED"
_MIN, _MAX = 1, 1000


def show_counters(css: Io) -> str:
    return "Total 0\n"


def read_weight(css: Io) -> int:
    return css.bfq_weight


def write_weight(css: Io, value: int) -> None:
    """Take 1..1000 (bfq_io_set_weight_legacy). Raises ERANGE."""
    if not _MIN <= value <= _MAX:
        raise refuse(ERANGE)
    css.bfq_weight = value


def show_weights(css: Io) -> str:
    return f"default {css.bfq_weight}\n"


def write_weights(css: Io, text: str) -> None:
    """Take `WEIGHT`, or `default WEIGHT` in decimal (bfq_io_set_weight).

    Raises ERANGE for the weight; for any other text EINVAL, ENODEV for the disk, then EOPNOTSUPP.
    """
    text = strstrip(text)
    base, skip = radix(text)
    value, length = digits(text[skip:], base)
    if skip + length == len(text):
        write_weight(css, value)
        return
    word, rest = scan_word(text, len("default"))
    default = scan_decimal(rest, saturate=css.kernel.saturates)[0] if word == "default" else None
    if default is not None:
        write_weight(css, default)
        return
    css.open_disk(text)
    raise refuse(EOPNOTSUPP)


LEGACY = (
    CFType("blkio.bfq.weight", Where.CHILD, config=_CONFIG, read_u64=read_weight, write_u64=write_weight),
    CFType("blkio.bfq.weight_device", Where.CHILD, config=_CONFIG, show=show_weights, write=write_weights),
    CFType("blkio.bfq.io_service_bytes", config=_CONFIG, show=show_counters, counts=True),
    CFType("blkio.bfq.io_serviced", config=_CONFIG, show=show_counters, counts=True),
    CFType("blkio.bfq.io_service_bytes_recursive", config=_CONFIG, show=show_counters, counts=True),
    CFType("blkio.bfq.io_serviced_recursive", config=_CONFIG, show=show_counters, counts=True),
)
