"""mount(2) and fsopen(2) of file systems that are none of cgroups: made in the caller's stead, of what was judged."""

from __future__ import annotations

import os
import re
from contextlib import ExitStack
from typing import NamedTuple

from fakecgroup_mount.calls.caller_process import run_as_caller
from fakecgroup_mount.calls.path_lookup import lookup, with_own_pid
from fakecgroup_mount.host.descriptors import duplicate
from fakecgroup_mount.seccomp import syscalls
from fakecgroup_mount.seccomp.listener import Answer, Call, Descriptor
from fakecgroup_mount.seccomp.process import thread_group

_DEVICE = re.compile(rb"(^|,)fd=([0-9]{1,9})(?=,|$)")  # of FUSE, open in the caller
_FSOPEN_CLOEXEC = 1
_WITH_PATHS = b"overlay"  # among its options, from the working directory on


class Words(NamedTuple):
    """The texts that mount(2) was given."""

    source: bytes | None
    target: bytes
    kind: bytes
    data: bytes | None


def mount(call: Call, words: Words, flags: int) -> Answer:
    """A new mount. Raises OSError."""
    data, found = words.data, _DEVICE.search(words.data or b"") if words.kind.startswith(b"fuse") else None
    with ExitStack() as held:
        place = lookup(call.tid, syscalls.AT_FDCWD, words.target)
        held.callback(os.close, place)
        if found is not None:
            device = duplicate(thread_group(call.tid), int(found[2]))
            held.callback(os.close, device)
            data = _DEVICE.sub(rb"\g<1>fd=%d" % device, words.data or b"", count=1)
        target = b"."
        if words.kind == _WITH_PATHS:
            target = with_own_pid(call.tid, syscalls.AT_FDCWD, words.target)

        def work() -> int:
            syscalls.mount_as_given(words.source, target, words.kind, flags, data)
            return -1

        run_as_caller(call, work, numbered=_is_numbered(words.kind), place=place if target == b"." else None)
    return 0


def fsopen(call: Call, kind: bytes, flags: int) -> Answer:
    """A file system context, which stays of this kind. Raises OSError."""
    fd = run_as_caller(call, lambda: syscalls.syscall("fsopen", kind, flags), numbered=_is_numbered(kind))
    return Descriptor(fd, os.O_CLOEXEC if flags & _FSOPEN_CLOEXEC else 0)


def _is_numbered(kind: bytes) -> bool:
    """Whether the file system shows processes by their numbers, or tells them to whoever serves it."""
    return kind == b"proc" or kind.startswith(b"fuse")
