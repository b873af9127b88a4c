"""Takes the FUSE requests of a mounted tree for a trace, each with its reply. `requests_read` reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from errno import EIO
from struct import Struct
from time import monotonic_ns
from typing import TYPE_CHECKING, Any

from fakecgroup import Caller, EventFd, OpenFile, TaskInfo
from fakecgroup.base_files.attach import PID_FILES
from fakecgroup.core.cgroup_file import CgroupFile
from fakecgroup.kernfs.inode import Inode
from fakecgroup.trace import words
from fakecgroup.trace.assumed import ASSUMED
from fakecgroup.trace.call import Call
from fakecgroup.trace.tree_paths import TreePaths
from fakecgroup_mount.fuse import wire
from fakecgroup_mount.fuse.nodes import Nodes
from fakecgroup_mount.fuse.requests_read import RequestsRead
from fakecgroup_mount.host.shortage import reply_errno
from fakecgroup_mount.record.callers import Callers, text_of
from fakecgroup_mount.record.recorder import Recorder

if TYPE_CHECKING:
    from fakecgroup.faults.faults import Firing

Handler = Callable[[int, int, Caller, int], "bytes | None"]

_IN = wire.IN_SIZE
_WRITTEN = _IN + wire.WRITE_IN.size  # where the data of a WRITE begins
_MOST_DIGITS = 32  # bytes of a process number with space around it, or of two descriptors
_EVENT_CONTROL = "cgroup.event_control"
_DATA = Struct("=QqI")  # fh offset size, of READ and WRITE
_NODE = Struct("=Q")  # the other node of RENAME and LINK is first
_TWO_NODES = (wire.RENAME, wire.RENAME2, wire.LINK)
_NOT_TAKEN = frozenset(
    # FLUSH is close(2) of one of several descriptors; the others are no calls of programs
    (wire.FLUSH, wire.INIT, wire.DESTROY, wire.FORGET, wire.BATCH_FORGET, wire.INTERRUPT)
)


class TracedRequests:
    """Takes the requests of one session. It is used with the model's lock held.

    `buffer` has the request that is answered. `top` is the tree's root. `find` gives what is known of a task.
    `files` are the open files by handle.
    """

    def __init__(
        self,
        recorder: Recorder,
        callers: Callers,
        buffer: bytearray,
        nodes: Nodes,
        top: Inode,
        find: Callable[[int], TaskInfo | None],
        files: Mapping[int, OpenFile],
    ) -> None:
        self._fired: list[str] = []  # what rules of faults did in the present request
        self._recorder = recorder
        self._find = find
        self._callers = callers
        self._view = memoryview(buffer)
        self._nodes = nodes.by_id
        self._paths = TreePaths(top)
        self._read = RequestsRead().read
        for handle, file in files.items():
            if file.inode.alive:
                more = {"flags": words.OPEN.text(file.flags), **ASSUMED}
                recorder.note(
                    Call(0.0, file.opener.pid, "", "open", self._paths.of(file.inode), None, None, handle, more)
                )

    def wrap(self, opcode: int, handler: Handler) -> Handler:
        """The handler of an opcode that also takes what it answers."""
        if opcode in _NOT_TAKEN:
            return handler
        nodes, paths, known = self._nodes, self._paths, self._paths.known
        recorder, watched, read, view = self._recorder, self._callers.watched, self._read, self._view
        take = recorder.take
        two, reads, writes = opcode in _TWO_NODES, opcode == wire.READ, opcode == wire.WRITE
        named, fired = reads or writes, self._fired

        def answer(unique: int, node_id: int, caller: Caller, size: int) -> bytes | None:
            if recorder.ended:
                return handler(unique, node_id, caller, size)
            now = monotonic_ns()
            who, name, caller = watched(caller, now)
            if who.ours:
                return handler(unique, node_id, caller, size)
            node = nodes.get(node_id)  # RELEASE may come when it is forgotten
            path, alive = "", True
            if node is not None:
                path, alive = known.get(node.inode) or paths.of(node.inode), node.inode.alive
            other = self._other_path() if two else ""
            more, file = None, ""
            if named and node is not None and isinstance(node.inode, CgroupFile):
                file = node.inode.row.name
                if writes and file in PID_FILES:
                    more = self._moved(caller)
                elif writes and file == _EVENT_CONTROL:
                    more = self._descriptors(caller)
            code, reply = 0, None
            try:
                reply = handler(unique, node_id, caller, size)
            except Exception as error:
                code = reply_errno(error) if isinstance(error, OSError) else EIO
                raise
            finally:
                if reads and file in PID_FILES and reply is not None:
                    more = self._listed(caller, reply)
                if fired:
                    more = {**(more or {}), "fault": fired.copy()}
                    fired.clear()
                request = view[_IN:size].tobytes()
                take(
                    now, read, size,
                    (opcode, who, name, node_id, path, alive, other, request, code or reply, more),
                )  # fmt: skip
                if two:
                    paths.forget()
            return reply

        return answer

    def _moved(self, caller: Caller) -> dict[str, Any] | None:
        """What else matters to a write that moves a process: what it is, and its number here if it is another one."""
        digits = self._written(_MOST_DIGITS).strip(b" \n\0")
        number = int(digits) if digits.isdigit() else 0
        numbers = caller.numbers()
        tid = numbers.tid(number) if numbers.namespace and number else number
        task = self._find(tid) if tid else None
        if task is not None:
            self._callers.note(self._callers.of(tid)[0], task.uid, None)
        return {"target": tid} if numbers.namespace and task is not None else None

    def _descriptors(self, caller: Caller) -> dict[str, Any]:
        """What the two descriptors are open on that v1's cgroup.event_control is given."""
        opened: list[str | None] = []
        for word in self._written(_MOST_DIGITS).split(b" ")[:2]:
            found = caller.files(int(word)) if word.isdigit() and len(word) < 10 else None
            if isinstance(found, Inode):
                opened.append(self._paths.of(found))
            else:
                opened.append(None if found is None else "eventfd" if isinstance(found, EventFd) else "other")
        return {"descriptors": opened}

    def _written(self, most: int) -> bytes:
        """The first bytes of what is written."""
        _, _, length = _DATA.unpack_from(self._view, _IN)
        return self._view[_WRITTEN : _WRITTEN + min(length, most)].tobytes()

    def _listed(self, caller: Caller, reply: bytes) -> dict[str, Any] | None:
        """The numbers here of the tasks in a list, for a reader that sees others."""
        numbers = caller.numbers()
        if not numbers.namespace:
            return None
        listed = [line for line in reply[wire.OUT_SIZE :].split(b"\n") if line.isdigit()]
        return {"pids": {line.decode(): numbers.tid(int(line)) for line in listed}}

    def note_firing(self, firing: Firing) -> None:
        """A rule of a fault has fired in the present request."""
        self._fired.append(firing.what)
        who, name = self._callers.of(firing.pid)
        more = {**who.more, "rule": firing.rule, "on": firing.op}
        self._recorder.note(Call(0.0, who.tgid, text_of(name), "fault", firing.path, result=firing.what, more=more))

    def close(self) -> None:
        """Ends the recording."""
        self._callers.close()

    def _other_path(self) -> str:
        (number,) = _NODE.unpack_from(self._view, _IN)
        node = self._nodes.get(number)
        return "" if node is None else self._paths.of(node.inode)
