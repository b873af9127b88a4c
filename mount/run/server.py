"""The daemon behind a sandbox: the tree, the answers to trapped calls, and the end of everything in it.

It is in the sandbox's user namespace, as FUSE lets nobody else use the mount, but not in its mount namespace, which
would then never end.
"""

from __future__ import annotations

import os
import resource
import socket
import threading
from collections.abc import Callable

from fakecgroup import Kernel, Processes

from ..idmap import IdMap
from ..native import Session
from ..processes import HostProcesses
from ..release import ReleaseAgents
from ..serve import collect_seldom
from . import syscalls
from .listener import Listener
from .supervisor import handlers
from .sweep import namespace_of, sweep

_MESSAGE = 64  # bytes, at most: "1234 0:42"


def serve(sandbox: socket.socket, make_kernel: Callable[[Processes], Kernel], ready: Callable[[], None]) -> None:
    """Serves the sandbox at the other end of the connection until that is closed, then ends what still lives in it."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))  # a pidfd for each process in a cgroup
    ready()
    said, descriptors, _, _ = socket.recv_fds(sandbox, _MESSAGE, 2)
    if not descriptors:  # the sandbox has failed, and told the front
        return
    fuse, root = descriptors
    first, device = said.decode().split()
    try:
        namespace = namespace_of(int(first))
        home = os.open(f"/proc/{first}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
        syscalls.enter_user_namespace(int(first))
    except (FileNotFoundError, ProcessLookupError):  # it has failed since
        return
    ids = IdMap(0, 0)  # what is seen from that namespace are the ids of the model
    processes = HostProcesses(ids)
    kernel = make_kernel(processes)
    kernel.on_release = ReleaseAgents(f"/proc/{os.getpid()}/fd/{home}").run
    session = Session(fuse, f"/proc/self/fd/{root}", kernel, ids, processes, device=device)
    collect_seldom()
    threading.Thread(target=session.serve, daemon=True).start()
    _, descriptors, _, _ = socket.recv_fds(sandbox, _MESSAGE, 1)
    if not descriptors:
        return
    Listener(descriptors[0], handlers(session, kernel, processes, device, int(first), home)).start()
    sandbox.sendall(b"+")
    sandbox.recv(1)  # nothing ever comes but the end
    sweep(namespace)
