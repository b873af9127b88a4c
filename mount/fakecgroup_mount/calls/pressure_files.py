"""/proc/pressure/cpu, memory and io of the simulated machine: open files that take triggers and can be polled.

Each stands for an open file in the root of the unified hierarchy (kernel/sched/psi.c: psi_system is both).
"""

from __future__ import annotations

import os
from errno import EINVAL

from fakecgroup import OpenFile
from fakecgroup.credentials.caller import ROOT
from fakecgroup.refuse import refuse
from fakecgroup_mount.calls.mounted_tree import MountedTree
from fakecgroup_mount.live.passing_time import PassingTime

RESOURCES = (b"cpu", b"memory", b"io")
_MOST = 32  # bytes of a trigger, with the 0 that psi_write puts in the place of the last


class PressureFile:
    """One open file of a thread. Anybody may write to it, as since Linux 5.12; the thread's privileges tell what."""

    def __init__(self, tree: MountedTree, passing_time: PassingTime, resource: bytes, tid: int) -> None:
        self._tree = tree
        self._time = passing_time
        self._opener = tree.caller(tid).remembered()._replace(uid=0, gid=0)
        vfs, root = tree.kernel.vfs, tree.kernel.hierarchies[-1].root
        with tree.lock:
            inode = vfs.lookup(root, f"{resource.decode()}.pressure", ROOT)
            self._file: OpenFile = vfs.open(inode, os.O_RDWR, self._opener)
        self.waiting: int | None = None
        """FUSE's handle of a poll."""

    def read(self, offset: int, size: int, reader: int) -> bytes:
        """Text from an offset on."""
        with self._tree.lock:
            self._time.catch_up()
            return self._file.read(offset, size)

    def write(self, data: bytes) -> None:
        """Sets a trigger. The last byte is taken for the end of the text, whatever it is (psi_write).

        Raises EINVAL, EBUSY for a second one.
        """
        text = data[:_MOST][:-1].partition(b"\0")[0]
        if not text:
            raise refuse(EINVAL)
        with self._tree.lock:
            self._time.catch_up()
            self._file.write(text, self._opener)
            self._time.changed()

    def poll(self) -> int:
        """The poll mask."""
        with self._tree.lock:
            self._time.catch_up()
            return self._file.poll()

    def is_of(self, file: object) -> bool:
        """Whether it stands for this file of the tree."""
        return self._file.inode is file
