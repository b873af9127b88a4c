"""v1's cgroup.event_control: eventfds for events in a group (mm/memcontrol.c)."""

from __future__ import annotations

from collections.abc import Callable
from errno import EBADF, EINVAL
from functools import partial
from typing import TYPE_CHECKING

from ...core.cftype import PAGE_SIZE
from ...core.cgroup_file import CgroupFile
from ...credentials.caller import EventFd
from ...credentials.permission import MAY_READ, require
from ...kernfs.inode import Inode
from ...parse import strstrip
from ...parse.digits import digits
from ...refuse import refuse
from .css import Memory, parse_pages
from .pressure_level import listener
from .watermark import Threshold

if TYPE_CHECKING:
    from ...core.file_context import FileContext
    from ...credentials.caller import Caller


def write_event_control(css: Memory, text: str, of: FileContext, writer: Caller) -> None:
    """Take `EVENT_FD CONTROL_FD [ARGS]`, both descriptors of the writer (memcg_write_event_control).

    The removal of the group signals the eventfd, too. Raises EINVAL for any other text, then EBADF and EINVAL for the
    first descriptor, EBADF, EACCES without read permission and EINVAL for the second, EINVAL for the arguments.
    """
    text = strstrip(text)
    event_fd, rest = _descriptor(text)
    if rest[:1] != " ":
        raise refuse(EINVAL)
    control_fd, rest = _descriptor(rest[1:])
    if rest[:1] not in ("", " "):
        raise refuse(EINVAL)
    event = writer.files(event_fd)
    if not isinstance(event, EventFd):
        raise refuse(EBADF if event is None else EINVAL)
    control = writer.files(control_fd)
    if control is None:
        raise refuse(EBADF)
    if isinstance(control, Inode):
        require(control, MAY_READ, writer)
    register = _REGISTER.get(control.row.name) if isinstance(control, CgroupFile) else None
    if register is None or not isinstance(control, CgroupFile) or control.cgroup is not css.cgroup:
        raise refuse(EINVAL)
    register(css, rest[1:], event)
    css.event_fds = (*css.event_fds, event)


def _descriptor(text: str) -> tuple[int, str]:
    """The number at the start, 0 if there is none, and the text that follows (simple_strtoul)."""
    value, count = digits(text, 10)
    return value & 0xFFFFFFFF, text[count:]


def _register_threshold(css: Memory, args: str, event: EventFd, *, memsw: bool = False) -> None:
    """Take a size (__mem_cgroup_usage_register_event). A threshold of memsw counts what is in swap, too."""
    if args != strstrip(args):
        raise refuse(EINVAL)
    limit = parse_pages(args, "-1", css.kernel) * PAGE_SIZE
    usage = css.bytes_and_swap() if memsw else css.bytes_used()
    css.thresholds = (*css.thresholds, Threshold(limit, event, usage, memsw=memsw))
    css.cgroup.hierarchy.membership.await_memory(css)


def _register_oom(css: Memory, args: str, event: EventFd) -> None:
    """Take any arguments. The event is out of memory in this group or one above it."""
    css.oom_event_fds = (*css.oom_event_fds, event)


def _register_pressure(css: Memory, args: str, event: EventFd) -> None:
    """Take `low`, `medium` or `critical`, with an optional comma and mode (vmpressure_register_event)."""
    wanted = listener(args, event)
    if wanted is None:
        raise refuse(EINVAL)
    css.pressure_listeners = (*css.pressure_listeners, wanted)


_REGISTER: dict[str, Callable[[Memory, str, EventFd], None]] = {
    "memory.usage_in_bytes": _register_threshold,
    "memory.memsw.usage_in_bytes": partial(_register_threshold, memsw=True),
    "memory.oom_control": _register_oom,
    "memory.pressure_level": _register_pressure,
}
