"""What is done in other namespaces than our own (setns(2))."""

from __future__ import annotations

import os
from collections.abc import Callable
from errno import EIO

from fakecgroup_mount.seccomp import syscalls


class UserAndMountNamespaces:
    """The user namespace and the mount namespace of a thread, which are held open. Raises OSError: no such thread."""

    def __init__(self, tid: int) -> None:
        users = os.open(f"/proc/{tid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
        try:
            self.descriptors = users, os.open(f"/proc/{tid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            os.close(users)
            raise

    @classmethod
    def from_descriptors(cls, users: int, mounts: int) -> UserAndMountNamespaces:
        """Those that two descriptors are of, which are ours from now on."""
        made = cls.__new__(cls)
        made.descriptors = users, mounts
        return made

    def close(self) -> None:
        for fd in self.descriptors:
            os.close(fd)

    def do(self, work: Callable[[], object]) -> int:
        """Does it there; returns an errno.

        A child of ours does it, as a process with threads cannot change its user namespace.
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
        """Joins them, with a process that has one thread. Nobody there can reach into it, and through it to where it
        came from (ptrace(2), access mode checking). Raises OSError.
        """
        users, mounts = self.descriptors
        syscalls.forbid_tracing()
        if os.stat("/proc/self/ns/user").st_ino != os.fstat(users).st_ino:
            syscalls.set_namespace(users, syscalls.CLONE_NEWUSER)
        syscalls.set_namespace(mounts, syscalls.CLONE_NEWNS)
        syscalls.forbid_tracing()  # other ids may have allowed it
