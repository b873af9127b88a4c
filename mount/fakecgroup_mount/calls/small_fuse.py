"""Requests and replies of the small FUSE file systems that stand for files of /proc and sysfs."""

from __future__ import annotations

import os
from collections.abc import Callable
from errno import EINTR, EIO, ENODEV, ENOENT

from fakecgroup_mount.fuse import wire
from fakecgroup_mount.host.log import Log

log = Log(__name__)


def received(fuse: int, buffer: bytearray) -> int | None:
    """Reads a request from /dev/fuse; its size, 0 if it was withdrawn, None at the end of the file system."""
    try:
        return os.readv(fuse, [buffer])
    except OSError as error:
        return 0 if error.errno in (ENOENT, EINTR) else None


def reply_of(answer: Callable[[], bytes], opcode: int, unique: int, node: int) -> bytes:
    """What `answer` replies to a request; the errno if it raises OSError, EIO and a line in the log if it fails."""
    try:
        return answer()
    except OSError as error:
        return wire.OUT_HEADER.pack(wire.OUT_SIZE, -(error.errno or EIO), unique)
    except Exception:
        log.exception("opcode %d, node %d", opcode, node)
        return wire.OUT_HEADER.pack(wire.OUT_SIZE, -EIO, unique)


def send(fuse: int, reply: bytes) -> None:
    """Sends a reply or notice, if there is one. That nobody waits for it any more is no error."""
    try:
        if reply:
            os.write(fuse, reply)
    except OSError as error:
        if error.errno not in (ENOENT, ENODEV):
            raise
