"""Who calls: the process of a thread, its name, its ids and its privileges."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

from fakecgroup import Caller, Privileges
from fakecgroup.credentials.capability import Capability
from fakecgroup_mount.host.shortage import may_keep

_KEPT = 128  # threads whose names are held open
_COMM = 64  # bytes of a name and its newline; that of a kernel thread is longer than TASK_COMM_LEN
_MUCH = 8192  # bytes of a status file
_SOON = 200_000  # ns in which a thread keeps its name: execve(2) takes longer


class Who:
    """A thread that calls. `name` has a newline. `ours` is True for threads of the daemon and for its children, which
    act for others. `parent` and `groups` are those that it had when it was seen first. `more` is what a trace says of
    the thread beside its process.
    """

    __slots__ = (
        *("_named", "_text", "caller", "fd", "gid", "groups", "more", "name", "ours", "parent", "tgid", "tid", "told"),
        *("uid", "watched"),
    )

    def __init__(self, tid: int) -> None:
        status = _status(tid)
        self.tid = tid
        self.tgid = int(status.get(b"Tgid", tid))
        self.parent = int(status.get(b"PPid", 0))
        self.uid = int(status.get(b"Uid", b"0 0 0 0").split()[3])
        self.gid = int(status.get(b"Gid", b"0 0 0 0").split()[3])
        self.groups = [int(group) for group in status.get(b"Groups", b"").split()]
        self.name = _name(tid)
        self._named, self._text = b"", ""
        self.more = {} if self.tid == self.tgid else {"tid": tid}
        self.ours = os.getpid() in (self.tgid, self.parent)
        self.told: tuple[object, ...] = ()
        self.caller: Caller | None = None
        self.watched: Caller | None = None
        self.fd = -1
        try:
            self.fd = os.open(f"/proc/{tid}/comm", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            pass
        if not may_keep(self.fd):
            self.close()

    def text(self, name: bytes) -> str:
        """A name of the thread as text."""
        if name != self._named:
            self._named = name
            self._text = text_of(name)
        return self._text

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


class Callers:
    """The threads that call. One thread at a time may use it.

    `privileges` gives those of a thread. `meet` is called when a thread is seen first, and when its ids or privileges
    are others than before, with what a trace says of it. What a thread may do is looked at again whenever the model
    asks for it.
    """

    def __init__(self, privileges: Callable[[int], Privileges], meet: Callable[[Who, dict[str, Any]], None]) -> None:
        self._privileges = privileges
        self._meet = meet
        self._known: dict[int, Who] = {}
        self._last_caller: Caller | None = None
        self._last: tuple[Who, bytes, Caller]
        self._good_until = 0

    def watched(self, caller: Caller, now: int) -> tuple[Who, bytes, Caller]:
        """The thread of a caller, its name now, and the caller for the model, by which its privileges are seen.

        `now` is in ns.
        """
        if caller is self._last_caller and now < self._good_until:
            return self._last
        found = self._watched(caller)
        if not caller.pid:  # the kernel module's own requests stand between those of programs
            return found
        self._last, self._last_caller = found, caller
        self._good_until = now + _SOON
        return found

    def _watched(self, caller: Caller) -> tuple[Who, bytes, Caller]:
        who, name = self.of(caller.pid)
        if who.caller is not caller:
            self.note(who, caller.uid, caller.gid)
            asked = caller.capabilities
            who.caller = who.watched = caller
            if callable(asked):
                who.watched = caller._replace(capabilities=partial(self._look, who, asked))
        assert who.watched is not None
        return who, name, who.watched

    def of(self, tid: int) -> tuple[Who, bytes]:
        """A thread and its name, which is read each time, as execve(2) changes it."""
        who = self._known.get(tid)
        if who is not None:
            if not tid:
                return who, who.name
            try:
                return who, os.pread(who.fd, _COMM, 0)
            except OSError:  # it has ended, and this is another one; or its name is not held open
                if who.fd < 0:
                    return who, _name(tid) or who.name
                self._known.pop(tid).close()
        if len(self._known) >= _KEPT:
            self._known.pop(next(iter(self._known))).close()
        who = self._known[tid] = Who(tid)
        return who, who.name

    def note(self, who: Who, uid: int, gid: int | None) -> None:
        """The thread has these ids, as the model has them; None is what is known of its group."""
        if gid is None:
            gid = who.caller.gid if who.caller is not None else who.gid
        if who.tid and not who.ours:
            self._tell(who, uid, gid, self._privileges(who.tid))

    def close(self) -> None:
        while self._known:
            self._known.popitem()[1].close()

    def _look(self, who: Who, asked: Callable[[], Privileges]) -> Privileges:
        found = asked()
        if who.caller is not None and not who.ours:
            self._tell(who, who.caller.uid, who.caller.gid, found)
        return found

    def _tell(self, who: Who, uid: int, gid: int, privileges: Privileges) -> None:
        told = (uid, gid, privileges.effective, privileges.permitted, privileges.namespace)
        if told != who.told:
            who.told = told
            self._meet(who, described(who, uid, gid, privileges))


def described(who: Who, uid: int, gid: int, privileges: Privileges) -> dict[str, Any]:
    """What a trace says of a thread."""
    found: dict[str, Any] = {"parent": who.parent, "uid": uid, "gid": gid}
    if who.groups:
        found["groups"] = who.groups
    found["capabilities"] = capabilities_text(privileges.effective)
    if privileges.permitted != privileges.effective:
        found["permitted"] = capabilities_text(privileges.permitted)
    if privileges.namespace != 0:
        found["user_namespace"] = "another"
    return found


def capabilities_text(capabilities: int) -> str:
    """The names of capabilities, or "all" or "none"."""
    known = [one for one in Capability if capabilities & one]
    if len(known) == len(Capability):
        return "all"
    return "|".join(one.name or hex(one) for one in known) or "none"


def parent_of(tid: int) -> tuple[int, str]:
    """The parent of a process and its name; 0 and "" for none."""
    parent = int(_status(tid).get(b"PPid", 0))
    return parent, text_of(_name(parent)) if parent else ""


def text_of(name: bytes) -> str:
    """The name of a thread as /proc/TID/comm has it, without the newline."""
    return name[:-1].decode("utf-8", "backslashreplace")


def _name(tid: int) -> bytes:
    """The name of a thread with a newline; empty once it is gone."""
    try:
        with open(f"/proc/{tid}/comm", "rb", buffering=0) as file:
            return file.read(_COMM)
    except OSError:
        return b""


def _status(tid: int) -> dict[bytes, bytes]:
    """The fields of /proc/TID/status; empty once it is gone."""
    try:
        with open(f"/proc/{tid}/status", "rb", buffering=0) as file:
            lines = file.read(_MUCH).split(b"\n")
    except OSError:
        return {}
    return {name: value.strip() for name, _, value in (line.partition(b":") for line in lines)}
