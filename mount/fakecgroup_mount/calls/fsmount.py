"""fsopen(2), fsconfig(2), fsmount(2), move_mount(2) of a cgroup file system (fs/fsopen.c, fs/fs_context.c).

The answers are those of Linux 6.18 to the root of a user namespace. A memory file stands in for the context. The mount
that is made of it is a real one of the tree.
"""

from __future__ import annotations

import json
import os
import threading
from errno import EBUSY, EINVAL, EOPNOTSUPP, EPERM
from typing import NamedTuple

from fakecgroup.outside.mount_parameters import FILE_SYSTEMS
from fakecgroup.refuse import refuse
from fakecgroup_mount.calls import other_filesystems
from fakecgroup_mount.calls.detached_mounts import ATTRIBUTES, move_mount
from fakecgroup_mount.calls.mount import MountCalls, may_mount
from fakecgroup_mount.calls.path_lookup import fd_path, lookup
from fakecgroup_mount.host.mountinfo import mount_of
from fakecgroup_mount.seccomp.listener import CONTINUE, Answer, Call, Descriptor
from fakecgroup_mount.seccomp.process import signed

_CLOEXEC = 1  # FSOPEN_CLOEXEC, FSMOUNT_CLOEXEC
_SET_FLAG, _SET_STRING, _SET_FD, _CREATE, _RECONFIGURE, _CREATE_EXCL = 0, 1, 5, 6, 7, 8
_ATIMES = (0, 0x10, 0x20)  # MOUNT_ATTR_RELATIME, NOATIME, STRICTATIME
_ATIME = 0x70
_FROM_EMPTY, _FOLLOW, _TO_EMPTY, _BENEATH = 0x04, 0x10, 0x40, 0x200  # MOVE_MOUNT_F_EMPTY_PATH, MOVE_MOUNT_T_*
_STAND_IN = "fs-context"
_MOST = 64  # mounts without a place, before the oldest ends


class _Context(NamedTuple):
    """The state of a context, kept in its memory file as JSON.

    `phase` is one of enum fs_context_phase. `root` is the path of what will be mounted, once it is known.
    """

    unified: bool
    phase: str = "parameters"
    options: tuple[str, ...] = ()
    root: str = ""

    @property
    def source(self) -> bytes:
        """The option `source`."""
        given = (option.partition("=") for option in self.options)
        return next((os.fsencode(value) for name, _, value in given if name == "source"), b"none")

    def write(self, path: str) -> None:
        """Writes the state to the file at a path of the daemon's. Raises OSError."""
        fd = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
        try:
            os.write(fd, json.dumps(self).encode())
        finally:
            os.close(fd)

    @classmethod
    def read(cls, path: str) -> _Context | None:
        """The state in the file at a path of the daemon's; None for any other file. Raises OSError."""
        if not os.readlink(path).startswith(f"/memfd:{_STAND_IN}"):
            return None
        with open(path) as file:
            unified, phase, options, root = json.load(file)
        return cls(unified, phase, tuple(options), root)


class FsmountCalls:
    """Configures and mounts contexts. A context ends with its memory file."""

    def __init__(self, mounting: MountCalls) -> None:
        self._mounting = mounting
        self._lock = threading.Lock()
        self._made: dict[int, int] = {}
        """Mounts without a place, by their numbers. A descriptor keeps each."""

    def fsopen(self, call: Call) -> Answer:
        """A descriptor of a new context. It cannot be read: there are no messages."""
        name, flags = call.arguments[:2]
        kind = call.memory.read_text(call.tid, name)
        if not may_mount(call.tid):
            return -EPERM if kind in FILE_SYSTEMS else CONTINUE
        if kind not in FILE_SYSTEMS:
            return other_filesystems.fsopen(call, kind, flags)
        if flags & ~_CLOEXEC:
            raise refuse(EINVAL)
        held = os.memfd_create(_STAND_IN, os.MFD_CLOEXEC)
        try:
            own = f"/proc/self/fd/{held}"
            _Context(kind == b"cgroup2", options=FILE_SYSTEMS[kind]).write(own)
            return Descriptor(os.open(own, os.O_WRONLY | os.O_CLOEXEC), _cloexec(flags))
        finally:
            os.close(held)

    def fsconfig(self, call: Call) -> Answer:
        """Raises EINVAL, EBUSY, EPERM, EOPNOTSUPP in the kernel's order (fsconfig, vfs_fsconfig_locked)."""
        fd, command, key, value, auxiliary = call.arguments[:5]
        path = fd_path(call.tid, signed(fd))
        with self._lock:
            context = _context(path)
            if context is None or not call.waits():
                return CONTINUE
            if command > _CREATE_EXCL:
                raise refuse(EOPNOTSUPP)
            if _SET_STRING < command <= _SET_FD:
                raise refuse(EINVAL)  # a binary, a path, a descriptor: no option of a cgroup file system takes one
            sets = command in (_SET_FLAG, _SET_STRING)
            if bool(key) is not sets or bool(value) is not (command == _SET_STRING) or auxiliary:
                raise refuse(EINVAL)
            if sets:
                if context.phase not in ("parameters", "reconfigure"):
                    raise refuse(EBUSY)
                name = os.fsdecode(call.memory.read_text(call.tid, key))
                text = os.fsdecode(call.memory.read_text(call.tid, value)) if value else None
                self._set(context, name, text).write(path)
            else:
                self._act(call.tid, context, command, path)
        return 0

    def _set(self, context: _Context, name: str, value: str | None) -> _Context:
        """The context with one option more."""
        option = self._mounting.options.parse(context.unified, name, value, context.options)
        return context if option is None else context._replace(options=(*context.options, option))

    def _act(self, tid: int, context: _Context, command: int, path: str) -> None:
        """Finds what to mount. The file system exists, and belongs to another user namespace.

        Raises EBUSY, EPERM, EINVAL in the kernel's order (vfs_cmd_create, vfs_cmd_reconfigure).
        """
        wanted = "reconfigure" if command == _RECONFIGURE else "parameters"
        if context.phase != wanted:
            raise refuse(EBUSY)
        if not may_mount(tid):
            raise refuse(EPERM)
        context._replace(phase="failed").write(path)
        if command != _CREATE:
            raise refuse(EPERM if command == _RECONFIGURE else EBUSY)
        options = [option for option in context.options if not option.startswith("source=")]
        root = self._mounting.root(tid, context.unified, options)
        self._mounting.apply(tid, context.unified, options)
        context._replace(phase="mount", root=root).write(path)

    def fsmount(self, call: Call) -> Answer:
        """A descriptor of the root of a new mount. Raises EPERM, EINVAL, EBUSY in the kernel's order."""
        fd, flags, attributes = call.arguments[:3]
        path = fd_path(call.tid, signed(fd))
        with self._lock:
            context = _context(path)
            if context is None or not call.waits():
                return CONTINUE
            if not may_mount(call.tid):
                raise refuse(EPERM)
            if flags & ~_CLOEXEC or attributes & ~ATTRIBUTES or attributes & _ATIME not in _ATIMES:
                raise refuse(EINVAL)
            if context.phase != "mount":
                raise refuse(EBUSY if context.phase == "reconfigure" else EINVAL)
            made = self._mounting.detached(call.tid, context.root, attributes, context.source)
            try:
                shown = os.open(f"/proc/self/fd/{made}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            except OSError:
                os.close(made)
                raise
            self._keep(made)
            context._replace(phase="reconfigure", options=()).write(path)
        return Descriptor(shown, _cloexec(flags))

    def _keep(self, made: int) -> None:
        """Keeps a mount. It would end with the descriptor `made`, which cannot be handed to another process."""
        if len(self._made) >= _MOST:
            os.close(self._made.pop(next(iter(self._made))))
        self._made[mount_of(made)] = made

    def move_mount(self, call: Call) -> Answer:
        """Puts a mount of `fsmount` somewhere. Raises OSError."""
        from_fd, _, to_fd, to_name, flags = call.arguments[:5]
        try:
            number = mount_of(signed(from_fd), call.tid)
        except OSError:
            return CONTINUE
        with self._lock:
            if number not in self._made:
                return CONTINUE
            if not may_mount(call.tid):
                raise refuse(EPERM)
            name = call.memory.read_text(call.tid, to_name)
            if not name and flags & _TO_EMPTY:
                place = os.open(fd_path(call.tid, signed(to_fd)), os.O_PATH | os.O_CLOEXEC)
            else:
                place = lookup(call.tid, signed(to_fd), name, follow=bool(flags & _FOLLOW))
            try:
                if not call.waits():
                    return CONTINUE
                code = move_mount(self._made[number], call.tid, place, flags & _BENEATH)
            finally:
                os.close(place)
            if not code:
                os.close(self._made.pop(number))
            return -code


def _context(path: str) -> _Context | None:
    """The context at a path of the daemon's, or None. Then the kernel itself answers."""
    try:
        return _Context.read(path)
    except OSError:
        return None


def _cloexec(flags: int) -> int:
    return os.O_CLOEXEC if flags & _CLOEXEC else 0
