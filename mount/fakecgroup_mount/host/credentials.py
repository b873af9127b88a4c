"""The ids, capabilities and namespaces of a thread (proc_pid_status(5), namespaces(7)).

All files of a thread are opened through one descriptor of its directory in /proc, so they never belong to a later
thread with the same number. The caller of a FUSE request keeps its number until the request is answered.
"""

from __future__ import annotations

import os

from fakecgroup.credentials.capability import ALL, ALL_PRIVILEGES, NO_PRIVILEGES, Privileges
from fakecgroup.named_tuple import NamedTuple

NamespaceId = tuple[int, int]
"""Device and inode number."""

_MUCH = 8192  # bytes
_SEEN = ("ns/mnt", "ns/pid", "ns/net", "ns/ipc", "ns/uts")


class View(NamedTuple):
    """The part of the machine that a process sees: its root directory, namespaces and seccomp filters."""

    root: NamespaceId
    namespaces: tuple[NamespaceId, ...]
    filters: bytes  # of seccomp(2)


class Ids:
    """The ids of a user namespace, from its uid_map or gid_map. `shown` translates the model's ids to the map's."""

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
        """The id of the namespace's root, as we see it; None if it has none."""
        return next((first for inside, first, _ in self._ranges if inside == 0), None)


class Credentials(Privileges):
    """The credentials of a thread, with ids as our user namespace has them. Made for one request."""

    __slots__ = ("_status", "pid", "root", "view")

    def __init__(self, pid: int, status: bytes) -> None:
        super().__init__(_capabilities(status, b"\nCapEff:"), _capabilities(status, b"\nCapPrm:"))
        self.pid = pid
        self._status = status
        self.root: int | None = None
        """The uid of the user namespace's root; None if it cannot be read."""
        self.view: View | None = None

    def to_keep(self) -> Credentials:
        """These credentials with the thread's present view."""
        self.view = view_of(self.pid)
        return self

    @property
    def uid(self) -> int:
        """The file system uid."""
        return _fsid(self._status, b"\nUid:")

    @property
    def gid(self) -> int:
        """The file system gid."""
        return _fsid(self._status, b"\nGid:")

    @property
    def groups(self) -> list[int]:
        return _groups(self._status)

    @property
    def held(self) -> int:
        """The effective capabilities, also where the mounter plays root."""
        return _capabilities(self._status, b"\nCapEff:")

    @property
    def bounding(self) -> int:
        """The bounding set: the most capabilities after execve(2)."""
        return _capabilities(self._status, b"\nCapBnd:")

    @property
    def no_new_privileges(self) -> bool:
        return _line(self._status, b"\nNoNewPrivs:") == b"1"


def view_of(pid: int | str) -> View | None:
    """The view of a process; None if it cannot be read."""
    try:
        directory = os.open(f"/proc/{pid}", os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        status = _read(directory, "status")
        filters = _line(status, b"\nSeccomp_filters:") or _line(status, b"\nSeccomp:")
        return View(_identity(directory, "root"), tuple([_identity(directory, kind) for kind in _SEEN]), filters)
    except OSError:
        return None
    finally:
        os.close(directory)


def groups_of(pid: int) -> list[int]:
    """The supplementary groups of a thread; empty once it is gone."""
    try:
        return _groups(_read(None, f"/proc/{pid}/status"))
    except (FileNotFoundError, ProcessLookupError):
        return []


class Mounter:
    """The mounter of a tree: the user of this process.

    In our user namespace the mounter counts as root with all capabilities. So does each thread with our uid and our
    capabilities; if /proc is another pid namespace's, each with our uid. `shown_uid` and `shown_gid` translate the
    model's ids to those of programs.
    """

    def __init__(self, uid: int, shown_uid: dict[int, int], shown_gid: dict[int, int]) -> None:
        self._uid = uid
        self._shown_uid, self._shown_gid = shown_uid, shown_gid
        # whether /proc is another pid namespace's
        self._blind = os.readlink("/proc/self") != str(os.getpid())
        found = os.stat("/proc/self/ns/user")
        self._namespace = found.st_dev, found.st_ino
        with open("/proc/self/status", "rb") as file:
            self._held = _capabilities(file.read(), b"\nCapEff:")

    def privileges(self, pid: int, uid: int | None = None) -> Privileges:
        """The privileges of a thread; none if it cannot be read, or if its file system uid is not `uid` (a kernel
        thread acts for its clients, setfsuid(2)).
        """
        found = self._credentials(pid)
        if found is None or uid not in (None, found.uid):
            return ALL_PRIVILEGES if self._blind and uid == self._uid else NO_PRIVILEGES
        return found

    def by_real_ids(self, pid: int, uid: int) -> Privileges:
        """The privileges for access(2), which uses the real uid: root has its permitted capabilities, others
        have none.
        """
        found = self._credentials(pid)
        if found is None:
            return self.privileges(pid, uid)
        found.effective = found.permitted if uid == found.root else 0
        return found

    def _credentials(self, pid: int) -> Credentials | None:
        if self._blind:
            return None
        try:
            directory = os.open(f"/proc/{pid}", os.O_PATH | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            return self._read(pid, directory)
        except OSError:
            return None  # the thread has ended
        finally:
            os.close(directory)

    def _read(self, pid: int, directory: int) -> Credentials:
        """Raises OSError."""
        found = Credentials(pid, _read(directory, "status"))
        try:
            namespace = _identity(directory, "ns/user")
        except PermissionError:  # a user namespace that we may not read
            found.effective = found.permitted = 0
            found.namespace = None
            return found
        if namespace == self._namespace:
            found.root = self._shown_uid.get(0, 0)
            if found.uid == self._uid:
                found.effective = found.effective if self._held & ~found.effective else ALL
                found.permitted = found.permitted if self._held & ~found.permitted else ALL
            return found
        uids = Ids(_read(directory, "uid_map"), self._shown_uid)
        found.namespace, found.root = namespace, uids.root
        found.uids, found.gids = uids, Ids(_read(directory, "gid_map"), self._shown_gid)
        return found


def _identity(directory: int, name: str) -> NamespaceId:
    found = os.stat(name, dir_fd=directory)
    return found.st_dev, found.st_ino


def _read(directory: int | None, name: str) -> bytes:
    file = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=directory)
    try:
        text = part = os.read(file, _MUCH)
        while part:  # a list of groups or a map may be long
            part = os.read(file, _MUCH)
            text += part
        return text
    finally:
        os.close(file)


def _line(status: bytes, name: bytes) -> bytes:
    """The rest of the line that begins with `name`; empty if there is none."""
    start = status.find(name)
    return status[start + len(name) : status.find(b"\n", start + 1)].strip() if start >= 0 else b""


def _groups(status: bytes) -> list[int]:
    return [int(group) for group in _line(status, b"\nGroups:").split()]


def _capabilities(status: bytes, name: bytes) -> int:
    return int(_line(status, name), 16)


def _fsid(status: bytes, name: bytes) -> int:
    return int(_line(status, name).rpartition(b"\t")[2])
