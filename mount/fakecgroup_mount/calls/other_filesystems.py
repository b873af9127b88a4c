"""mount(2) and fsopen(2) of file systems other than cgroup ones.

A process in the caller's stead makes the call (`caller_process`), so that it is the one that was checked.
"""

from __future__ import annotations

import os
import re
from contextlib import ExitStack

from fakecgroup.named_tuple import NamedTuple
from fakecgroup_mount.calls.caller_process import run_as_caller
from fakecgroup_mount.calls.path_lookup import lookup, with_own_pid
from fakecgroup_mount.host.descriptors import duplicate
from fakecgroup_mount.seccomp import syscalls
from fakecgroup_mount.seccomp.listener import Answer, Call, Descriptor
from fakecgroup_mount.seccomp.process import thread_group

_DEVICE = re.compile(rb"(^|,)fd=([0-9]{1,9})(?=,|$)")  # /dev/fuse, open in the caller
_FSOPEN_CLOEXEC = 1
_WITH_PATHS = b"overlay"  # its options have paths that begin at the working directory


class Words(NamedTuple):
    """The texts that mount(2) is given."""

    source: bytes | None
    target: bytes
    kind: bytes
    data: bytes | None


def mount(call: Call, words: Words, flags: int) -> Answer:
    """Makes a new mount. Raises OSError."""
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

        run_as_caller(call, work, sees_pids=_shows_pids(words.kind), cwd=place if target == b"." else None)
    return 0


def fsopen(call: Call, kind: bytes, flags: int) -> Answer:
    """Opens a file system context of this kind. Raises OSError."""
    fd = run_as_caller(call, lambda: syscalls.syscall("fsopen", kind, flags), sees_pids=_shows_pids(kind))
    return Descriptor(fd, os.O_CLOEXEC if flags & _FSOPEN_CLOEXEC else 0)


def _shows_pids(kind: bytes) -> bool:
    """Whether a file system shows pids, or passes them on to its server as FUSE does."""
    return kind == b"proc" or kind.startswith(b"fuse")
