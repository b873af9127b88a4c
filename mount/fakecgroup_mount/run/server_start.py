"""The server begins: it loads what it needs while the front and the sandbox go on."""

from __future__ import annotations

import gc
import importlib
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from fakecgroup_mount.control.directory import runtime_directory
from fakecgroup_mount.fuse.asked import Additions
from fakecgroup_mount.host.shortage import allow_all_descriptors
from fakecgroup_mount.run.frozen_command import FrozenCommand
from fakecgroup_mount.run.id_maps import write_inner_maps
from fakecgroup_mount.run.messages import OUTER
from fakecgroup_mount.run.shown_machine import SeenMachine
from fakecgroup_mount.seccomp.namespaces import UserAndMountNamespaces

if TYPE_CHECKING:
    from fakecgroup import Kernel, Processes


def start(
    sandbox: socket.socket,
    make_kernel: Callable[[Processes], Kernel],
    ready: Callable[[], None],
    *,
    front: int,
    frozen: FrozenCommand,
    additions: Additions,
    seen: SeenMachine,
) -> None:
    """Calls `ready`, then serves the sandbox at the other end of the connection (`server.serve`)."""
    allow_all_descriptors()
    ready()
    gc.disable()  # what is loaded stays
    importlib.import_module("fakecgroup.kernel")  # takes a while: meanwhile there will be outer namespaces
    sockets = runtime_directory()  # with the user's own uid
    first = _joined(sandbox)
    if first is None:  # the sandbox has failed and reported it to the front
        return
    from fakecgroup_mount.run import server  # takes a while to load: meanwhile there will be mounts

    server.serve(
        sandbox, first, make_kernel, front=front, frozen=frozen, additions=additions, seen=seen, sockets=sockets
    )


def _joined(sandbox: socket.socket) -> int | None:
    """Enters the outer namespaces and maps the ids of the inner ones. Returns the pid of the process that becomes the
    command; None if the sandbox has failed.
    """
    said, descriptors, _, _ = socket.recv_fds(sandbox, OUTER.size, 2)
    if not descriptors:
        return None
    outer = UserAndMountNamespaces.from_descriptors(*descriptors)
    outer.enter()
    outer.close()
    (first,) = OUTER.unpack(said)
    write_inner_maps(first)
    sandbox.sendall(b"+")
    return int(first)
