"""Becomes the command: makes its namespaces, mounts the tree in them, installs the filter, executes the command.

There are two user and two mount namespaces. In the outer ones the machine's cgroup file systems are covered (`covers`);
the server is in these. The command is in the inner ones, where the covers cannot be unmounted.
"""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Mapping
from errno import ENOENT, ENOSPC
from typing import TYPE_CHECKING, NoReturn

from fakecgroup.named_tuple import NamedTuple
from fakecgroup_mount.calls.masked_cgroups import CGROUP_ROOT, mask
from fakecgroup_mount.errors import MountError
from fakecgroup_mount.fuse.fuse_mount import open_device
from fakecgroup_mount.host.daemon import log_path
from fakecgroup_mount.host.execute import execute
from fakecgroup_mount.host.mountinfo import FSTYPE, SOURCE, device_at
from fakecgroup_mount.host.shortage import explained
from fakecgroup_mount.run import inherited_files
from fakecgroup_mount.run.messages import LISTENER, MOUNTED, OUTER
from fakecgroup_mount.run.userns_hints import hint
from fakecgroup_mount.seccomp import syscalls
from fakecgroup_mount.seccomp.filter import install
from fakecgroup_mount.seccomp.namespaces import UserAndMountNamespaces

if TYPE_CHECKING:
    from fakecgroup.outside.sysfs import Directory


_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 1, 2, 4, 8
_MS_REMOUNT, _MS_BIND, _MS_REC, _MS_SLAVE = 32, 4096, 16384, 1 << 19
_FLAGS = _MS_NOSUID | _MS_NODEV | _MS_NOEXEC
_PR_SET_PDEATHSIG = 1


class Hierarchies(NamedTuple):
    """The contents of /sys/fs/cgroup for v1, as systemd makes them: directories to mount at, and links (name, target).

    Both are empty for v2, whose tree is mounted at /sys/fs/cgroup itself.
    """

    directories: tuple[str, ...] = ()
    links: tuple[tuple[str, str], ...] = ()


class Sandbox(NamedTuple):
    """The command and its sandbox."""

    hierarchies: Hierarchies
    filter: bytes
    command: list[str]
    mask: frozenset[int]
    """The signals that the command starts with blocked."""
    covers: Mapping[str, Directory] = {}
    """What the command sees at these paths instead of what is there."""
    served: tuple[str, ...] = ()
    """Directories that the server serves, instead of what is there."""
    cpus: frozenset[int] = frozenset()
    """The CPUs that the command runs on; empty for those that the front has."""


def enter(make_sandbox: Callable[[], Sandbox], front: socket.socket, server: socket.socket) -> NoReturn:
    """Becomes the command, in a child of the front.

    Messages, in this order:

        to front    "u": there is an outer user namespace
        from front  its ids are mapped
        to server   OUTER with the outer namespaces: there are inner ones
        from server the ids of the inner user namespace are mapped
        to server   MOUNTED with /dev/fuse and the root, for each file system: those of `served` directories, at last
                    the tree's
        to server   "+" with the listener
        to front    LISTENER with the listener and the inner namespaces
        from server the command may start
        to front    the text of an error, if one occurs before

    """
    try:
        sandbox = make_sandbox()
        _enter(sandbox, front, server)
    except BaseException as error:
        said = str(error) if isinstance(error, MountError) else explained(error) or f"{type(error).__name__}: {error}"
        if isinstance(error, ConnectionError):
            said = f"the daemon behind the tree has ended; see {log_path()}"
        try:
            front.sendall(said.encode())
        finally:  # even if the front is gone
            _end()
    os._exit(execute(sandbox.command, sandbox.mask, "fakecgroup run"))


def _end() -> NoReturn:
    """Ends this process, even with its filter installed and nobody to answer: exit_group(2) would wait for ever."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("SIGKILL cannot be caught")


def _enter(sandbox: Sandbox, front: socket.socket, server: socket.socket) -> None:
    parent = os.getppid()
    if sandbox.cpus:
        os.sched_setaffinity(0, sandbox.cpus)
    unshare(syscalls.CLONE_NEWUSER | syscalls.CLONE_NEWNS)
    _end_with(parent)
    front.sendall(b"u")
    if not front.recv(1):
        os._exit(1)  # the front reports what is wrong with the maps
    try:
        syscalls.mount(None, "/", None, _MS_REC | _MS_SLAVE)
        mask(CGROUP_ROOT, sandbox.covers)
        served = [_make_fuse(path, os.geteuid(), os.getegid(), "default_permissions") for path in sandbox.served]
        _go_below(server)
        for made in served:
            _hand_over(made, server)
        _end_with(parent)
        inherited_files.check({device_at(CGROUP_ROOT) or "", *(made.device for made in served)})
        _mount(sandbox.hierarchies, server)
    except OSError as error:
        if isinstance(error, ConnectionError) or explained(error):
            raise
        why = hint("a container's security module may forbid it (Docker: --security-opt apparmor=unconfined)")
        if error.errno == ENOENT:
            why = f"the tree goes to {CGROUP_ROOT}, so that must be there"
        raise MountError(f"cannot mount at {error.filename}: {error.strerror}: {why}") from None
    inner = UserAndMountNamespaces(os.getpid())
    listener = install(sandbox.filter)  # from here on until the server listens, no call may be one that is trapped
    socket.send_fds(front, [LISTENER], [listener, *inner.descriptors])
    socket.send_fds(server, [b"+"], [listener])
    inner.close()
    os.close(listener)
    if not server.recv(1):
        raise ConnectionResetError


def _end_with(parent: int) -> None:
    """Has the kernel kill this process with its parent, as nobody would answer its trapped calls then.

    A change of credentials cancels this (commit_creds).
    """
    syscalls.libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _go_below(server: socket.socket) -> None:
    """Enters the inner namespaces. They own the cgroup namespace, so that setns(2) to it works later."""
    outer = UserAndMountNamespaces(os.getpid())
    unshare(syscalls.CLONE_NEWUSER | syscalls.CLONE_NEWNS | syscalls.CLONE_NEWCGROUP)
    socket.send_fds(server, [OUTER.pack(os.getpid())], outer.descriptors)
    outer.close()
    if not server.recv(1):
        raise ConnectionResetError


def unshare(flags: int) -> None:
    try:
        syscalls.unshare(flags)
    except OSError as error:
        why = hint(
            "a chroot forbids it, and a container's seccomp profile may (Docker: --security-opt seccomp=unconfined)"
        )
        if error.errno == ENOSPC:
            name = f"user.max_{_exhausted(flags)}_namespaces"
            why = f"sysctl {name} is at its limit; as root: sysctl {name}=10000"
        raise MountError(f"cannot make a user namespace: {error.strerror}: {why}") from None


def _exhausted(flags: int) -> str:
    """The kind of namespace that is at its limit, of those in `flags`."""
    for name, flag in (
        ("user", syscalls.CLONE_NEWUSER),
        ("mnt", syscalls.CLONE_NEWNS),
        ("cgroup", syscalls.CLONE_NEWCGROUP),
    ):
        try:
            syscalls.unshare(flags & flag)
        except OSError:
            return name
    return "user"


def _mount(hierarchies: Hierarchies, server: socket.socket) -> None:
    """Mounts the tree at CGROUP_ROOT. For v1, mounts a tmpfs there and each hierarchy on a directory in it."""
    _mount_files(server)
    if not hierarchies.directories:
        _mount_fuse(CGROUP_ROOT, server)
        return
    syscalls.mount("tmpfs", CGROUP_ROOT, "tmpfs", _FLAGS, "mode=755")
    whole = f"{CGROUP_ROOT}/tree"
    os.mkdir(whole)
    _mount_fuse(whole, server)
    for name in hierarchies.directories:
        os.mkdir(f"{CGROUP_ROOT}/{name}", 0o755)
        syscalls.mount(f"{whole}/{name}", f"{CGROUP_ROOT}/{name}", None, _MS_BIND)
    for name, target in hierarchies.links:
        os.symlink(target, f"{CGROUP_ROOT}/{name}")
    syscalls.unmount(whole)
    os.rmdir(whole)
    syscalls.mount(None, CGROUP_ROOT, None, _MS_REMOUNT | _MS_BIND | _MS_RDONLY | _FLAGS)


def _mount_files(server: socket.socket) -> None:
    """Makes the file system of `calls.mountinfo_files`, and unmounts it: its root stays open in the server."""
    _mount_fuse(CGROUP_ROOT, server)
    syscalls.unmount(CGROUP_ROOT)


class _Fuse(NamedTuple):
    """A FUSE file system that is mounted: /dev/fuse, its root, its device ("0:42")."""

    fuse: int
    root: int
    device: str


def _make_fuse(path: str, uid: int, gid: int, *options: str) -> _Fuse:
    """Mounts a FUSE file system at `path`, for an owner by the ids of the user namespace that we are in."""
    fuse = open_device()
    whole = ",".join((f"fd={fuse}", "rootmode=40000", f"user_id={uid}", f"group_id={gid}", "allow_other", *options))
    syscalls.mount(SOURCE, path, FSTYPE, _FLAGS, whole)
    return _Fuse(fuse, os.open(path, os.O_PATH | os.O_CLOEXEC), device_at(path) or "")


def _hand_over(made: _Fuse, server: socket.socket) -> None:
    """Sends the server a file system, and closes it here."""
    socket.send_fds(server, [MOUNTED.pack(made.device.encode())], [made.fuse, made.root])
    os.close(made.fuse)
    os.close(made.root)


def _mount_fuse(path: str, server: socket.socket) -> None:
    """Mounts a FUSE file system at `path` and sends it to the server."""
    _hand_over(_make_fuse(path, 0, 0), server)
