"""A user namespace is made as `fakecgroup run` makes one, in a child process, and mounts are tried in it."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path
from typing import NoReturn

from fakecgroup.named_tuple import NamedTuple
from fakecgroup_mount.errors import MountError
from fakecgroup_mount.fuse import fuse_mount
from fakecgroup_mount.host.mountinfo import FSTYPE, SOURCE
from fakecgroup_mount.run import sandbox
from fakecgroup_mount.run.id_maps import write_outer_maps
from fakecgroup_mount.run.userns_hints import hint
from fakecgroup_mount.seccomp import syscalls

_MADE, _MAPPED, _DONE = b"u", b"m", b"+"
_PATIENCE = 30.0  # seconds for each step, on a busy machine
_LONGEST = 4096  # bytes of a message
_MS_REC, _MS_SLAVE = 16384, 1 << 19


class Trial(NamedTuple):
    """What was refused at each step, None for nothing, and how many uids the namespace has."""

    refused_to_make: str | None = None
    refused_to_map: str | None = None
    refused_to_mount: str | None = None
    ids: int = 0


def try_namespace(directory: str) -> Trial:
    """Makes the namespace, maps its ids, and mounts at the directory, which nobody else sees."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours:
        with theirs:
            pid = os.fork()
            if pid == 0:
                _child(theirs, directory)
        ours.settimeout(_PATIENCE)
        try:
            return _watched(ours, pid)
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _watched(child: socket.socket, pid: int) -> Trial:
    said = _heard(child)
    if said != _MADE:
        return Trial(refused_to_make=said.decode(errors="replace"))
    try:
        write_outer_maps(pid)
        lines = Path(f"/proc/{pid}/uid_map").read_text().splitlines()
    except MountError as error:
        return Trial(refused_to_map=str(error))
    ids = sum(int(line.split()[2]) for line in lines)
    child.sendall(_MAPPED)
    said = _heard(child)
    return Trial(refused_to_mount=None if said == _DONE else said.decode(errors="replace"), ids=ids)


def _heard(child: socket.socket) -> bytes:
    try:
        return child.recv(_LONGEST) or b"the trial ended without a word"
    except TimeoutError:
        return b"the trial did not end"


def _child(parent: socket.socket, directory: str) -> NoReturn:
    try:
        sandbox.unshare(syscalls.CLONE_NEWUSER | syscalls.CLONE_NEWNS)
        parent.sendall(_MADE)
        if parent.recv(1) == _MAPPED:
            _mount(directory)
            parent.sendall(_DONE)
        signal.pause()  # to be killed: who is gone has no map to be read
    except MountError as error:
        parent.sendall(str(error).encode())
    except OSError as error:
        why = hint("a container's security module may forbid it (Docker: --security-opt apparmor=unconfined)")
        parent.sendall(f"cannot mount: {error.strerror}: {why}".encode())
    finally:
        os._exit(1)


def _mount(directory: str) -> None:
    """Raises MountError or OSError."""
    syscalls.mount(None, "/", None, _MS_REC | _MS_SLAVE)
    syscalls.mount("tmpfs", directory, "tmpfs", 0, "size=4k")
    device = fuse_mount.open_device()
    options = f"fd={device},rootmode=40000,user_id={os.geteuid()},group_id={os.getegid()}"
    syscalls.mount(SOURCE, directory, FSTYPE, 0, options)
