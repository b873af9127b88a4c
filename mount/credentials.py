"""Who asks: the ids, the capabilities and the view of the machine of a thread (proc_pid_status(5), namespaces(7)).

All that is asked of one thread is asked of one descriptor of its directory in /proc, so that it is never another's who
got the same number. Who made a FUSE request cannot go away, nor can its number be another's, until it is answered.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from fakecgroup.capability import ALL, NO_PRIVILEGES, NONE, Capability, Privileges

Namespace = tuple[int, int]
"""Device and inode number."""

_STATUS = 8192  # bytes; the lines of interest come early
_OVERFLOW = 65534  # what an id that our user namespace has not is shown as
_SEEN = ("mnt", "pid", "net", "ipc", "uts")


class View(NamedTuple):
    """What a process sees of the machine, and how it may speak to the kernel."""

    root: Namespace
    namespaces: tuple[Namespace, ...]
    filters: bytes  # of seccomp(2)


class Ids:
    """The ids of a user namespace, as lines of its map show them to us; `shown` leads from the model's ids to these."""

    def __init__(self, text: bytes, shown: dict[int, int]) -> None:
        self._ranges = [tuple(map(int, line.split())) for line in text.splitlines()]
        self._shown = shown

    def __contains__(self, number: object) -> bool:
        if not isinstance(number, int):
            return False
        number = self._shown.get(number, number)
        return any(first <= number < first + count for _, first, count in self._ranges)

    @property
    def root(self) -> int | None:
        """The id that is 0 there."""
        return next((first for inside, first, _ in self._ranges if inside == 0), None)


@dataclass(frozen=True, slots=True)
class Credentials(Privileges):
    """Of a thread, as our user namespace has the ids. `held` and `bounding` are the capabilities that it really has and
    could have, also where the mounter plays root.
    """

    pid: int = 0
    uid: int = _OVERFLOW
    gid: int = _OVERFLOW
    groups: tuple[int, ...] = ()
    held: int = 0
    bounding: int = 0
    no_new_privileges: bool = False
    root: int | None = field(default=0)
    view: View | None = None

    def to_keep(self) -> Credentials:
        """With its view, which is looked at now."""
        return replace(self, view=view_of(self.pid))


def view_of(pid: int | str) -> View | None:
    """None where it cannot be seen."""
    try:
        directory = os.open(f"/proc/{pid}", os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        status = _read(directory, "status")
        namespaces = tuple(_namespace(directory, f"ns/{kind}") for kind in _SEEN)
        return View(
            _namespace(directory, "root"), namespaces, _line(status, b"Seccomp_filters") or _line(status, b"Seccomp")
        )
    except OSError:
        return None
    finally:
        os.close(directory)


class Mounter:
    """Whoever mounted a tree: us. In our user namespace the mounter is root with all capabilities, and so is who has
    our uid and the capabilities that we have. `shown_uid` and `shown_gid` lead from the model's ids to those of
    programs.
    """

    def __init__(self, uid: int, shown_uid: dict[int, int], shown_gid: dict[int, int]) -> None:
        self._uid = uid
        self._shown_uid, self._shown_gid = shown_uid, shown_gid
        self._namespace = _own_namespace()
        with open("/proc/self/status", "rb") as file:
            self._held = int(_line(file.read(), b"CapEff"), 16)

    def privileges(self, pid: int, uid: int | None = None) -> Privileges:
        """What the thread is privileged to; nothing where it cannot be seen, or where it acts for `uid`, another's file
        system uid (setfsuid(2)), which a kernel thread does for its clients.
        """
        found = self._credentials(pid)
        return NO_PRIVILEGES if found is None or uid not in (None, found.uid) else found

    def by_real_ids(self, pid: int, uid: int) -> Privileges:
        """What counts for access(2), which asks for the real uid: root has what it is permitted, others nothing."""
        found = self._credentials(pid)
        if found is None:
            return NO_PRIVILEGES
        return replace(found, effective=found.permitted if uid == found.root else NONE)

    def _credentials(self, pid: int) -> Credentials | None:
        try:
            directory = os.open(f"/proc/{pid}", os.O_PATH | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            return self._read(pid, directory)
        except OSError:
            return None  # it has ended
        finally:
            os.close(directory)

    def _read(self, pid: int, directory: int) -> Credentials:
        """Raises OSError."""
        status = _read(directory, "status")
        uid, gid = (int(_line(status, name).split()[3]) for name in (b"Uid", b"Gid"))
        held, permitted, bounding = (int(_line(status, name), 16) for name in (b"CapEff", b"CapPrm", b"CapBnd"))
        found = Credentials(
            Capability(held),
            Capability(permitted),
            pid=pid,
            uid=uid,
            gid=gid,
            groups=tuple(map(int, _line(status, b"Groups").split())),
            held=held,
            bounding=bounding,
            no_new_privileges=_line(status, b"NoNewPrivs") == b"1",
            root=self._shown_uid.get(0, 0),
        )
        try:
            namespace = _namespace(directory, "ns/user")
        except PermissionError:  # another's, which we may not look at
            return replace(found, effective=NONE, permitted=NONE, namespace=None, root=None)
        if namespace == self._namespace:
            if uid == self._uid:
                found = replace(
                    found,
                    effective=found.effective if self._held & ~held else ALL,
                    permitted=found.permitted if self._held & ~permitted else ALL,
                )
            return found
        uids = Ids(_read(directory, "uid_map"), self._shown_uid)
        gids = Ids(_read(directory, "gid_map"), self._shown_gid)
        return replace(found, namespace=namespace, uids=uids, gids=gids, root=uids.root)


def _own_namespace() -> Namespace:
    found = os.stat("/proc/self/ns/user")
    return found.st_dev, found.st_ino


def _namespace(directory: int, name: str) -> Namespace:
    found = os.stat(name, dir_fd=directory)
    return found.st_dev, found.st_ino


def _read(directory: int, name: str) -> bytes:
    file = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=directory)
    try:
        return os.read(file, _STATUS)
    finally:
        os.close(file)


def _line(status: bytes, name: bytes) -> bytes:
    """What follows a name; nothing where the kernel has no such line."""
    _, found, rest = status.partition(b"\n" + name + b":")
    return rest.partition(b"\n")[0].strip() if found else b""
