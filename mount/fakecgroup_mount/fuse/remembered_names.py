"""The names that the kernel module remembers: it finds their nodes without a LOOKUP, until they are taken back.

Without a LOOKUP nobody asks whether the caller may search the directory. So a name is remembered only in a directory
that everybody may search. It is taken back

* when its file is removed: before the reply to the write that removes it, or after that to rmdir(2). The module itself
  drops the name of the removed directory, and what nobody uses in it;
* when the directory is closed to somebody (chmod(2));
* when the file is read through the page cache, as each copying program then needs a node of its own (`splicing`).

Names that are not there are not remembered. Nor is anything once there are rules of faults or a trace, which each
request is for.

The attributes of directories are remembered too, as a change by a request is told with its reply, or is forgotten when
a child comes or goes. Those of files are not: stat(2) and the page cache want different sizes (`splicing`).

FUSE_NOTIFY_INVAL_ENTRY waits for the directory's lock in the kernel. The lock's holder may wait for a reply, so
the server never sends this notification. Threads do, and where an answer depends on it they send that too. They do not
wait for ever: a stranger may keep the lock as long as it likes, as getdents(2) writes to its memory meanwhile.

The caller of chmod(2) and rmdir(2) has this lock itself until it is answered. So where names are in use it is told to
repeat its call (ESTALE; the kernel does so by itself for a path, fs/namei.c), and is given the directory again once the
names are taken back.

The kernel does not repeat fchmod(2), and finds the mount's root without asking. There the names are taken back after
the reply. Until then, mostly for less than a millisecond, whoever may not search the directory any more still finds
names that it knew in it by a path that begins there. It cannot open them: it is told to repeat that.

What a LOOKUP says counts from when its caller takes it. Most callers hold the directory's lock until then. One who asks
for a name that the module knows already may not, and so might remember it after it was taken back. So a name that was
taken back, or never was remembered, is not remembered until the module has forgotten its node. One that is remembered
is asked for too (LOOKUP_REVAL). So names are taken back twice, with a pause.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable
from errno import ENODEV, ENOENT
from functools import partial
from queue import SimpleQueue

from fakecgroup import Caller
from fakecgroup.core.cgroup import Cgroup
from fakecgroup.core.cgroup_file import CgroupFile
from fakecgroup.credentials.permission import MAY_EXEC, permitted
from fakecgroup.kernfs.inode import Inode, TopDirectory
from fakecgroup_mount.fuse import wire
from fakecgroup_mount.fuse.nodes import Node, Nodes
from fakecgroup_mount.fuse.splicing import inval_attributes
from fakecgroup_mount.host.log import Log
from fakecgroup_mount.seccomp.process import is_in_one_of

log = Log(__name__)

LONG = 1 << 31
"""Seconds for which the kernel module remembers a name."""

SEARCHABLE = 0o111
"""Mode bits of a directory that everybody may search."""

_PATIENCE = 1.0  # seconds that an answer waits for names to be taken back
_ARRIVES = 0.1  # seconds for a request to arrive after its caller has found the node
_MANY = 64  # threads that repeat a call at once

_OPENING = (wire.OPEN, wire.OPENDIR)
_CHMOD = ("chmod", "fchmodat", "fchmodat2")

_Name = tuple[Node, Node]
"""A directory's node, and the node of an entry."""


class RememberedNames:
    """What the kernel module remembers of `nodes`. Notifications go to `fd`, an open /dev/fuse.

    `lock` is the model's. The caller holds it, but for `settle` and `send`.
    """

    def __init__(self, fd: int, lock: threading.Lock, nodes: Nodes) -> None:
        self.taken: list[_Name] = []
        """Names whose files the present request has removed: `take_back` them."""
        self.server = 0
        """The thread that answers requests, once it does."""
        self.closing: dict[Inode, list[bytes]] = {}
        """Directories whose names are being taken back. The replies that give such a directory wait here."""
        self.closed: dict[Inode, int] = {}
        """Directories that were closed while names in them may still be in use, and how often."""
        self.removing: Inode | None = None
        """The directory that the present request removes."""
        self._fd = fd
        self._lock = lock
        self._nodes = nodes.by_inode
        self._can, self._may = False, True
        self._retried: dict[int, Inode] = {}  # what a thread was told to repeat its call for
        self._queue: SimpleQueue[tuple[list[_Name], Callable[[], None]]] = SimpleQueue()

    def begin(self, minor: int) -> None:
        """Remembers names from now on, if this minor version of the protocol lets names expire."""
        if minor < wire.EXPIRY_MINOR or self._can:
            return
        try:
            threading.Thread(target=self._serve, daemon=True).start()
        except RuntimeError:  # no thread can be started: nothing is remembered
            return
        self._can = True

    def let(self, may: bool) -> None:
        """From now on remembers names, or none. Those that are remembered are being taken back (`settle`)."""
        self._may = may
        if self._can and not may:
            for node in self._nodes.values():
                self.forget_attributes(node)
            self._queue.put((self._forgotten(self._nodes.values()), _nothing))

    def settle(self, patience: float) -> None:
        """Waits until all that was to be taken back is, for so many seconds at most."""
        if self._can:
            reached = threading.Event()
            self._queue.put(([], reached.set))
            reached.wait(patience)

    # -- remembering ------------------------------------------------------------------------------

    def seconds(self, parent: Node, node: Node) -> int:
        """For how long a reply may let the module remember a node's name. The caller then counts the reference."""
        if node.lookups and node.within is None:
            return 0
        directory = parent.inode
        if not self.remembering or directory.mode & SEARCHABLE != SEARCHABLE or directory in self.closing:
            return 0
        node.within = parent
        return LONG

    @property
    def remembering(self) -> bool:
        """Whether the module may remember anything."""
        return self._can and self._may

    def forget_attributes(self, node: Node) -> None:
        """Has the module ask for a directory's attributes again. One that is being answered already does not count."""
        if node.attributes:
            node.attributes = False
            self.send(inval_attributes(node.id))

    def below(self, directory: Inode) -> list[Node]:
        """The nodes whose names are remembered in a directory."""
        entries: Iterable[Inode] = ()
        if isinstance(directory, Cgroup):
            entries = (*directory.children.values(), *directory.files.values())
        elif isinstance(directory, TopDirectory):
            entries = directory.content.values()
        found = (self._nodes.get(inode) for inode in entries)
        return [node for node in found if node is not None and node.within is not None]

    # -- taking back ------------------------------------------------------------------------------

    def gone(self, inode: Inode) -> None:
        """`Kernel.on_gone`: takes the name back. The module itself does for a directory that a request removes."""
        node = self._nodes.get(inode)
        if node is None or node.within is None:
            return
        if threading.get_ident() != self.server:
            self._queue.put((self._forgotten([node]), _nothing))
        elif inode is self.removing:
            node.within = None
        else:
            self.taken += self._forgotten([node])

    def take_back(self, then: Callable[[], None] | None) -> None:
        """Takes `taken` back, and then calls what depends on it, without the lock."""
        names = self.taken.copy()
        self.taken.clear()
        if then is None:
            self._queue.put((names, _nothing))
        else:
            self._apart(names, then, _nothing)

    def take_back_soon(self, node: Node) -> None:
        """Takes one name back after the reply to the present request."""
        self._queue.put((self._forgotten([node]), _nothing))

    def must_repeat_chmod(self, tid: int, node: Node, names: list[Node]) -> bool:
        """Whether a thread that changes the mode of a directory `must_retry`: not where it may be in fchmod(2)."""
        return (not node.files or is_in_one_of(tid, _CHMOD)) and self.must_retry(tid, node.inode, names)

    def must_retry(self, tid: int, directory: Inode, names: list[Node]) -> bool:
        """Whether a thread has to repeat its call by path (ESTALE) before it may do what makes these names invalid.

        They are in a directory that the call has locked, and are taken back once it lets go. Where the thread did
        repeat it, or none of them is left, it need not.
        """
        if not names:
            self._retried.pop(tid, None)
            return False
        if not self._first_try(tid, directory):
            return False
        self.close(directory, names)
        return True

    def close(self, directory: Inode, nodes: list[Node]) -> None:
        """Takes names in a directory back, as soon as the present request lets go of it.

        Until then it is not given to those who look for it.
        """
        self.closing.setdefault(directory, [])
        self._apart(self._forgotten(nodes), partial(self._open, directory), _nothing)

    def close_late(self, directory: Inode, nodes: list[Node]) -> None:
        """Closes a directory that the present request has closed to somebody already (`is_barred`)."""
        self.closing.setdefault(directory, [])
        self.closed[directory] = self.closed.get(directory, 0) + 1
        self._apart(self._forgotten(nodes), partial(self._open, directory), partial(self._unbar, directory))

    def is_barred(self, opcode: int, node: Node | None, caller: Caller) -> bool:
        """Whether a thread may open what it has found by a name that is still remembered in a closed directory.

        It then has to repeat its call (ESTALE), with a LOOKUP for each name.
        """
        if node is None:
            return False
        inode = node.inode
        if opcode == wire.LOOKUP and inode in self.closed and not permitted(inode, MAY_EXEC, caller):
            self._retried.pop(caller.pid, None)  # so ends the repeated call
        if opcode not in _OPENING:
            return False
        above = inode.cgroup if isinstance(inode, CgroupFile) else inode.parent if isinstance(inode, Cgroup) else None
        if above is None or not any(
            place in self.closed and not permitted(place, MAY_EXEC, caller) for place in above.lineage()
        ):
            return False
        return self._first_try(caller.pid, inode)

    def _first_try(self, tid: int, inode: Inode) -> bool:
        if self._retried.pop(tid, None) is inode:
            return False
        if len(self._retried) == _MANY:
            self._retried.clear()  # threads that ended instead
        self._retried[tid] = inode
        return True

    @staticmethod
    def _forgotten(nodes: Iterable[Node]) -> list[_Name]:
        names = []
        for node in nodes:
            if node.within is not None:
                names.append((node.within, node))
                node.within = None
        return names

    def _apart(self, names: list[_Name], then: Callable[[], None], at_last: Callable[[], None]) -> None:
        """Takes names back in a thread of its own: somebody waits for these, and for no others."""
        try:
            threading.Thread(target=self._withdraw, args=(names, then, at_last), daemon=True).start()
        except RuntimeError:  # no thread can be started
            self._queue.put((names, then))
            self._queue.put(([], at_last))

    def _withdraw(self, names: list[_Name], then: Callable[[], None], at_last: Callable[[], None]) -> None:
        """Does it again after `then`, for those who were given such a name, and have not taken it yet."""
        self._expire_soon(names)
        then()
        time.sleep(_ARRIVES)
        self._expire_soon(names)
        at_last()

    def _serve(self) -> None:
        while True:
            names, then = self._queue.get()
            self._expire_soon(names)
            then()

    def _open(self, directory: Inode) -> None:
        with self._lock:
            waiting = self.closing.pop(directory, ())
        for reply in waiting:
            self.send(reply)

    def _unbar(self, directory: Inode) -> None:
        with self._lock:
            self.closed[directory] -= 1
            if not self.closed[directory]:
                del self.closed[directory]

    def _expire_soon(self, names: list[_Name]) -> None:
        """Has the module ask for these names again. Where somebody keeps it from that, it will once it can."""
        if not names:
            return
        expiring = threading.Thread(target=self._expire, args=(names,), daemon=True)
        try:
            expiring.start()
        except RuntimeError:  # no thread can be started
            self._expire(names)
        else:
            expiring.join(_PATIENCE)

    def _expire(self, names: list[_Name]) -> None:
        """Has the module ask for these names again."""
        try:
            for directory, node in names:
                self._expire_one(directory, node)
        except Exception:
            log.exception("names that are not taken back")

    def _expire_one(self, directory: Node, node: Node) -> None:
        """A name may be another one by now, after a rename."""
        name = None
        while name != (name := _name(directory.inode, node.inode)):
            raw = os.fsencode(name)
            size = wire.INVAL_ENTRY_OUT.size + len(raw) + 1
            head = wire.INVAL_ENTRY_OUT.pack(size, wire.NOTIFY_INVAL_ENTRY, 0, directory.id, len(raw), wire.EXPIRE_ONLY)
            self.send(head + raw + b"\0")

    def send(self, message: bytes) -> None:
        """Sends a reply or a notification. A name that the module has dropped and an ended mount are no errors."""
        try:
            os.write(self._fd, message)
        except OSError as error:
            if error.errno not in (ENOENT, ENODEV):
                raise


def _nothing() -> None:
    """Nobody waits for it."""


def _name(directory: Inode, inode: Inode) -> str:
    if isinstance(inode, CgroupFile):
        return inode.row.name
    if isinstance(directory, TopDirectory):
        return next(name for name, entry in directory.content.items() if entry is inode)
    assert isinstance(inode, Cgroup)
    return inode.name
