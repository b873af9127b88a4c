"""Takes the trapped system calls that are answered here for a trace. What the kernel does by itself is not taken."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from errno import EIO, errorcode
from typing import Any

from fakecgroup.trace import words
from fakecgroup.trace.call import Call as TraceCall
from fakecgroup.trace.tree_paths import TreePaths
from fakecgroup_mount.calls.masked_cgroups import CGROUP_ROOT
from fakecgroup_mount.calls.mounted_tree import MountedTree
from fakecgroup_mount.calls.path_lookup import fd_path
from fakecgroup_mount.host.processes import HostProcesses
from fakecgroup_mount.host.shortage import reply_errno
from fakecgroup_mount.record.callers import Callers, text_of
from fakecgroup_mount.record.recorder import Recorder
from fakecgroup_mount.seccomp import syscalls
from fakecgroup_mount.seccomp.listener import CONTINUE, Answer, Call, Descriptor, Handler, Later
from fakecgroup_mount.seccomp.process import signed

_INTO_CGROUP = 0x2_0000_0000
_CGROUP_OFFSET, _WITH_CGROUP = 80, 88  # of struct clone_args
_MOST_TEXT = 64 << 10  # bytes of a file of /proc that is made here
_MEMORY = "/memfd:"
_SIZE = 400  # bytes of a record, roughly

Told = tuple[str, bytes | None, dict[str, Any]]
"""The path that a call is about, its data, and what else matters."""


class TracedCalls:
    """The calls that `handlers`, by number, answer. Whoever listens finds them there as they are recorded."""

    def __init__(self, handlers: dict[int, Handler], tree: MountedTree, processes: HostProcesses) -> None:
        self._handlers = handlers
        self._plain = dict(handlers)
        self._tree = tree
        self._privileges = processes.privileges
        self._names = {number: name for name, number in syscalls.HERE.numbers.items() if number in handlers}
        self._callers: Callers | None = None
        self._lock = threading.Lock()  # several threads answer calls

    def observe(self, recorder: Recorder | None) -> None:
        """From now on gives a recorder what is answered; None ends that."""
        with self._lock:
            if self._callers is not None:
                self._callers.close()
            self._callers = None if recorder is None else Callers(self._privileges, recorder.meet)
        for number, handler in self._plain.items():
            self._handlers[number] = handler if recorder is None else self._recorded(number, handler, recorder)

    def _recorded(self, number: int, handler: Handler, recorder: Recorder) -> Handler:
        """The handler of a call that also takes what it answers."""
        op = self._names[number]
        read = _READERS.get(op, _nothing)

        def take(call: Call, told: Told | None, answer: Answer | int, code: int) -> None:
            if recorder.ended or answer == CONTINUE:
                return
            try:
                self._take(recorder, op, call.tid, told if told is not None else read(self, call), answer, code)
            except OSError:
                pass  # its memory cannot be read

        def attempt(call: Call, work: Callable[[Call], Any]) -> Any:
            told = None
            if op == "clone3" and not recorder.ended:
                told = _clone_into(self, call)  # its answer changes the arguments
            try:
                answer = work(call)
            except OSError as error:
                take(call, told, 0, reply_errno(error))
                raise
            except Exception:
                take(call, told, 0, EIO)
                raise
            if isinstance(answer, Later):
                return Later(lambda call: attempt(call, answer.work))
            take(call, told, answer, -answer if isinstance(answer, int) and answer < 0 else 0)
            return answer

        return lambda call: attempt(call, handler)

    def _take(self, recorder: Recorder, op: str, tid: int, told: Told, answer: Answer | int, code: int) -> None:
        path, data, more = told
        with self._lock:
            if self._callers is None:
                return
            who, name = self._callers.of(tid)
            if who.ours:
                return
            self._callers.note(who, who.uid, who.gid)
        result: Any = None
        if not code:
            result = answer if isinstance(answer, int) else "descriptor" if isinstance(answer, Descriptor) else 0
            if isinstance(answer, Descriptor):
                data = _text_in_memory(answer.fd)
        recorder.note(
            TraceCall(0.0, who.tgid, text_of(name), op, path, data, errorcode.get(code, f"E{code}") if code else None,
                      result, {**who.more, **more})
        )  # fmt: skip

    # -- what calls are about ---------------------------------------------------------------------

    def of_descriptor(self, tid: int, fd: int) -> str:
        """The path of what a thread has open. Raises OSError."""
        place = fd_path(tid, fd)
        inode = self._tree.inode(place)
        return os.readlink(place) if inode is None else TreePaths(self._tree.kernel.root).of(inode)

    def of_text(self, call: Call, address: int, directory: int = syscalls.AT_FDCWD) -> str:
        """The path in a thread's memory: from the tree's root if it leads there. Raises OSError."""
        path = os.fsdecode(call.memory.read_text(call.tid, address)) if address else ""
        if directory != syscalls.AT_FDCWD and not path.startswith("/"):
            base = self.of_descriptor(call.tid, directory)
            return base if not path else path if base == "." else f"{base}/{path}"
        if path == CGROUP_ROOT or path.startswith(f"{CGROUP_ROOT}/"):
            return path.removeprefix(CGROUP_ROOT).strip("/") or "."
        return path


def _text_in_memory(fd: int) -> bytes | None:
    """What a program will read from a file that was made for it; None for one that is made when it is read."""
    if not os.readlink(f"/proc/self/fd/{fd}").startswith(_MEMORY):
        return None
    return os.pread(fd, _MOST_TEXT, 0)


def _nothing(calls: TracedCalls, call: Call) -> Told:
    return "", None, {}


def _clone_into(calls: TracedCalls, call: Call) -> Told | None:
    """The cgroup that a child is to start in; None where it starts where its parent is."""
    address, size = call.arguments[:2]
    if size < _WITH_CGROUP:
        return None
    try:
        flags = int.from_bytes(call.memory.read(call.tid, address, 8), "little")
        if not flags & _INTO_CGROUP:
            return None
        fd = int.from_bytes(call.memory.read(call.tid, address + _CGROUP_OFFSET, 8), "little")
        return calls.of_descriptor(call.tid, fd), None, {"flags": words.CLONE.text(flags)}
    except OSError:
        return None


def _clone3(calls: TracedCalls, call: Call) -> Told:
    flags = int.from_bytes(call.memory.read(call.tid, call.arguments[0], 8), "little")
    return "", None, {"flags": words.CLONE.text(flags)}


def _path(calls: TracedCalls, call: Call) -> Told:
    return calls.of_text(call, call.arguments[0]), None, {}


def _path_at(calls: TracedCalls, call: Call) -> Told:
    return calls.of_text(call, call.arguments[1], signed(call.arguments[0])), None, {}


def _descriptor(calls: TracedCalls, call: Call) -> Told:
    return calls.of_descriptor(call.tid, signed(call.arguments[0])), None, {}


def _open(calls: TracedCalls, call: Call) -> Told:
    return calls.of_text(call, call.arguments[0]), None, {"flags": words.OPEN.text(call.arguments[1] & 0xFFFFFFFF)}


def _openat(calls: TracedCalls, call: Call) -> Told:
    path = calls.of_text(call, call.arguments[1], signed(call.arguments[0]))
    return path, None, {"flags": words.OPEN.text(call.arguments[2] & 0xFFFFFFFF)}


def _signal(calls: TracedCalls, call: Call) -> Told:
    return "", None, {"target": signed(call.arguments[0]), "signal": signed(call.arguments[1])}


def _thread_signal(calls: TracedCalls, call: Call) -> Told:
    return "", None, {"target": signed(call.arguments[1]), "signal": signed(call.arguments[2])}


def _flags(calls: TracedCalls, call: Call) -> Told:
    return "", None, {"flags": words.CLONE.text(call.arguments[0] & 0xFFFFFFFF)}


def _mount(calls: TracedCalls, call: Call) -> Told:
    source, target, kind, flags, data = call.arguments[:5]
    texts = [call.memory.read_text(call.tid, word) if word else b"" for word in (source, kind, data)]
    more = {"source": os.fsdecode(texts[0]), "type": os.fsdecode(texts[1]), "flags": words.MOUNT.text(flags)}
    return calls.of_text(call, target), texts[2], more


def _umount(calls: TracedCalls, call: Call) -> Told:
    return calls.of_text(call, call.arguments[0]), None, {"flags": words.UMOUNT.text(call.arguments[1] & 0xFFFFFFFF)}


def _fsopen(calls: TracedCalls, call: Call) -> Told:
    return "", None, {"type": os.fsdecode(call.memory.read_text(call.tid, call.arguments[0]))}


def _fsconfig(calls: TracedCalls, call: Call) -> Told:
    _, command, key, value = call.arguments[:4]
    more: dict[str, Any] = {"command": command & 0xFFFFFFFF}
    if key:
        more["name"] = os.fsdecode(call.memory.read_text(call.tid, key))
    data = call.memory.read_text(call.tid, value) if value and more["command"] == _FSCONFIG_SET_STRING else None
    return "", data, more


def _move_mount(calls: TracedCalls, call: Call) -> Told:
    return calls.of_text(call, call.arguments[3], signed(call.arguments[2])), None, {}


def _target(calls: TracedCalls, call: Call) -> Told:
    return "", None, {"target": signed(call.arguments[0])}


def _bpf(calls: TracedCalls, call: Call) -> Told:
    return "", None, {"command": call.arguments[0] & 0xFFFFFFFF}


_FSCONFIG_SET_STRING = 1

_READERS: dict[str, Callable[[TracedCalls, Call], Told]] = {
    "open": _open,
    "openat": _openat,
    "openat2": _path_at,
    "stat": _path,
    "lstat": _path,
    "newfstatat": _path_at,
    "statx": _path_at,
    "getdents64": _descriptor,
    "statfs": _path,
    "fstatfs": _descriptor,
    "name_to_handle_at": _path_at,
    "clone": _flags,
    "clone3": _clone3,
    "unshare": _flags,
    "kill": _signal,
    "tkill": _signal,
    "tgkill": _thread_signal,
    "pidfd_open": _target,
    "pidfd_send_signal": _descriptor,
    "sched_setaffinity": _target,
    "sched_getaffinity": _target,
    "mount": _mount,
    "umount2": _umount,
    "fsopen": _fsopen,
    "fsconfig": _fsconfig,
    "move_mount": _move_mount,
    "bpf": _bpf,
}
"""What each call is about. Those that are not here are about nothing that a trace could name."""
