"""The process that starts release agents; `agents` runs this file with a socket as its standard input.

A request is an agent's path, its argument and its rights (`agents._limits`), separated by NUL. The answer is empty, or
says why the agent was not started. The program's argument, if any, is the descriptor of the agents' mount namespace.
An agent starts as call_usermodehelper makes it: two environment variables, directory /, umask 022, no open file.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import socket
import struct
import sys

_ENVIRONMENT = {"HOME": "/", "PATH": "/sbin:/bin:/usr/sbin:/usr/bin"}  # cgroup1_release_agent
_CLONE_NEWNS = 0x00020000
_MESSAGE = 16384  # bytes: two paths
_FILES = 1024  # INR_OPEN_CUR, the kernel's default; the daemon's own limit is higher
_PR_CAPBSET_READ, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 23, 24, 38
_CAPABILITIES = struct.Struct("=IIIIII")  # two struct __user_cap_data_struct: effective, permitted, inheritable
_CAPABILITY_VERSION = 0x20080522
_LOW = 0xFFFFFFFF
_SHORT_OF = "it cannot be run with as little as whoever set it may do"


def main() -> None:
    if len(sys.argv) > 1:
        _enter(int(sys.argv[1]))
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for agents
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (_FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard), hard))
    os.chdir("/")
    os.umask(0o022)
    with socket.socket(fileno=0) as daemon:
        while message := daemon.recv(_MESSAGE):
            daemon.send(_started(*message.split(b"\0")))


def _enter(mounts: int) -> None:
    """Joins a mount namespace (setns(2)). Exits if that fails, so that no agent runs elsewhere."""
    libc = ctypes.CDLL(None)
    if libc.setns(mounts, _CLONE_NEWNS):
        sys.exit(1)
    os.close(mounts)


def _started(agent: bytes, argument: bytes, limits: bytes) -> bytes:
    """Starts an agent in a child. Returns why it could not, or nothing."""
    heard, said = os.pipe2(os.O_CLOEXEC)
    if os.fork() == 0:
        try:
            _become(*map(int, limits.split()))
            _forget()
            os.execve(agent, [agent, argument], _ENVIRONMENT)
        except OSError as error:
            os.write(said, (error.strerror or "it cannot be started").encode())
        finally:
            os._exit(1)
    os.close(said)
    with open(heard, "rb") as file:
        return file.read()


def _forget() -> None:
    """Leaves our session, open files and signal handlers."""
    os.setsid()
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    for fd in (0, 1, 2):
        os.close(fd)


def _become(uid: int, gid: int, held: int, bounding: int, no_new_privileges: int, *groups: int) -> None:
    """Takes the ids and drops all other capabilities and bounding set entries. Raises OSError if that is forbidden."""
    libc = ctypes.CDLL(None, use_errno=True)
    for number in range(64):
        if not bounding >> number & 1 and libc.prctl(_PR_CAPBSET_READ, number) == 1:
            _check(libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0))
    if not {*os.getgroups()} <= {gid, *groups}:
        os.setgroups(groups)
    if os.getresgid() != (gid, gid, gid):
        os.setresgid(gid, gid, gid)
    if os.getresuid() != (uid, uid, uid):
        os.setresuid(uid, uid, uid)
    head, found = struct.pack("=Ii", _CAPABILITY_VERSION, 0), ctypes.create_string_buffer(_CAPABILITIES.size)
    _check(libc.capget(head, found))
    effective, permitted, _, more_effective, more_permitted, _ = _CAPABILITIES.unpack(found.raw)
    low, high = held & _LOW, held >> 32
    halves = (effective & low, permitted & low, 0, more_effective & high, more_permitted & high, 0)
    _check(libc.capset(head, _CAPABILITIES.pack(*halves)))
    if no_new_privileges:
        _check(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))


def _check(result: int) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), _SHORT_OF)


if __name__ == "__main__":
    main()
