"""Exits of tasks with what they used, from the kernel's taskstats (Documentation/accounting/taskstats.rst).

The kernel tells only the machine's root, in the initial user, pid and network namespaces. An exit is in the queue
before the task's parent can reap it. So a reader of the queue knows every reaped task.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from errno import ENOBUFS, EPROTO
from struct import Struct, pack

from fakecgroup import CpuTime
from fakecgroup.named_tuple import NamedTuple
from fakecgroup.refuse import refuse

_NETLINK_GENERIC = 16
_REQUEST, _ACKNOWLEDGE = 1, 4  # NLM_F_*
_NLMSG_ERROR = 2
_HEAD = 20  # bytes of struct nlmsghdr and of struct genlmsghdr
_GET_FAMILY, _FAMILY_ID, _FAMILY_NAME, _CONTROL = 3, 1, 2, 16  # linux/genetlink.h
_GET, _PID, _REGISTER, _DEREGISTER = 1, 1, 3, 4  # TASKSTATS_CMD_GET and TASKSTATS_CMD_ATTR_*
_TYPE_PID, _TYPE_STATS, _AGGREGATE_PID, _AGGREGATE_TGID = 1, 3, 4, 5  # TASKSTATS_TYPE_*
_TYPE = 0x3FFF  # of an attribute, without flags
_ATTRIBUTE = Struct("=HH")
_WORD = Struct("=I")

# Offsets in struct taskstats: ac_flag, cpu_run_real_total (ns), pid and ppid, user and system time (µs), highest
# resident memory (KiB), tgid (since version 12, as is the flag of the last task of a process).
_FLAG, _RAN, _NUMBERS, _TIMES, _RESIDENT, _TGID = 8, 72, 128, 152, 200, 368
_FORKED_ONLY, _LAST = 0x01, 0x20  # AFORK, AGROUP
_QUADS, _QUAD, _PAIR = Struct("=QQ"), Struct("=Q"), Struct("=II")
_SINCE = 12  # the version

_SO_RCVBUFFORCE = 33
_QUEUE = 8 << 20  # bytes of the machine's memory, enough for about 3,000 exits
_SIZE = 8192


class ExitEvent(NamedTuple):
    """The exit of a task. `run` is its time on CPUs (ns); `whole` its process's CPU time if it was the last task, else
    None.

    `parent` is the process that reaps it, `peak` its most resident bytes. `forked` is set if it never executed a
    program.
    """

    tid: int
    tgid: int
    parent: int
    run: int
    whole: CpuTime | None
    peak: int
    forked: bool


class ExitEvents:
    """A queue of all exits on the machine. Raises OSError if the kernel does not let us listen.

    Exits that find the queue full are lost.
    """

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETLINK_GENERIC)
        try:
            self._socket.settimeout(1)
            self._socket.bind((0, 0))
            self._family = self._find_family()
            if self._ask_about_us() != os.getpid():
                raise refuse(EPROTO)
            with open("/sys/devices/system/cpu/possible", "rb") as file:
                self._cpus = file.read().strip() + b"\0"
            try:
                self._socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _QUEUE)
            except PermissionError:
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _QUEUE)
            self._send(self._family, _GET, _REGISTER, self._cpus, _REQUEST | _ACKNOWLEDGE)
            self._receive()
            self._socket.setblocking(False)
        except BaseException:
            self._socket.close()
            raise

    def take(self) -> Iterator[ExitEvent]:
        """The exits since the last call, in their order. Does not wait."""
        while True:
            try:
                message, (sender, _) = self._socket.recvfrom(_SIZE)
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno != ENOBUFS:
                    raise
                continue
            if not sender:  # the kernel is number 0
                end = _end(message)
                if end is not None:
                    yield end

    def close(self) -> None:
        """Stops listening."""
        self._socket.close()

    def _find_family(self) -> int:
        """The number of the TASKSTATS family. Raises OSError: ENOENT without CONFIG_TASKSTATS."""
        self._send(_CONTROL, _GET_FAMILY, _FAMILY_NAME, b"TASKSTATS\0", _REQUEST)
        for kind, start, _ in _attributes(message := self._receive(), _HEAD, None):
            if kind == _FAMILY_ID:
                return int.from_bytes(message[start : start + 2], "little")
        raise refuse(EPROTO)

    def _ask_about_us(self) -> int:
        """Our pid, read at the offsets that we use; 0 if this kernel's struct taskstats differs."""
        self._send(self._family, _GET, _PID, _WORD.pack(os.getpid()), _REQUEST)
        stats = _stats(self._receive(), _AGGREGATE_PID)
        if stats is None or int.from_bytes(stats[:2], "little") < _SINCE:
            return 0
        pid, parent = _PAIR.unpack_from(stats, _NUMBERS)
        return pid if _WORD.unpack_from(stats, _TGID)[0] == pid and parent == os.getppid() else 0

    def _send(self, family: int, command: int, attribute: int, value: bytes, flags: int) -> None:
        body = pack("=BBHHH", command, 1, 0, 4 + len(value), attribute) + value + bytes(-len(value) % 4)
        self._socket.send(pack("=IHHII", 16 + len(body), family, flags, 1, 0) + body)

    def _receive(self) -> bytes:
        """Receives an answer. Raises OSError for an error message."""
        message = self._socket.recv(_SIZE)
        if int.from_bytes(message[4:6], "little") == _NLMSG_ERROR:
            code = -int.from_bytes(message[16:20], "little", signed=True)
            if code:
                raise refuse(code)
        return message


def listen() -> ExitEvents | None:
    """Opens the queue; None if the kernel does not let us listen."""
    try:
        return ExitEvents()
    except OSError:
        return None


def _end(message: bytes) -> ExitEvent | None:
    stats = _stats(message, _AGGREGATE_PID)
    if stats is None:
        return None
    tid, parent = _PAIR.unpack_from(stats, _NUMBERS)
    (tgid,) = _WORD.unpack_from(stats, _TGID)
    flag = stats[_FLAG]
    last = bool(flag & _LAST)
    whole = _time(_stats(message, _AGGREGATE_TGID) or stats) if last else None
    (peak,) = _QUAD.unpack_from(stats, _RESIDENT)
    return ExitEvent(tid, tgid, parent, _QUAD.unpack_from(stats, _RAN)[0], whole, peak << 10, bool(flag & _FORKED_ONLY))


def _time(stats: bytes) -> CpuTime:
    user, system = _QUADS.unpack_from(stats, _TIMES)
    return CpuTime(_QUAD.unpack_from(stats, _RAN)[0], user * 1000, system * 1000)


def _stats(message: bytes, aggregate: int) -> bytes | None:
    """The struct taskstats in a message's aggregate of this type; None without one."""
    for kind, start, end in _attributes(message, _HEAD, None):
        if kind == aggregate:
            for inner, first, last in _attributes(message, start, end):
                if inner == _TYPE_STATS and last - first >= _TGID + 4:
                    return message[first:last]
    return None


def _attributes(message: bytes, at: int, end: int | None) -> Iterator[tuple[int, int, int]]:
    """Each attribute's type and the offsets of its value's begin and end (struct nlattr)."""
    end = len(message) if end is None else end
    while at + 4 <= end:
        length, kind = _ATTRIBUTE.unpack_from(message, at)
        if length < 4:
            return
        yield kind & _TYPE, at + 4, at + length
        at += (length + 3) & ~3
