"""A kernel of the model on which recorded processes do again what they did."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from errno import EINVAL, errorcode
from typing import Any

from ..base_files.attach import PID_FILES
from ..conformance.case import Answer, Case, bytes_data
from ..conformance.target import UnsupportedError
from ..conformance.target_model import Actor, ModelTable, ModelTarget, descriptor
from ..core.cgroup import Cgroup
from ..core.cgroup_file import CgroupFile
from ..core.hierarchy import Hierarchy
from ..credentials.capability import ALL, NONE, Capability
from ..credentials.permission import MAY_EXEC
from ..kernel import PATH_MAX
from ..kernfs.inode import TopDirectory
from ..machine import mount_options, options
from ..machine.learnt import LearntKernel
from ..machine.personality import Personality, choose
from ..outside.mount_parameters import FILE_SYSTEMS, MountOptions
from ..outside.proc_files import cgroup_text
from . import words
from .call import Call
from .trace_file import Head

_DIRECTOR = 1 << 30  # the number of the process that places others; no process of a machine has one as great
_TRIAL = _DIRECTOR + 1  # that of a child that is made to see whether it can be
_BEGAN = 1_000_000_000_000_000_000  # ns: when the trace began
_PROC_CGROUP = re.compile(r"/proc/(self|thread-self|[0-9]{1,9})(?:/task/[0-9]+)?/cgroup")
_EVENTFD, _WATCHED, _NOT_OPEN = "e", "w", "n"  # names of files
_REFUSED = "refused"  # the name of a file that was not opened on the recorded kernel


class NotPlayedError(Exception):
    """A call that cannot be made again; the text says why. `follows`: because an earlier call had another answer."""

    def __init__(self, why: str, *, follows: bool = False) -> None:
        super().__init__(why)
        self.follows = follows


class RecordedTable(ModelTable):
    """Processes with the numbers that they had. One that is killed lives until the trace tells of its end.

    `followed` has those whose end the trace tells.
    """

    def __init__(self) -> None:
        super().__init__()
        self._next = _DIRECTOR
        self.followed: set[int] = set()

    def number_next(self, tid: int) -> None:
        """Gives the next task this number."""
        self._next = tid

    def kill(self, tgid: int) -> None:
        if tgid not in self.followed:
            super().kill(tgid)


class Stage(ModelTarget):
    """The tree of a trace on another kernel, or on its own.

    `layout` and `kernel` are those to play; the machine is the trace's. Raises ValueError for a kernel that cannot play
    the layout.
    """

    def __init__(self, head: Head, layout: str, kernel: str | LearntKernel) -> None:
        personality = kernel.personality(layout) if isinstance(kernel, LearntKernel) else choose(layout, kernel)
        super().__init__(layout, kernel, description=_machine(head.machine, personality))
        self._processes: dict[int, Actor] = {}  # by thread number
        self._assumed: list[tuple[str, bytes]] = []
        self._roots: dict[int, list[Cgroup]] = {}  # of a cgroup namespace, by thread
        self._with_namespace: set[int] = set()  # processes whose next child has a cgroup namespace of its own
        self.start(Case("trace", layout, ()))
        self._director = self.actor
        self._director.umask = 0  # the recorded modes are those after it
        self._mounting = MountOptions(self.kernel.hierarchies, personality)

    def _new_table(self) -> RecordedTable:
        self._recorded = RecordedTable()
        return self._recorded

    def _expand(self, data: bytes) -> bytes:
        return data  # the numbers are the recorded ones

    # -- processes --------------------------------------------------------------------------------

    def note(self, call: Call) -> None:
        """What became of processes."""
        self.settle_assumed()
        self._pass_until(call.t)
        if max(call.pid, call.tid) >= _DIRECTOR:
            return  # no process has that number
        if call.op == "process":
            self._introduce(call)
        elif call.op == "fork":
            self._fork(call)
        elif call.op == "thread" and isinstance(call.result, int) and 2 < call.result < _DIRECTOR:
            self._process(call.result, call.pid)
        elif call.op == "fault" and call.result == "vanish":
            self._vanish(call.path)
        elif call.op in ("exit", "reap"):
            self._end(call.pid, reaped=call.op == "reap")

    def _pass_until(self, t: float) -> None:
        wait = _BEGAN + int(t * 1e9) - self.now
        if wait >= 1_000_000:
            self._do_settle(wait // 1_000_000)

    def _introduce(self, call: Call) -> None:
        told = call.result if isinstance(call.result, dict) else {}
        actor = self._process(call.tid, call.pid)
        actor.uid, actor.gid = _number(told, "uid"), _number(told, "gid")
        groups = told.get("groups")
        actor.groups = frozenset(filter(_is_number, groups if isinstance(groups, list) else ()))
        actor.effective = _capabilities(told.get("capabilities"), actor.uid)
        actor.permitted = _capabilities(told["permitted"], actor.uid) if "permitted" in told else actor.effective
        actor.namespace = actor.tid if told.get("user_namespace") else 0
        self.table.set_uid(actor.tid, actor.uid, actor.uid)
        self.table.grant(actor.tid, actor.privileges())

    def _fork(self, call: Call) -> None:
        child = call.result
        if not isinstance(child, int) or not 2 < child < _DIRECTOR:
            return
        self._end(child, reaped=True)  # its number is in use again
        parent = self._processes.get(call.pid)
        if parent is None or not self._lives(parent):
            parent = self._director
        actor = self._bear(parent, child, into=self._cgroups(call.more.get("cgroups")))
        if call.pid in self._with_namespace:
            self._with_namespace.remove(call.pid)
            self.actor = actor
            self._unshare(call)
            self.actor = self._director

    def _vanish(self, path: str) -> None:
        """A fault has removed the cgroup of a file, or of a directory, with all below."""
        try:
            inode = self.kernel.walk(path)
            cgroup = inode.cgroup if isinstance(inode, CgroupFile) else inode
            if isinstance(cgroup, Cgroup):
                for one in reversed([cgroup, *cgroup.descendants()]):
                    cgroup.hierarchy.rmdir(one)
        except OSError:
            pass  # it is not there on this kernel

    def _cgroups(self, told: object) -> list[Cgroup]:
        """Where a process was forked: its parent may not be its father (CLONE_PARENT).

        Where this kernel has not such a cgroup, nothing is said of its hierarchy.
        """
        if not isinstance(told, list):
            return []
        found = {hierarchy: hierarchy.root for hierarchy in self.kernel.hierarchies}
        for path in told:
            try:
                cgroup = self.kernel.walk(path) if isinstance(path, str) else None
            except OSError:
                hierarchy = self._hierarchy(path)
                if hierarchy is not None:
                    found.pop(hierarchy, None)
                continue
            if isinstance(cgroup, Cgroup):
                found[cgroup.hierarchy] = cgroup
        return list(found.values())

    def _hierarchy(self, path: str) -> Hierarchy | None:
        """The hierarchy that a path is in, whether it is there or not."""
        root = self.kernel.root
        top = root.find(path.partition("/")[0]) if isinstance(root, TopDirectory) else root
        return top.hierarchy if isinstance(top, Cgroup) else None

    def _process(self, tid: int, tgid: int) -> Actor:
        """The process or thread with a number; a new one is made where the leader is, or in the root."""
        actor = self._processes.get(tid)
        if actor is None:
            leader = self._director if tid == tgid else self._process(tgid, tgid)
            actor = self._bear(leader, tid, thread=tid != tgid)
        return actor

    def _bear(self, parent: Actor, tid: int, *, thread: bool = False, into: Collection[Cgroup] = ()) -> Actor:
        """A new process or thread in the cgroups `into`, else where its parent is. No limit refuses it."""
        if self.table.find(tid) is None:
            self._recorded.number_next(tid)
            self.kernel.forked(parent.tid, thread=thread, into=into)
        before, self.actor = self.actor, parent
        self._add(str(tid), tid, thread=True)  # so that all have the same open files, which have a number each
        self.actor = before
        actor = self._processes[tid] = self.actors[str(tid)]
        if parent.tid in self._roots:
            self._roots[tid] = self._roots[parent.tid]
        self._recorded.followed.add(tid)
        return actor

    def _end(self, tid: int, *, reaped: bool) -> None:
        task = self.table.find(tid)
        if task is not None and tid > 2:
            if not task.zombie:
                self.table.exit(tid)
            for thread in self.table.threads(tid) if reaped else ():
                self.table.exit(thread)
            if reaped and self.table.find(tid) is not None:
                self.table.reap(tid)
                self.kernel.task_reaped(tid)
        if self.table.find(tid) is None:
            self._processes.pop(tid, None)
            self._roots.pop(tid, None)
            self.actors.pop(str(tid), None)
            self.pids.pop(tid, None)
            self._recorded.followed.discard(tid)

    def _lives(self, actor: Actor) -> bool:
        task = self.table.find(actor.tid)
        return task is not None and not task.zombie

    # -- calls ------------------------------------------------------------------------------------

    def play(self, call: Call) -> Answer:
        """The errno that this kernel gives, or None and the value. Raises NotPlayedError."""
        if call.more.get("assumed"):
            self._assume(call)
            return (None, None)
        self.settle_assumed()
        do = _CALLS.get(call.op)
        if _PROC_CGROUP.fullmatch(call.path):
            do = Stage._places
        elif do is None or (call.path.startswith("/") and call.op != "mount"):
            raise NotPlayedError("it is about no file of the tree")
        handle = call.more.get("handle")
        if max(call.pid, call.tid) >= _DIRECTOR:
            raise NotPlayedError("no process has that number")
        if call.more.get("fault") and call.errno is not None:
            raise NotPlayedError("a fault has answered it")
        if len(call.path) >= PATH_MAX:
            raise NotPlayedError("a path that long is found in several steps")
        if call.more.get("removed") and handle is None:
            raise NotPlayedError("its file is removed, and no path leads there")
        if handle is not None and str(handle) not in self._director.handles:
            raise NotPlayedError("its file is not open here", follows=True)
        self._pass_until(call.t)
        if call.op == "write" and call.file in PID_FILES and call.errno != "ESRCH":
            self._expect(call)
        self.actor = self._process(call.tid, call.pid)
        try:
            if not self._lives(self.actor):
                raise NotPlayedError("its process has ended here", follows=True)
            error, value = do(self, call)
            return (None if error is None else error.partition("@")[0], value)
        except UnsupportedError as error:
            raise NotPlayedError(str(error)) from None
        except ValueError as error:  # of a trace that somebody has written
            raise NotPlayedError(f"it has wrong arguments: {error}") from None
        finally:
            self.actor = self._director

    def _assume(self, call: Call) -> None:
        """Brings the tree to the state in which the trace begins, as far as this kernel has it."""
        if call.op == "write":
            self._assumed.append((call.path, call.data or b""))
            return
        self.settle_assumed()
        try:
            if call.op in _ASSUMED:
                _CALLS[call.op](self, call)
        except (OSError, UnsupportedError, ValueError, NotPlayedError):
            pass

    def settle_assumed(self) -> None:
        """Writes the settings of that state, again and again, as one may depend on another."""
        left, self._assumed = self._assumed, []
        before = len(left) + 1
        while left and len(left) < before:
            before = len(left)
            left = [setting for setting in left if not self._set(*setting)]

    def _set(self, path: str, data: bytes) -> bool:
        try:
            self.kernel.write(path, data)
        except OSError:
            return False
        return True

    def _expect(self, call: Call) -> None:
        """A process that is moved is there, though it may have made no call."""
        number = pid_written(call)
        if 2 < number < _DIRECTOR and self.table.find(number) is None:
            self._process(number, number)
            self._recorded.followed.discard(number)

    def _on_path(self, op: str, call: Call, *arguments: Any) -> Answer:
        return self.do((op, call.path, *arguments))

    def _on_handle(self, op: str, call: Call, *arguments: Any) -> Answer:
        if "handle" not in call.more:
            raise ValueError("it has no handle")
        return self.do((op, str(call.more["handle"]), *arguments))

    def _open_file(self, call: Call) -> Answer:
        name = _REFUSED if call.result is None else str(call.result)
        answer = self.do(("open", name, call.path, words.OPEN.number(call.more.get("flags", 0)), _mode(call)))
        self._director.handles.pop(_REFUSED, None)
        return answer

    def _read_file(self, call: Call) -> Answer:
        return self._on_handle("fpread", call, call.number("size"), call.number("offset"))

    def _write_file(self, call: Call) -> Answer:
        data = bytes_data(call.data or b"")
        if call.file in PID_FILES and "target" in call.more:
            data = str(call.number("target"))
        elif "descriptors" in call.more:
            data = self._with_descriptors(call, data)
        return self._on_handle("fwrite", call, data)

    def _with_descriptors(self, call: Call, data: str) -> str:
        """What is written to cgroup.event_control, with the numbers that these open files have here."""
        told = call.more["descriptors"]
        parts = data.split(" ")
        for index, path in enumerate(told if isinstance(told, list) else ()):
            if index < len(parts):
                parts[index] = str(self._descriptor(path))
        return " ".join(parts)

    def _descriptor(self, path: object) -> int:
        """The number of an open file: of one of the tree by its path, of an eventfd, of any other one."""
        if path == "eventfd":
            self.do(("eventfd", _EVENTFD))
            return descriptor(_EVENTFD)
        if path == "other":
            return 0
        try:
            inode = self.kernel.walk(path) if isinstance(path, str) else None
        except OSError:
            inode = None
        handles = self._director.handles
        found = next((handle for handle in handles.values() if handle.inode is inode), None)
        if found is None:
            return descriptor(_NOT_OPEN)
        handles[_WATCHED] = found  # a name whose number is short
        return descriptor(_WATCHED)

    def _stat_file(self, call: Call) -> Answer:
        return self._on_handle("fstat", call) if "handle" in call.more else self._on_path("stat", call)

    def _truncate(self, call: Call) -> Answer:
        size = call.number("size")
        return (
            self._on_handle("ftruncate", call, size) if "handle" in call.more else self._on_path("truncate", call, size)
        )

    def _access(self, call: Call) -> Answer:
        """FUSE asks the same for access(2), which goes by the real ids, and for chdir(2)."""
        mask = words.ACCESS.number(call.more.get("mask", 0))
        if mask == MAY_EXEC:
            try:
                self.vfs.access(self.kernel.walk(call.path, self.actor.caller), mask, self.actor.caller)
            except OSError as error:
                return _refused(error)
            return (None, None)
        return self._on_path("access", call, mask)

    def _chown(self, call: Call) -> Answer:
        """The ids are those of the tree's user namespace already."""
        try:
            self.kernel.chown(call.path, call.number("uid", -1), call.number("gid", -1), self.actor.caller)
        except OSError as error:
            return _refused(error)
        return (None, None)

    def _list(self, call: Call) -> Answer:
        return (None, None) if "handle" in call.more else self._on_path("listdir", call)

    def _clone(self, call: Call) -> Answer:
        """Whether a child can be made. It is made once the trace tells its number."""
        caller = self.actor.caller
        self._recorded.number_next(_TRIAL)
        try:
            if call.path:
                self.kernel.clone_into(self.actor.tid, call.path, caller)
            else:
                self.kernel.fork(self.actor.tid)
        except OSError as error:
            return _refused(error)
        self._end(_TRIAL, reaped=True)
        if "CLONE_NEWCGROUP" in call.text("flags"):
            self._with_namespace.add(call.pid)
        return (None, None)

    def _places(self, call: Call) -> Answer:
        """The text of /proc/PID/cgroup."""
        found = _PROC_CGROUP.fullmatch(call.path)
        assert found is not None
        number = int(found[1]) if found[1].isdigit() else call.tid
        task = self.table.find(number)
        if call.data is None or call.errno is not None or task is None:
            raise NotPlayedError("which process that is nobody knows")
        hierarchies = self.kernel.hierarchies
        roots = self._roots.get(self.actor.tid) or [one.root for one in hierarchies]
        return (None, cgroup_text(task, [one.locate(task) for one in hierarchies], roots))

    def _unshare(self, call: Call) -> Answer:
        self._roots[self.actor.tid] = [hierarchy.cgroup_of(self.actor.tid) for hierarchy in self.kernel.hierarchies]
        if any(hierarchy.dfl for hierarchy in self.kernel.hierarchies):
            return self.do(("unshare",))
        return (None, None)

    def _mount(self, call: Call) -> Answer:
        """Whether this kernel knows the options; where the mount is to be matters to no kernel."""
        if call.errno not in (None, "EINVAL"):
            raise NotPlayedError("what is mounted where is not in the trace")
        kind = os.fsencode(call.text("type"))
        if kind not in FILE_SYSTEMS:
            raise NotPlayedError("it is about no cgroup file system")
        try:
            self._mounting.parse_data(kind == b"cgroup2", os.fsdecode(call.data or b""), FILE_SYSTEMS[kind])
        except OSError as error:
            return _refused(error)
        return (None, None)


_ASSUMED = ("mkdir", "chown", "chmod", "setxattr", "open")

Play = Callable[[Stage, Call], Answer]

_CALLS: Mapping[str, Play] = {
    "open": Stage._open_file,
    "close": lambda stage, call: stage._on_handle("close", call),
    "read": Stage._read_file,
    "write": Stage._write_file,
    "lseek": lambda stage, call: stage._on_handle("lseek", call, call.number("offset"), call.text("whence")),
    "poll": lambda stage, call: stage._on_handle("poll", call, words.POLL.number(call.more.get("events", 0))),
    "fsync": lambda stage, call: stage._on_handle("fsync", call),
    "stat": Stage._stat_file,
    "lookup": lambda stage, call: stage._on_path("stat", call),
    "statfs": lambda stage, call: stage._on_path("statfs", call),
    "access": Stage._access,
    "readlink": lambda stage, call: stage._on_path("readlink", call),
    "listdir": Stage._list,
    "mkdir": lambda stage, call: stage._on_path("mkdir", call, _mode(call, "0755")),
    "rmdir": lambda stage, call: stage._on_path("rmdir", call),
    "unlink": lambda stage, call: stage._on_path("unlink", call),
    "rename": lambda stage, call: stage._on_path(
        "rename", call, call.text("to"), words.RENAME.number(call.more.get("flags", 0))
    ),
    "link": lambda stage, call: stage._on_path("link", call, call.text("to")),
    "symlink": lambda stage, call: stage.do(("symlink", bytes_data(call.data or b""), call.path)),
    "mknod": lambda stage, call: stage._on_path("mknod", call, _mode(call), call.number("device")),
    "truncate": Stage._truncate,
    "chmod": lambda stage, call: stage._on_path("chmod", call, _mode(call)),
    "chown": Stage._chown,
    "utimens": lambda stage, call: stage._on_path("utimens", call, call.number("atime"), call.number("mtime")),
    "setxattr": lambda stage, call: stage._on_path(
        "setxattr", call, call.text("name"), bytes_data(call.data or b""), words.XATTR.number(call.more.get("flags", 0))
    ),
    "getxattr": lambda stage, call: stage._on_path("getxattr", call, call.text("name"), call.number("size")),
    "listxattr": lambda stage, call: stage._on_path("listxattr", call),
    "removexattr": lambda stage, call: stage._on_path("removexattr", call, call.text("name")),
    "clone3": Stage._clone,
    "clone": Stage._clone,
    "fork": Stage._clone,
    "vfork": Stage._clone,
    "unshare": Stage._unshare,
    "mount": Stage._mount,
}
"""How each operation is made again. What is not here is about no file of the tree."""


def _refused(error: OSError) -> Answer:
    return (errorcode[error.errno or EINVAL], None)


def shows_places(call: Call) -> bool:
    """Whether a call has opened a /proc/PID/cgroup, whose text is its data."""
    return _PROC_CGROUP.fullmatch(call.path) is not None and call.data is not None


def pid_written(call: Call) -> int:
    """The number of the process or thread that a write to one of PID_FILES moves; 0 for the caller, -1 for none."""
    digits = (call.data or b"").strip()
    number = int(digits) if digits.isdigit() and len(digits) <= 10 else -1
    return call.number("target", number)


def _machine(told: Mapping[str, Any], personality: Personality) -> dict[str, Any]:
    """The machine as `ModelTarget` takes it, with what this kernel knows of the mount options."""
    given = {name: options.read(name, told.get(name)) for name in options.DEFAULTS if name not in ("layout", "kernel")}
    known = mount_options.of_kernel(personality)
    given["mount_options"] = [option for option in given["mount_options"] if option in known]
    given["nodes"] = given.pop("numa_nodes")
    return given


def _mode(call: Call, default: str = "0") -> int:
    """The mode of a call, which is a text of octal digits. Raises ValueError."""
    return int(call.text("mode") or default, 8) & 0o177777


def _number(told: Mapping[str, Any], key: str) -> int:
    found = told.get(key, 0)
    return int(found) if _is_number(found) else 0


def _is_number(value: object) -> bool:
    """Whether it may be an id."""
    return isinstance(value, int) and 0 <= value < 1 << 32


def _capabilities(text: object, uid: int) -> Capability:
    """The capabilities of a text of names; those of an uid where there is none."""
    if not isinstance(text, str):
        return NONE if uid else ALL
    if text == "all":
        return ALL
    found: Iterable[str] = text.split("|") if text not in ("", "none") else ()
    made = NONE
    for name in found:
        if name in Capability.__members__:
            made |= Capability[name]
    return made
