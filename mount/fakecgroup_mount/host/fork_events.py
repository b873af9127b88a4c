"""Forks, from the kernel's process events connector (drivers/connector/cn_proc.c).

The kernel tells the machine's root, or whom else it lets listen, in the initial user, pid and network namespaces. A
fork is in the queue before fork(2) returns. So a reader of the queue knows every finished fork.
"""

from __future__ import annotations

import contextlib
import ctypes
import socket
from collections.abc import Iterator
from errno import EAGAIN, ENOBUFS, EPERM
from struct import Struct, pack

from fakecgroup.named_tuple import NamedTuple
from fakecgroup.refuse import refuse

_NETLINK_CONNECTOR = 11
_CN_IDX_PROC = _CN_VAL_PROC = 1
_LISTEN, _IGNORE = 1, 2  # PROC_CN_MCAST_*
_ATTEMPTS = 10
_NLMSG_DONE = 3
_NLMSG, _CN_MSG = 16, 20  # bytes of struct nlmsghdr and of struct cn_msg without its data
_NONE, _FORK = 0, 1  # PROC_EVENT_*
_EVENT = Struct("=I4xQIIII")  # struct proc_event: what, cpu, timestamp, parent pid and tgid, child pid and tgid
_HEAD = _NLMSG + _CN_MSG
_SIZE = 256
_QUEUE = 8 << 20  # bytes of the machine's memory, enough for about 8,000 forks

_SO_ATTACH_FILTER, _SO_RCVBUFFORCE = 26, 33
_LOAD_WORD, _IF_EQUAL, _RETURN = 0x20, 0x15, 0x06  # BPF_LD|BPF_W|BPF_ABS, BPF_JMP|BPF_JEQ|BPF_K, BPF_RET|BPF_K


class Fork(NamedTuple):
    """A new task. `parent` is the thread that made it. For a new thread and with CLONE_PARENT it is the maker's own
    parent (copy_process).
    """

    parent: int
    parent_tgid: int
    tid: int
    tgid: int


class ForkEvents:
    """A queue of all forks on the machine. Raises OSError if the kernel does not let us listen."""

    def __init__(self) -> None:
        self.lost = False  # whether the kernel has dropped events since this was set to False
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC, _NETLINK_CONNECTOR)
        self._buffer = bytearray(_SIZE)
        try:
            self._socket.setblocking(False)
            self._attach_filter()
            try:
                self._socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _QUEUE)
            except PermissionError:
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _QUEUE)
            self._socket.bind((0, _CN_IDX_PROC))
            if not any(self._subscribe() for _ in range(_ATTEMPTS)):
                raise refuse(EPERM)
        except OSError:
            self._socket.close()
            raise

    def _subscribe(self) -> bool:
        """Subscribes. Returns whether the kernel confirms it (cn_proc_ack); a lost confirmation counts as none."""
        self._send(_LISTEN)
        try:
            while True:
                if _EVENT.unpack_from(self._socket.recv(_SIZE), _HEAD)[0] == _NONE:
                    return True
        except OSError as error:
            if error.errno in (EAGAIN, ENOBUFS):
                return False
            raise

    def _send(self, word: int) -> None:
        message = pack("=IIIIHHI", _CN_IDX_PROC, _CN_VAL_PROC, 0, 0, 4, 0, word)
        self._socket.send(pack("=IHHII", _NLMSG + len(message), _NLMSG_DONE, 0, 0, 0) + message)

    def take(self) -> Iterator[Fork]:
        """The forks since the last call, oldest first. Does not wait."""
        receive, buffer, unpack = self._socket.recvfrom_into, self._buffer, _EVENT.unpack_from
        while True:
            try:
                _, (sender, _) = receive(buffer)
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno != ENOBUFS:
                    raise
                self.lost = True
                continue
            what, _, *fork = unpack(buffer, _HEAD)
            if what == _FORK and not sender:  # the kernel is number 0
                yield Fork(*fork)

    def close(self) -> None:
        with self._socket, contextlib.suppress(OSError):
            self._send(_IGNORE)  # without this, a kernel before 6.6 goes on making events

    def _attach_filter(self) -> None:
        """Lets only forks and the confirmation into the queue."""
        told, fork = (socket.htonl(what) for what in (_NONE, _FORK))
        code = b"".join(
            pack("=HBBI", *instruction)
            for instruction in (
                (_LOAD_WORD, 0, 0, _HEAD),
                (_IF_EQUAL, 2, 0, fork),
                (_IF_EQUAL, 1, 0, told),
                (_RETURN, 0, 0, 0),
                (_RETURN, 0, 0, 0xFFFF),
            )
        )
        instructions = ctypes.create_string_buffer(code, len(code))
        program = pack("@HP", len(code) // 8, ctypes.addressof(instructions))
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, program)


def listen() -> ForkEvents | None:
    """Opens the queue; None if the kernel does not let us listen."""
    try:
        return ForkEvents()
    except OSError:
        return None
