"""The rdma controller (kernel/cgroup/rdma.c) on a machine without RDMA devices: every file is empty."""

from __future__ import annotations

import re
from errno import EINVAL, ENODEV
from typing import TYPE_CHECKING

from ..core.cftype import CFType, Where
from ..core.css import Controller, Css
from ..parse import strstrip
from ..parse.digits import U64, digits, radix
from ..refuse import refuse

if TYPE_CHECKING:
    from ..machine.personality import Personality

_RESOURCES = ("hca_handle", "hca_object")
_INT_MAX = 0x7FFFFFFF
_NUMBER_LENGTH = 24  # characters, the kernel's NUMBER_BUF_LEN


def show_devices(css: Css) -> str:
    return ""


def write_max(css: Css, text: str) -> None:
    """Refuse `DEVICE RESOURCE=COUNT|max ...` with ENODEV, any other text with EINVAL (rdmacg_resource_set_max)."""
    _, _, options = strstrip(text).partition(" ")
    if css.kernel.at_least(7, 2):
        tokens = [token for token in re.split(r"[ \t\n]", options) if token]
    else:
        tokens = options.split(" ") if options else []
    for token in tokens:
        name, sign, value = token.partition("=")
        if name not in _RESOURCES or not sign or not _is_limit(value, css.kernel):
            raise refuse(EINVAL)
    raise refuse(ENODEV)


def _is_limit(text: str, kernel: Personality) -> bool:
    """True for a number from 0 to 2^31 - 1 and for `max` (parse_resource, match_int).

    Before 7.2 also for a number with text after it, and for the beginning of `max`.
    """
    exact = kernel.at_least(7, 2)
    if text == "max" or (not exact and "max".startswith(text)):
        return True
    if kernel.at_least(6, 3) and len(text) >= _NUMBER_LENGTH:
        return False
    unsigned = text[1:] if text[:1] == "-" else text
    base, prefix = radix(unsigned)
    value, count = digits(unsigned[prefix:], base)
    if unsigned is text and not count:
        return False
    if exact and unsigned[prefix + count :]:
        return False
    value = min(value, U64 - 1) if exact else value % U64
    return (value if unsigned is text else -value % U64) <= _INT_MAX


_FILES = (
    CFType("rdma.max", Where.CHILD, show=show_devices, write=write_max),
    CFType("rdma.current", Where.CHILD, show=show_devices, counts=True),
    CFType("rdma.peak", Where.CHILD, since=(7, 2), show=show_devices, counts=True),
    CFType("rdma.events", Where.CHILD, since=(7, 2), show=show_devices, counts=True),
    CFType("rdma.events.local", Where.CHILD, since=(7, 2), show=show_devices, counts=True),
)

RDMA = Controller("rdma", Css, dfl=_FILES, legacy=_FILES, config="CGROUP_RDMA")
