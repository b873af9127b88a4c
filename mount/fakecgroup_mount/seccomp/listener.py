"""Takes trapped system calls and answers them (seccomp_unotify(2))."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable
from errno import EINTR, EIO, ENOENT, ENOMEM
from fcntl import ioctl
from struct import Struct
from typing import TypeVar

from fakecgroup.named_tuple import NamedTuple
from fakecgroup_mount.host.log import Log
from fakecgroup_mount.host.shortage import reply_errno
from fakecgroup_mount.seccomp.memory import Memory

log = Log(__name__)

_RECEIVE, _SEND, _ADD_FD = 0xC0502100, 0xC0182101, 0x40182103
_STILL_WAITS, _SET_FLAGS = 0x40082102, 0x40082104
_SYNC_WAKE_UP = 1  # caller and listener wait for each other, so both can run on one CPU
_NOTIFICATION = Struct("=QI4xi12x6Q")  # struct seccomp_notif: id, pid, and of its data the number and the arguments
_ANSWER = Struct("=QqiI")  # struct seccomp_notif_resp
_ADD = Struct("=QIIII")  # struct seccomp_notif_addfd
_ID = Struct("=Q")
_CONTINUE = 1  # SECCOMP_USER_NOTIF_FLAG_CONTINUE
_ADD_AND_SEND = 2  # SECCOMP_ADDFD_FLAG_SEND
_MOST = 64  # threads

_Given = TypeVar("_Given")


class Continue(NamedTuple):
    """The answer that lets the kernel do the call (SECCOMP_USER_NOTIF_FLAG_CONTINUE). `then` is called after it
    is sent.
    """

    then: Callable[[], None] | None = None


class Descriptor(NamedTuple):
    """The answer that gives the caller a duplicate of `fd`, which is closed here. `flags` is O_CLOEXEC or 0."""

    fd: int
    flags: int


Answer = Continue | Descriptor | int
CONTINUE = Continue()


class Call:
    """A trapped call: the waiting thread, the call's number and arguments, and the thread's memory.

    Each listening thread has one and uses it again for the next call.
    """

    __slots__ = ("_fd", "answer", "arguments", "memory", "number", "tid", "unique")

    tid: int
    number: int
    arguments: tuple[int, ...]
    unique: int

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self.memory = Memory()
        self.answer = bytearray(_ANSWER.size)  # with bytes, ioctl would raise and catch an exception each time

    def waits(self) -> bool:
        """Whether the thread still waits. If so, `tid` has not been given to another thread."""
        try:
            ioctl(self._fd, _STILL_WAITS, _ID.pack(self.unique))
        except OSError:
            return False
        return True


class Later(NamedTuple):
    """The answer will be that of `work`, which may wait for the tree or for a file system that a process of the sandbox
    serves. Other calls are answered meanwhile.
    """

    work: Callable[[Call], Answer]


Handler = Callable[[Call], Answer | Later]


def later(work: Callable[[Call], Answer]) -> Handler:
    """A handler that always gives `Later(work)`."""
    answer = Later(work)
    return lambda call: answer


class Listener:
    """Answers the trapped calls from `fd` with `handlers`, by call number.

    A handler returns the call's result, a `Descriptor`, `Continue` or `Later`, and raises OSError for an errno.

    One thread at a time listens. It answers most calls at once, so a second listening thread would only take turns with
    it. Before it does the work of a `Later`, it lets another thread listen.
    """

    def __init__(self, fd: int, handlers: dict[int, Handler]) -> None:
        self._fd = fd
        self._handlers = handlers
        self._turn = threading.Lock()  # held by the thread that listens
        self._lock = threading.Lock()
        self._ready = 0  # threads that listen or wait for their turn
        self._threads = 0

    def start(self) -> None:
        """Starts to listen."""
        try:
            ioctl(self._fd, _SET_FLAGS, _SYNC_WAKE_UP)
        except OSError:
            pass  # before Linux 6.6
        self._need_another()

    def _need_another(self) -> None:
        """Starts a thread unless one is ready to listen. Raises RuntimeError if no thread can be started."""
        with self._lock:
            if self._ready or self._threads >= _MOST:
                return
            self._ready += 1
            self._threads += 1
        try:
            threading.Thread(target=self._serve, daemon=True).start()
        except RuntimeError:
            with self._lock:
                self._ready -= 1
                self._threads -= 1
            raise

    def _serve(self) -> None:
        call = Call(self._fd)
        while True:
            with self._turn:
                work = self._listen(call)
                with self._lock:
                    self._ready -= 1
                if work is None:
                    return
                try:
                    self._need_another()
                except RuntimeError:  # RLIMIT_NPROC: other calls wait until this one is answered
                    pass
            self._send(call, _attempt(work, call))
            with self._lock:
                self._ready += 1

    def _listen(self, call: Call) -> Callable[[Call], Answer] | None:
        """Answers calls. Returns the work of the first `Later`, or None when no process with the filter is left."""
        fd, handlers = self._fd, self._handlers
        buffer = bytearray(_NOTIFICATION.size)
        zeros = bytearray(buffer)  # bytes would be copied to one each time
        while True:
            buffer[:] = zeros  # the kernel requires it (EINVAL)
            try:
                ioctl(fd, _RECEIVE, buffer)
            except OSError as error:
                if error.errno == EINTR or (error.errno == ENOENT and not _is_over(fd)):  # the caller was killed
                    continue
                return None
            taken = _NOTIFICATION.unpack(buffer)
            call.unique, call.tid, call.number = taken[:3]
            call.arguments = taken[3:]
            answer = _attempt(handlers[call.number], call)
            if answer is CONTINUE:  # most are let go
                _ANSWER.pack_into(call.answer, 0, call.unique, 0, 0, _CONTINUE)
                try:
                    ioctl(fd, _SEND, call.answer)
                except OSError as error:
                    self._note_unsent(call, error)
            elif isinstance(answer, Later):
                return answer.work
            else:
                self._send(call, answer)

    def _send(self, call: Call, answer: Answer) -> None:
        try:
            if isinstance(answer, Continue):
                try:
                    self._reply(call, 0, _CONTINUE)
                finally:
                    if answer.then is not None:
                        answer.then()
            elif isinstance(answer, Descriptor):
                try:
                    ioctl(self._fd, _ADD_FD, _ADD.pack(call.unique, _ADD_AND_SEND, answer.fd, 0, answer.flags))
                except OSError as error:  # EMFILE: the caller has too many
                    self._reply(call, -(error.errno or EIO))
                finally:
                    os.close(answer.fd)
            else:
                self._reply(call, answer)
        except OSError as error:
            self._note_unsent(call, error)
        except Exception:  # of `then`; the thread goes on, as it may be the only one that listens
            log.exception("after system call %d of %d", call.number, call.tid)

    def _note_unsent(self, call: Call, error: OSError) -> None:
        if error.errno != ENOENT:  # the caller was killed
            log.warning("the answer to system call %d of %d: %s", call.number, call.tid, error)

    def _reply(self, call: Call, result: int, flags: int = 0) -> None:
        """Raises OSError: ENOENT where the caller was killed."""
        value, error = (result, 0) if result >= 0 else (0, result)
        _ANSWER.pack_into(call.answer, 0, call.unique, value, error, flags)
        ioctl(self._fd, _SEND, call.answer)


def _attempt(work: Callable[[Call], _Given], call: Call) -> _Given | int:
    try:
        return work(call)
    except OSError as error:
        return -reply_errno(error)
    except MemoryError:
        return -ENOMEM
    except Exception:
        log.exception("system call %d of %d", call.number, call.tid)
        return -EIO


def _is_over(fd: int) -> bool:
    """Whether no process with the filter is left. SECCOMP_IOCTL_NOTIF_RECV then always fails with ENOENT."""
    poller = select.poll()
    poller.register(fd, 0)
    return any(events & select.POLLHUP for _, events in poller.poll(0))
