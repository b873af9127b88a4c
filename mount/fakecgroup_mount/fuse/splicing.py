"""sendfile(2) and splice(2) from files: they read through the page cache, up to the size that the FUSE module believes.

A cgroup file has the size 0 and no cache, so the module is made to believe otherwise. It believes `READABLE_SIZE` until
a read through the cache ends short of that; then it believes what was read, which is what ends the copy. Three things
are seen to:

* GETATTR says 0, and is not believed: what is told after the request was sent outdates it (`inval_attributes`);
* who copies has the size and the pages of the file for himself: while a file is copied, each LOOKUP gives another node;
* what was read is forgotten once it may have changed (`CacheInvalidator`).
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable
from errno import ENODEV, ENOENT, ENOMEM
from queue import SimpleQueue

from fakecgroup_mount.fuse import wire

log = logging.getLogger(__name__)

READABLE_SIZE = 1 << 20
"""Bytes. No cgroup file is as long."""

COPY_SECONDS = 2.0
"""Seconds for which each LOOKUP of a file gives another node, once it was copied."""

_LAST_BYTE = READABLE_SIZE - 1
_AGAIN = 0.02  # seconds in which who copies asks for more, if there may be more
_PATIENCE = 0.5  # seconds for who copies to get a CPU
_PAUSE = 0.0005
_LATER = 0.005  # seconds for an answer to arrive


def inval_attributes(node_id: int) -> bytes:
    """What makes the kernel module doubt the attributes that it is about to get of a node."""
    return wire.INVAL_INODE_OUT.pack(wire.INVAL_INODE_OUT.size, wire.NOTIFY_INVAL_INODE, 0, node_id, -1, 0)


def store_last_byte(node_id: int) -> bytes:
    """What makes the kernel module believe again that the file is long."""
    size = wire.STORE_OUT.size + 1
    return wire.STORE_OUT.pack(size, wire.NOTIFY_STORE, 0, node_id, _LAST_BYTE, 1, 0) + b"\0"


def notify(fd: int, message: bytes) -> None:
    """Sends to the kernel module what it did not ask for."""
    try:
        os.write(fd, message)
    except OSError as error:
        if error.errno not in (ENOENT, ENODEV, ENOMEM):  # the node is no longer known, or all is over
            raise


class CachedRead:
    """A node that was read through the cache: by which thread last, and when. `over`: nobody has it open any more."""

    __slots__ = ("node_id", "over", "tid", "when")

    def __init__(self, node_id: int, tid: int) -> None:
        self.node_id = node_id
        self.tid = tid
        self.when = time.monotonic()
        self.over = False

    @property
    def is_under_way(self) -> bool:
        """Whether the thread may not have looked at the size yet, after it got what it read."""
        if self.over:
            return False
        age = time.monotonic() - self.when
        return age < _AGAIN or (age < _PATIENCE and self._runs())

    def _runs(self) -> bool:
        try:
            with open(f"/proc/{self.tid}/stat", "rb") as file:
                return file.read().rpartition(b")")[2].split()[0] in b"RD"
        except OSError:  # it has ended, or is nobody that we see
            return False


class CacheInvalidator:
    """Has the kernel module forget what it read of files, before a reply goes out that lets someone know of a change.

    In a thread of its own: the module waits for reads that are under way, which the server must answer meanwhile.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._queue: SimpleQueue[Callable[[], None]] | None = None

    def reply(self, copied: Iterable[CachedRead], tid: int, reply: bytes) -> None:
        """Sends `reply` to a thread once all that was copied is forgotten."""
        one_by_one = list(copied)

        def work() -> None:
            try:
                for one in one_by_one:
                    while one.tid != tid and one.is_under_way:
                        time.sleep(_PAUSE)
                    if not one.over:
                        self._forget(one.node_id)
            finally:
                self._send(reply)

        self._do(work, lambda: self._send(reply))

    def enlarge_later(self, node_id: int) -> None:
        """Makes a file long again once someone has taken it for empty, as the answer that comes first says."""

        def work() -> None:
            time.sleep(_LATER)
            self._send(store_last_byte(node_id))

        self._do(work, lambda: None)

    def _do(self, work: Callable[[], None], threadless: Callable[[], None]) -> None:
        if self._queue is None:
            queue: SimpleQueue[Callable[[], None]] = SimpleQueue()
            try:
                threading.Thread(target=self._serve, args=(queue,), daemon=True).start()
            except RuntimeError:  # none can be started
                threadless()
                return
            self._queue = queue
        self._queue.put(work)

    def _serve(self, queue: SimpleQueue[Callable[[], None]]) -> None:
        while True:
            work = queue.get()
            try:
                work()
            except Exception:
                log.exception("what was copied is not forgotten")

    def _forget(self, node_id: int) -> None:
        self._send(wire.INVAL_INODE_OUT.pack(wire.INVAL_INODE_OUT.size, wire.NOTIFY_INVAL_INODE, 0, node_id, 0, 0))
        self._send(store_last_byte(node_id))

    def _send(self, message: bytes) -> None:
        notify(self._fd, message)
