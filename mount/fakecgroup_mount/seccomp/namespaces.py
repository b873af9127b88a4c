"""Work in other namespaces than our own (setns(2))."""

from __future__ import annotations

import os
from collections.abc import Callable
from errno import EIO

from fakecgroup_mount.seccomp import syscalls


class UserAndMountNamespaces:
    """The user and mount namespace of a thread, held open until `close`. Raises OSError: no such thread."""

    def __init__(self, tid: int) -> None:
        users = os.open(f"/proc/{tid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
        try:
            self.descriptors = users, os.open(f"/proc/{tid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            os.close(users)
            raise

    @classmethod
    def from_descriptors(cls, users: int, mounts: int) -> UserAndMountNamespaces:
        """The namespaces behind two descriptors, which this object owns from now on."""
        made = cls.__new__(cls)
        made.descriptors = users, mounts
        return made

    def close(self) -> None:
        for fd in self.descriptors:
            os.close(fd)

    def do(self, work: Callable[[], object]) -> int:
        """Does `work` in a child in these namespaces. Returns 0, or the errno of its OSError.

        It takes a child because a process with threads cannot change its user namespace.
        """
        pid = os.fork()
        if pid == 0:
            code = EIO
            try:
                self.enter()
                work()
                code = 0
            except OSError as error:
                code = error.errno or EIO
            finally:
                os._exit(code)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def enter(self) -> None:
        """Moves this process, which must have one thread, into the namespaces. No process there can trace it or reach
        its old namespaces through it (ptrace(2), access mode checking). Raises OSError.
        """
        users, mounts = self.descriptors
        syscalls.forbid_tracing()
        if os.stat("/proc/self/ns/user").st_ino != os.fstat(users).st_ino:
            syscalls.set_namespace(users, syscalls.CLONE_NEWUSER)
        syscalls.set_namespace(mounts, syscalls.CLONE_NEWNS)
        syscalls.forbid_tracing()  # a change of ids may have allowed it again
