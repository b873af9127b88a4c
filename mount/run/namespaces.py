"""What is done in other namespaces than our own (setns(2))."""

from __future__ import annotations

import os
from collections.abc import Callable
from errno import EIO

from . import syscalls


class Namespaces:
    """The user namespace and the mount namespace of a thread, which are held open. Raises OSError: no such thread."""

    def __init__(self, tid: int) -> None:
        self._users = os.open(f"/proc/{tid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
        try:
            self._mounts = os.open(f"/proc/{tid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            os.close(self._users)
            raise

    def close(self) -> None:
        os.close(self._users)
        os.close(self._mounts)

    def do(self, work: Callable[[], object]) -> int:
        """Does it there; returns an errno.

        A child of ours does it, as a process with threads cannot change its user namespace.
        """
        pid = os.fork()
        if pid == 0:
            code = EIO
            try:
                self._join()
                work()
                code = 0
            except OSError as error:
                code = error.errno or EIO
            finally:
                os._exit(code)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def _join(self) -> None:
        if os.stat("/proc/self/ns/user").st_ino != os.fstat(self._users).st_ino:
            syscalls.set_namespace(self._users, syscalls.CLONE_NEWUSER)
        syscalls.set_namespace(self._mounts, syscalls.CLONE_NEWNS)
