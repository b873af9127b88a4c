"""access(2), faccessat(2), faccessat2(2): of the directory and the files of a simulated process in /proc."""

from __future__ import annotations

import os
from errno import EACCES, EPERM

from fakecgroup_mount.calls.simulated_files import SimulatedFiles
from fakecgroup_mount.seccomp import syscalls
from fakecgroup_mount.seccomp.listener import CONTINUE, Answer, Call, Later
from fakecgroup_mount.seccomp.process import signed

_MODES = os.R_OK | os.W_OK | os.X_OK
_EACCESS = 0x200  # AT_EACCESS
_FLAGS = _EACCESS | 0x100 | 0x1000  # and AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH


class AccessCalls:
    """The kernel itself answers wrong arguments, and for all other files."""

    def __init__(self, files: SimulatedFiles) -> None:
        self._files = files

    def access(self, call: Call) -> Answer | Later:
        """access(2)."""
        return self._access(call, syscalls.AT_FDCWD, call.arguments[0], call.arguments[1])

    def faccessat(self, call: Call) -> Answer | Later:
        """faccessat(2), which has no flags."""
        return self._access(call, signed(call.arguments[0]), call.arguments[1], call.arguments[2])

    def faccessat2(self, call: Call) -> Answer | Later:
        """faccessat2(2)."""
        flags = call.arguments[3] & 0xFFFFFFFF
        return self._access(call, signed(call.arguments[0]), call.arguments[1], call.arguments[2], flags)

    def _access(self, call: Call, fd: int, address: int, mode: int, flags: int = 0) -> Answer | Later:
        mode &= 0xFFFFFFFF
        if not self._files.begun or mode & ~_MODES or flags & ~_FLAGS:
            return CONTINUE
        try:
            path = call.memory.read_text(call.tid, address)
        except OSError:
            return CONTINUE
        if not self._files.may_be_of_task(path):
            return CONTINUE
        return Later(lambda call: self._answer(call, fd, path, mode, flags))

    def _answer(self, call: Call, fd: int, path: bytes, mode: int, flags: int) -> Answer:
        try:
            found = self._files.find_any(call.tid, fd, path)
            if found is None:
                return CONTINUE
            if not found[0] and mode & os.W_OK:
                return -EPERM  # the directory is immutable
            allowed = self._files.allows(call.tid, found[0], mode, real_ids=not flags & _EACCESS)
        except OSError:
            return CONTINUE
        return 0 if allowed else -EACCES
