"""sendfile(2) and splice(2) from files.

These calls read through the page cache, up to the size that the kernel module has for the file. A cgroup file has the
size 0, so the module would read nothing. It is told `READABLE_SIZE` instead, and takes the length that it has read for
the size after the first read that ends before it: that ends the copy. Three things keep this invisible:

* GETATTR answers 0. A notification that is sent before the answer makes the module discard it (`inval_attributes`).
* A copying program needs a size and pages of its own. So while a file is copied, each LOOKUP gives another node.
* What was read is dropped from the page cache before a change becomes known (`CacheInvalidator`).
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from errno import ENODEV, ENOENT, ENOMEM
from queue import SimpleQueue

from fakecgroup.kernfs.inode import Inode
from fakecgroup_mount.fuse import wire
from fakecgroup_mount.host.log import Log

log = Log(__name__)

READABLE_SIZE = 1 << 20
"""The size in bytes that the kernel module believes. No cgroup file is as long."""

COPY_SECONDS = 2.0
"""Each LOOKUP of a file gives another node for this long after a copy."""

_LAST_BYTE = READABLE_SIZE - 1
_NEXT_READ = 0.02  # seconds within which a copying program asks for more
_PATIENCE = 0.5  # seconds for a copying program to get a CPU
_PAUSE = 0.0005  # seconds between two looks at it
_REPLY_ARRIVES = 0.005  # seconds for a reply to reach the module
_MANY = 64  # copied files; more are looked through for old ones


def inval_attributes(node_id: int) -> bytes:
    """FUSE_NOTIFY_INVAL_INODE: the kernel module discards the attributes that it is about to get for a node."""
    return wire.INVAL_INODE_OUT.pack(wire.INVAL_INODE_OUT.size, wire.NOTIFY_INVAL_INODE, 0, node_id, -1, 0)


def store_last_byte(node_id: int) -> bytes:
    """FUSE_NOTIFY_STORE of the last byte: the kernel module takes the file for READABLE_SIZE long again."""
    size = wire.STORE_OUT.size + 1
    return wire.STORE_OUT.pack(size, wire.NOTIFY_STORE, 0, node_id, _LAST_BYTE, 1, 0) + b"\0"


def notify(fd: int, message: bytes) -> None:
    """Sends the kernel module a notification. A node that it no longer knows and an ended mount are no errors."""
    try:
        os.write(fd, message)
    except OSError as error:
        if error.errno not in (ENOENT, ENODEV, ENOMEM):
            raise


class CachedRead:
    """An open node that was read through the page cache: the last reading thread, and when (monotonic seconds).

    `over` is set once nobody has the node open.
    """

    __slots__ = ("node_id", "over", "tid", "when")

    def __init__(self, node_id: int, tid: int) -> None:
        self.node_id = node_id
        self.tid = tid
        self.when = time.monotonic()
        self.over = False

    @property
    def is_under_way(self) -> bool:
        """Whether the thread may not have looked at the size yet since its read."""
        if self.over:
            return False
        age = time.monotonic() - self.when
        return age < _NEXT_READ or (age < _PATIENCE and self._runs())

    def _runs(self) -> bool:
        try:
            with open(f"/proc/{self.tid}/stat", "rb") as file:
                return file.read().rpartition(b")")[2].split()[0] in b"RD"
        except OSError:  # it has ended, or is in a pid namespace that we do not see
            return False


class Copies:
    """The files that are or were copied lately.

    `open` has the reads by node id, `last` the time of each file's last read (monotonic seconds). Both dictionaries
    stay the same objects.
    """

    def __init__(self) -> None:
        self.open: dict[int, CachedRead] = {}
        self.last: dict[Inode, float] = {}

    def note(self, node_id: int, inode: Inode, tid: int) -> None:
        """A thread reads a node through the page cache."""
        read = self.open.get(node_id)
        if read is None:
            read = self.open[node_id] = CachedRead(node_id, tid)
        read.tid, read.when = tid, time.monotonic()
        if inode not in self.last and len(self.last) >= _MANY:
            for old in [file for file, at in self.last.items() if read.when - at >= COPY_SECONDS]:
                del self.last[old]
        self.last[inode] = read.when

    def is_recent(self, inode: Inode) -> bool:
        """Whether a file of `last` was copied within COPY_SECONDS. One that was not is removed from `last`."""
        if time.monotonic() - self.last[inode] <= COPY_SECONDS:
            return True
        del self.last[inode]
        return False

    def close(self, node_id: int) -> None:
        """Nobody has the node open any more."""
        self.open.pop(node_id).over = True


class CacheInvalidator:
    """Drops what the kernel module has cached of copied files, before a reply makes a change known.

    A thread of its own does this: the module waits for reads that are under way, and the server must answer those.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._queue: SimpleQueue[Callable[[], None]] | None = None

    def reply(self, copied: Iterable[CachedRead], tid: int, reply: bytes) -> None:
        """Sends `reply` to a thread once the pages of all copied nodes are dropped."""
        reads = list(copied)

        def work() -> None:
            try:
                for read in reads:
                    while read.tid != tid and read.is_under_way:
                        time.sleep(_PAUSE)
                    if not read.over:
                        self._invalidate(read.node_id)
            finally:
                self._send(reply)

        self._do(work, lambda: self._send(reply))

    def enlarge_later(self, node_id: int, reads: Mapping[int, CachedRead]) -> None:
        """Makes a file long again after the module has got a reply that says it is empty.

        Not if it was read since (`reads`, by node id): then its length is known, and a copy would get zeros after it.
        """
        asked = time.monotonic()

        def work() -> None:
            time.sleep(_REPLY_ARRIVES)
            read = reads.get(node_id)
            if read is None or read.when < asked:
                self._send(store_last_byte(node_id))

        self._do(work, lambda: None)

    def _do(self, work: Callable[[], None], threadless: Callable[[], None]) -> None:
        if self._queue is None:
            queue: SimpleQueue[Callable[[], None]] = SimpleQueue()
            try:
                threading.Thread(target=self._serve, args=(queue,), daemon=True).start()
            except RuntimeError:  # no thread can be started
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
                log.exception("the pages of a copied file are not dropped")

    def _invalidate(self, node_id: int) -> None:
        self._send(wire.INVAL_INODE_OUT.pack(wire.INVAL_INODE_OUT.size, wire.NOTIFY_INVAL_INODE, 0, node_id, 0, 0))
        self._send(store_last_byte(node_id))

    def _send(self, message: bytes) -> None:
        notify(self._fd, message)
