"""Runs one mount from beginning to end, over either transport."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable

from fakecgroup import JoinedProcesses, Kernel, Processes
from fakecgroup_mount.control.directory import runtime_directory
from fakecgroup_mount.errors import MountError
from fakecgroup_mount.fuse.additions import added
from fakecgroup_mount.fuse.asked import NO_ADDITIONS, Additions
from fakecgroup_mount.fuse.fuse_mount import mount_fuse, umount_fuse
from fakecgroup_mount.fuse.native import Session
from fakecgroup_mount.host import exit_events, fork_events
from fakecgroup_mount.host.credentials import view_of
from fakecgroup_mount.host.freeze_watchdog import FreezeWatchdog
from fakecgroup_mount.host.garbage import collect_seldom
from fakecgroup_mount.host.idmap import IdMap
from fakecgroup_mount.host.mountinfo import device_at
from fakecgroup_mount.host.processes import HostProcesses
from fakecgroup_mount.host.shortage import allow_all_descriptors
from fakecgroup_mount.release.agents import ReleaseAgents

_ENDING = (signal.SIGTERM, signal.SIGINT)


def serve(
    path: str,
    transport: str,
    make_kernel: Callable[[Processes], Kernel],
    *,
    allow_other: bool,
    ready: Callable[[], None],
    additions: Additions = NO_ADDITIONS,
) -> None:
    """Mounts at `path` and answers until it is unmounted. SIGTERM and SIGINT unmount it.

    `ready` is called once it is mounted. Root's mount is open to all users; `allow_other` opens another user's.
    Over fusepy there are no additions and no control socket.

    Raises MountError if it cannot be mounted.
    """
    allow_all_descriptors()
    ids = IdMap(os.geteuid(), os.getegid())
    processes = HostProcesses(
        ids, FreezeWatchdog(), listen_to_forks=fork_events.listen, listen_to_exits=exit_events.listen
    )
    joined = JoinedProcesses(processes)
    kernel = make_kernel(joined)
    if kernel.machine.huge_pages:
        processes.count_huge_pages()
    kernel.on_release = ReleaseAgents(view_of("self")).run
    everyone = allow_other or os.geteuid() == 0
    try:
        if transport == "fusepy":
            _serve_fusepy(path, kernel, ids, processes, everyone, ready)
        else:
            _serve_native(path, kernel, ids, processes, everyone, ready, joined, additions)
    finally:
        processes.release()


def _serve_native(
    path: str,
    kernel: Kernel,
    ids: IdMap,
    processes: HostProcesses,
    allow_other: bool,
    ready: Callable[[], None],
    joined: JoinedProcesses,
    additions: Additions,
) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    fuse, serving = mount_fuse(path, allow_other=allow_other), False
    try:
        session = Session(fuse, path, kernel, ids, processes)
        signal.signal(signal.SIGUSR1, lambda number, frame: None)
        threading.Thread(target=_end_on_signal, args=(path, session, threading.get_ident()), daemon=True).start()
        with added(
            additions,
            session,
            kernel,
            processes,
            joined,
            source="fakecgroup mount",
            device=device_at(path) or "",
            sockets=runtime_directory(),
        ):
            collect_seldom()
            ready()
            serving = True
            session.serve()
    except BaseException:
        if not serving:
            with contextlib.suppress(MountError):
                umount_fuse(path, lazy=True)
        raise


def _end_on_signal(path: str, session: Session, server: int) -> None:
    """Waits for SIGTERM or SIGINT, unmounts, and makes `Session.serve` return even if programs still use the tree."""
    signal.sigwait(_ENDING)
    try:
        umount_fuse(path, lazy=True)
    except MountError:
        pass  # already unmounted
    session.stop()
    while True:
        # The signal interrupts the server's read. One just before the read has no effect, so it is repeated.
        signal.pthread_kill(server, signal.SIGUSR1)
        time.sleep(0.02)


def _serve_fusepy(
    path: str, kernel: Kernel, ids: IdMap, processes: HostProcesses, allow_other: bool, ready: Callable[[], None]
) -> None:
    import tempfile

    from fakecgroup_mount.fuse import fusepy

    fuse = fusepy.load()
    mounted = False

    def now_ready() -> None:
        nonlocal mounted
        mounted = True
        os.dup2(stderr, 2)
        collect_seldom()
        ready()

    with tempfile.TemporaryFile() as said:  # libfuse reports a failed mount on stderr only
        stderr = os.dup(2)
        os.dup2(said.fileno(), 2)
        try:
            fusepy.serve(fuse, path, kernel, ids, processes, allow_other=allow_other, ready=now_ready)
        except RuntimeError:
            if mounted:
                raise
            said.seek(0)
            why = said.read().decode(errors="replace").strip().partition("\n")[0]
            raise MountError(f"{path}: cannot mount: {why or 'libfuse says nothing more'}") from None
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
