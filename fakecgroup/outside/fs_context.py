"""A file system context for a cgroup mount: what it takes when (fsopen(2), fsconfig(2), fsmount(2)).

Sources: fs/fsopen.c (fsconfig, vfs_fsconfig_locked), fs/namespace.c (fsmount). The answers are those to the root of a
user namespace: the file system exists already and belongs to another user namespace, so it is not reconfigured.
"""

from __future__ import annotations

from enum import Enum, IntEnum
from errno import EBUSY, EINVAL, EOPNOTSUPP, EPERM

from ..named_tuple import NamedTuple
from ..refuse import refuse
from .mount_parameters import MountOptions

FSOPEN_CLOEXEC = FSMOUNT_CLOEXEC = 1

ATTRIBUTES = 0x2000FF
"""MOUNT_ATTR_*: read-only, nosuid, nodev, noexec, those of access times, nosymfollow."""

ATIME = 0x70
"""MOUNT_ATTR__ATIME: the attributes of access times, one at most."""

_ATIMES = (0, 0x10, 0x20)  # MOUNT_ATTR_RELATIME, NOATIME, STRICTATIME


class Command(IntEnum):
    """enum fsconfig_command."""

    SET_FLAG = 0
    SET_STRING = 1
    SET_BINARY = 2
    SET_PATH = 3
    SET_PATH_EMPTY = 4
    SET_FD = 5
    CREATE = 6
    RECONFIGURE = 7
    CREATE_EXCL = 8


class Phase(str, Enum):
    """enum fs_context_phase, without those that a call passes through."""

    PARAMETERS = "parameters"
    MOUNT = "mount"
    RECONFIGURE = "reconfigure"
    FAILED = "failed"


def check_open(flags: int) -> None:
    """Raises EINVAL for a flag that fsopen(2) does not have."""
    if flags & ~FSOPEN_CLOEXEC:
        raise refuse(EINVAL)


def check_arguments(command: int, key: int, value: int, auxiliary: int) -> Command:
    """The command of fsconfig(2). `key` and `value` are addresses, 0 for none.

    Raises EOPNOTSUPP for an unknown command. Raises EINVAL for arguments that the command does not take, and for the
    kinds of values that no option of a cgroup file system has.
    """
    if command not in Command.__members__.values():
        raise refuse(EOPNOTSUPP)
    known = Command(command)
    if Command.SET_BINARY <= known <= Command.SET_FD:
        raise refuse(EINVAL)
    sets = known in (Command.SET_FLAG, Command.SET_STRING)
    if bool(key) is not sets or bool(value) is not (known == Command.SET_STRING) or auxiliary:
        raise refuse(EINVAL)
    return known


class FsContext(NamedTuple):
    """The state of a context: its options in the words of mount(2), and what will be mounted once that is known."""

    unified: bool
    phase: Phase = Phase.PARAMETERS
    options: tuple[str, ...] = ()
    root: str = ""

    @property
    def source(self) -> str:
        """The option `source`: what mountinfo will show."""
        given = (option.partition("=") for option in self.options)
        return next((value for name, _, value in given if name == "source"), "none")

    def check_configurable(self) -> None:
        """Raises EBUSY where no option can be set any more."""
        if self.phase not in (Phase.PARAMETERS, Phase.RECONFIGURE):
            raise refuse(EBUSY)

    def configured(self, known: MountOptions, name: str, value: str | None) -> FsContext:
        """The context with one option more. Raises EINVAL for one that the kernel does not take."""
        option = known.parse(self.unified, name, value, self.options)
        return self if option is None else self._replace(options=(*self.options, option))

    def begin(self, command: Command, *, may_mount: bool) -> FsContext:
        """The context while CREATE, RECONFIGURE or CREATE_EXCL is done: it has failed unless it is `created`.

        Raises EBUSY where it is not the time for the command, EPERM for a caller that may not mount.
        """
        wanted = Phase.RECONFIGURE if command == Command.RECONFIGURE else Phase.PARAMETERS
        if self.phase != wanted:
            raise refuse(EBUSY)
        if not may_mount:
            raise refuse(EPERM)
        return self._replace(phase=Phase.FAILED)

    def created(self, root: str) -> FsContext:
        """The context that can be mounted. `root` is what a mount will have as its root."""
        return self._replace(phase=Phase.MOUNT, root=root)

    def check_mount(self, flags: int, attributes: int, *, may_mount: bool) -> None:
        """Raises what fsmount(2) does, in its order: EPERM, EINVAL for flags and attributes, EBUSY or EINVAL."""
        if not may_mount:
            raise refuse(EPERM)
        if flags & ~FSMOUNT_CLOEXEC or attributes & ~ATTRIBUTES or attributes & ATIME not in _ATIMES:
            raise refuse(EINVAL)
        if self.phase != Phase.MOUNT:
            raise refuse(EBUSY if self.phase == Phase.RECONFIGURE else EINVAL)

    def mounted(self) -> FsContext:
        """The context after a mount was made of it."""
        return self._replace(phase=Phase.RECONFIGURE, options=())


def check_exists(command: Command) -> None:
    """Raises what a command gets as the file system exists: EBUSY for CREATE_EXCL, EPERM for RECONFIGURE."""
    if command == Command.RECONFIGURE:
        raise refuse(EPERM)
    if command == Command.CREATE_EXCL:
        raise refuse(EBUSY)
