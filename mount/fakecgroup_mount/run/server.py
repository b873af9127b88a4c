"""The daemon behind a sandbox: serves the tree, answers trapped calls, and kills what is left at the end.

It is in the command's user namespace, as FUSE lets nobody else use the mount. It is not in the command's mount
namespace, which would then never end, but in the outer one. There the machine's cgroups are covered too. The root of
the command's user namespace may not trace it.

`fakecgroup_mount.run` draws the daemon's threads and the order of its locks.
"""

from __future__ import annotations

import contextlib
import os
import queue
import socket
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from fakecgroup import JoinedProcesses, Kernel, Processes
from fakecgroup.named_tuple import NamedTuple
from fakecgroup_mount.calls.masked_cgroups import CGROUP_ROOT
from fakecgroup_mount.calls.mounted_tree import MountedTree
from fakecgroup_mount.calls.supervisor import handlers
from fakecgroup_mount.calls.table import REFUSED, trapped
from fakecgroup_mount.fuse.additions import added
from fakecgroup_mount.fuse.asked import Additions
from fakecgroup_mount.fuse.native import Session
from fakecgroup_mount.host.affinities import HostAffinities, cpus_below
from fakecgroup_mount.host.credentials import view_of
from fakecgroup_mount.host.garbage import collect_seldom
from fakecgroup_mount.host.idmap import IdMap
from fakecgroup_mount.host.mountinfo import device_at
from fakecgroup_mount.host.processes import HostProcesses
from fakecgroup_mount.release.agents import AgentSandbox, ReleaseAgents
from fakecgroup_mount.run.frozen_command import FrozenCommand
from fakecgroup_mount.run.messages import KILLED, MOUNTED
from fakecgroup_mount.run.shown_machine import SeenMachine
from fakecgroup_mount.seccomp import syscalls
from fakecgroup_mount.seccomp.filter import program
from fakecgroup_mount.seccomp.listener import Listener
from fakecgroup_mount.seccomp.namespace_kill import kill_namespace
from fakecgroup_mount.seccomp.user_namespaces import NamespaceId, lineage, namespace_of

if TYPE_CHECKING:
    from fakecgroup_mount.calls.sysfs_directories import SysfsDirectory
    from fakecgroup_mount.calls.traced_calls import TracedCalls


class _Mounted(NamedTuple):
    """A FUSE file system of the sandbox: /dev/fuse, its root, its device ("0:42")."""

    fuse: int
    root: int
    device: str


def _mounted(sandbox: socket.socket) -> _Mounted | None:
    """Receives a file system; None if the sandbox has failed."""
    said, descriptors, _, _ = socket.recv_fds(sandbox, MOUNTED.size, 2)
    if not descriptors:
        return None
    (device,) = MOUNTED.unpack(said)
    fuse, root = descriptors
    return _Mounted(fuse, root, device.rstrip(b"\0").decode())


def serve(
    sandbox: socket.socket,
    first: int,
    make_kernel: Callable[[Processes], Kernel],
    *,
    front: int,
    frozen: FrozenCommand,
    additions: Additions,
    seen: SeenMachine,
    sockets: str | None,
) -> None:
    """Serves the sandbox at the other end of the connection until it is closed, then kills the sandbox's processes.

    `front` is the front's pid. `frozen` tells the front when the command is frozen. The command sees the
    machine `seen`.
    """
    owner = os.geteuid(), os.getegid()  # in the outer user namespace
    for path in seen.directories:
        syscalls.unmount(path)  # here alone: we would wait for ourselves
    try:
        namespace = namespace_of(first)
        home = os.open(f"/proc/{first}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
        syscalls.set_namespace(os.open(f"/proc/{first}/ns/user", os.O_RDONLY | os.O_CLOEXEC), syscalls.CLONE_NEWUSER)
    except (FileNotFoundError, ProcessLookupError):  # the sandbox has failed since
        return
    syscalls.forbid_tracing()
    frozen.begin(first)
    ids = IdMap(0, 0)  # the ids of that user namespace are the model's
    inside = partial(_is_inside, namespace)
    processes = HostProcesses(ids, frozen, never_frozen=frozenset({front}), inside=inside)
    joined = JoinedProcesses(processes)
    joined.belongs = inside
    kernel = make_kernel(joined)
    if kernel.machine.huge_pages:
        processes.count_huge_pages()
    masks = {device_at(CGROUP_ROOT) or ""}
    live: list[SysfsDirectory] = []
    for make in seen.directories.values():
        from fakecgroup_mount.calls.sysfs_directories import SysfsDirectory  # takes a while to load

        mounted = _mounted(sandbox)
        if mounted is None:
            return
        masks.add(mounted.device)
        os.close(mounted.root)
        live.append(SysfsDirectory(mounted.fuse, kernel, make, owner))
        threading.Thread(target=live[-1].serve, daemon=True).start()
    files, tree = _mounted(sandbox), _mounted(sandbox)
    if files is None or tree is None:
        return
    session = Session(tree.fuse, f"/proc/self/fd/{tree.root}", kernel, ids, processes, device=tree.device)
    for directory in live:
        directory.lock = session.lock
    spared = frozenset({front})
    below = cpus_below(kernel.machine, pinned="cpus" in seen.parts)
    affinities = HostAffinities(kernel.cpus, below, spared, inside)
    if "cpus" in seen.parts:
        kernel.membership.affinities = affinities
    with added(
        additions,
        session,
        kernel,
        processes,
        joined,
        source="fakecgroup run",
        device=tree.device,
        sockets=sockets,
        spared=spared,
    ) as (time, enforcement, tracing):
        collect_seldom()
        threading.Thread(target=session.serve, daemon=True).start()
        _, descriptors, _, _ = socket.recv_fds(sandbox, 1, 1)
        if not descriptors:
            return
        served = (files.fuse, files.root, files.device)
        handled = MountedTree(session, kernel, tree.device, frozenset(masks))
        answers = handlers(handled, processes, first, home, served, (joined, time), seen.parts, affinities, enforcement)

        def trapped_calls() -> TracedCalls:
            from fakecgroup_mount.calls.traced_calls import TracedCalls  # takes a while to load

            return TracedCalls(answers, handled, processes)

        with session.lock:
            tracing.add(trapped_calls)
        Listener(descriptors[0], answers).start()
        code = program(trapped(seen.parts), REFUSED)
        agents = AgentSandbox(home, code, lambda listener: Listener(listener, answers).start())
        kernel.on_release = ReleaseAgents(view_of(first), agents).run
        try:
            sandbox.sendall(b"+")
        except ConnectionError:
            pass  # the command was killed while it started
        say = _await_end(sandbox.detach())
        kill_namespace(namespace)
        say(KILLED)


def _is_inside(namespace: NamespaceId, tgid: int) -> bool:
    """Whether a process is in the sandbox, where no process sees or sets its real RLIMIT_LOCKS (`calls.prlimit`)."""
    try:
        return namespace in lineage(tgid)
    except OSError:
        return False


def _await_end(connection: int) -> Callable[[bytes], None]:
    """Waits for the end of the command or the front, which closes the connection. Returns what says a last word to it.

    The thread that waits is the only one with the connection in its descriptor table. So it is closed when this process
    is killed, even if another thread then waits for ever for an answer of the process (`calls.fuse_opener`). It stays
    until the process has ended: then the front kills what is left.
    """
    alone, over = threading.Event(), threading.Event()
    words: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def wait() -> None:
        syscalls.unshare(syscalls.CLONE_FILES)
        alone.set()
        with contextlib.suppress(ConnectionError):
            os.read(connection, 1)  # returns at the end of the connection
        over.set()
        while True:
            with contextlib.suppress(OSError):  # the front is gone
                os.write(connection, words.get())

    threading.Thread(target=wait, daemon=True).start()
    alone.wait()
    os.close(connection)
    over.wait()
    return words.put
