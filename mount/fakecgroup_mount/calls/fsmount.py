"""fsopen(2), fsconfig(2), fsmount(2), move_mount(2) of a cgroup file system (fs/fsopen.c, fs/fs_context.c).

The answers are those of Linux 6.18 to the root of a user namespace. A memory file stands in for the context. The mount
that is made of it is a real one of the tree.
"""

from __future__ import annotations

import os
import threading
from errno import EPERM

from fakecgroup.outside.fs_context import (
    FSMOUNT_CLOEXEC,
    Command,
    FsContext,
    Phase,
    check_arguments,
    check_exists,
    check_open,
)
from fakecgroup.outside.mount_parameters import FILE_SYSTEMS
from fakecgroup.refuse import refuse
from fakecgroup_mount.calls import other_filesystems
from fakecgroup_mount.calls.detached_mounts import move_mount
from fakecgroup_mount.calls.mount import MountCalls, may_mount
from fakecgroup_mount.calls.path_lookup import fd_path, lookup
from fakecgroup_mount.host.mountinfo import mount_of
from fakecgroup_mount.seccomp.listener import CONTINUE, Answer, Call, Descriptor
from fakecgroup_mount.seccomp.process import signed

_FOLLOW, _TO_EMPTY, _BENEATH = 0x10, 0x40, 0x200  # MOVE_MOUNT_T_SYMLINKS, T_EMPTY_PATH, BENEATH
_STAND_IN = "fs-context"
_MOST = 64  # mounts without a place, before the oldest ends


class FsmountCalls:
    """Configures and mounts contexts. A context ends with its memory file."""

    def __init__(self, mounts: MountCalls) -> None:
        self._mounts = mounts
        self._lock = threading.Lock()
        self._made: dict[int, int] = {}
        """Mounts without a place, by their numbers. A descriptor keeps each."""

    def fsopen(self, call: Call) -> Answer:
        """A descriptor of a new context. It cannot be read: there are no messages. Raises EINVAL."""
        name, flags = call.arguments[:2]
        kind = call.memory.read_text(call.tid, name)
        if not may_mount(call.tid):
            return -EPERM if kind in FILE_SYSTEMS else CONTINUE
        if kind not in FILE_SYSTEMS:
            return other_filesystems.fsopen(call, kind, flags)
        check_open(flags)
        held = os.memfd_create(_STAND_IN, os.MFD_CLOEXEC)
        try:
            path = f"/proc/self/fd/{held}"
            _write(FsContext(kind == b"cgroup2", options=FILE_SYSTEMS[kind]), path)
            return Descriptor(os.open(path, os.O_WRONLY | os.O_CLOEXEC), _cloexec(flags))
        finally:
            os.close(held)

    def fsconfig(self, call: Call) -> Answer:
        """Raises EINVAL, EBUSY, EPERM, EOPNOTSUPP in the kernel's order (fsconfig, vfs_fsconfig_locked)."""
        fd, number, key, value, auxiliary = call.arguments[:5]
        path = fd_path(call.tid, signed(fd))
        with self._lock:
            context = _read(path)
            if context is None or not call.waits():
                return CONTINUE
            command = check_arguments(number, key, value, auxiliary)
            if command in (Command.SET_FLAG, Command.SET_STRING):
                context.check_configurable()
                name = os.fsdecode(call.memory.read_text(call.tid, key))
                text = os.fsdecode(call.memory.read_text(call.tid, value)) if value else None
                _write(context.configured(self._mounts.options, name, text), path)
            else:
                self._create(call.tid, context, command, path)
        return 0

    def _create(self, tid: int, context: FsContext, command: Command, path: str) -> None:
        """Finds what to mount. Raises EBUSY, EPERM, EINVAL."""
        _write(context.begin(command, may_mount=may_mount(tid)), path)
        check_exists(command)
        options = [option for option in context.options if not option.startswith("source=")]
        root = self._mounts.root(tid, context.unified, options)
        self._mounts.apply(tid, context.unified, options)
        _write(context.created(root), path)

    def fsmount(self, call: Call) -> Answer:
        """A descriptor of the root of a new mount. Raises EPERM, EINVAL, EBUSY in the kernel's order."""
        fd, flags, attributes = call.arguments[:3]
        path = fd_path(call.tid, signed(fd))
        with self._lock:
            context = _read(path)
            if context is None or not call.waits():
                return CONTINUE
            context.check_mount(flags, attributes, may_mount=may_mount(call.tid))
            made = self._mounts.detached(call.tid, context.root, attributes, os.fsencode(context.source))
            try:
                shown = os.open(f"/proc/self/fd/{made}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            except OSError:
                os.close(made)
                raise
            self._keep(made)
            _write(context.mounted(), path)
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


def _write(context: FsContext, path: str) -> None:
    """Writes a context to the memory file at a path of the daemon's, as JSON. Raises OSError."""
    import json  # takes a while to load

    fd = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
    try:
        os.write(fd, json.dumps(context).encode())
    finally:
        os.close(fd)


def _read(path: str) -> FsContext | None:
    """The context at a path of the daemon's. None for any other file: then the kernel itself answers."""
    import json

    try:
        if not os.readlink(path).startswith(f"/memfd:{_STAND_IN}"):
            return None
        with open(path) as file:
            unified, phase, options, root = json.load(file)
    except OSError:
        return None
    return FsContext(unified, Phase(phase), tuple(options), root)


def _cloexec(flags: int) -> int:
    return os.O_CLOEXEC if flags & FSMOUNT_CLOEXEC else 0
