"""The client: asks the server for a start. It loads as little as it can: `signal` alone takes as long as the rest."""

from __future__ import annotations

import os
import sys

from fakecgroup_mount.warm import VARIABLE

TYPE_CHECKING = False  # `typing` takes a while to load
if TYPE_CHECKING:
    from _socket import socket

STARTED, REFUSED, STOPPED, ENDED = b"+", b"-", b"s", b"x"
"""What a client is told: started, with a pid; refused; what was started is stopped; it has ended, with its status."""

_FOREGROUND = "--foreground"  # of `mount`: whoever asks for it knows the daemon by the pid that it has started
NUMBER = 4  # bytes of a pid and of a status
MOST_FILES = 253  # SCM_MAX_FD


def ask(argv: list[str]) -> int | None:
    """Has the server that VARIABLE names start `fakecgroup` with these arguments; returns the exit status.

    None if there is no server, or it refuses: then the start is the caller's.
    """
    import _signal  # type: ignore[import-not-found]
    import _socket

    name = os.environ.pop(VARIABLE)
    if argv[:1] == ["warm"] or any(_FOREGROUND.startswith(word) and len(word) > 3 for word in argv):
        return None
    passed_on = {_signal.SIGHUP, _signal.SIGINT, _signal.SIGQUIT, _signal.SIGTERM}
    passed_on |= {_signal.SIGUSR1, _signal.SIGUSR2, _signal.SIGCONT}
    held = passed_on | {_signal.SIGIO, _signal.SIGTSTP, _signal.SIGTTIN, _signal.SIGTTOU}
    try:
        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    except OSError:
        return None
    mask = _signal.pthread_sigmask(_signal.SIG_BLOCK, held)
    try:
        connection.connect("\0" + name)
        _send(connection, argv, _facts(mask, _ignored()))
        said = connection.recv(1)
    except OSError:
        said = REFUSED  # no server, or it ends
    if said == STARTED:
        return _wait(connection, passed_on, held)
    connection.close()
    _signal.pthread_sigmask(_signal.SIG_SETMASK, mask)
    return None


def program_facts() -> list[str]:
    """What must be the same in client and server for the same program to run: Python, its options and our files."""
    here = os.stat(__file__)
    flags, encoding = str(sys.flags), sys.getfilesystemencoding()
    return [sys.version, sys.executable, flags, encoding, __file__, f"{here.st_ino} {here.st_mtime_ns}"]


def told_facts() -> list[str]:
    """What children inherit, gives no rights, and only a process itself may read in /proc."""
    return [_text("/proc/self/personality"), _text("/proc/self/timerslack_ns")]


def _text(path: str) -> str:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read(4096).decode()
    except OSError:
        return ""


def _facts(mask: set[int], ignored: list[int]) -> list[str]:
    umask = os.umask(0)
    os.umask(umask)
    files = [f"{file.encoding}:{file.errors}" if file else "" for file in (sys.stdin, sys.stdout, sys.stderr)]
    signals = [",".join(str(int(number)) for number in numbers) for numbers in (mask, ignored)]
    return [*program_facts(), *told_facts(), str(umask), *signals, *files]


def _ignored() -> list[int]:
    import _signal

    return [number for number in range(1, _signal.NSIG) if _signal.getsignal(number) == _signal.SIG_IGN]


def _send(connection: socket, argv: list[str], facts: list[str]) -> None:
    """Sends the facts, the arguments, the environment, and the files: the working directory and all that are inherited.

    Raises OSError if they are too many.
    """
    import _socket

    here = os.open(".", os.O_PATH | os.O_DIRECTORY)
    numbers = _inherited()
    if len(numbers) >= MOST_FILES:
        raise OSError
    environment = [name + b"=" + value for name, value in os.environb.items()]
    words = [[",".join(map(str, numbers)), *facts], argv]
    lists = [[os.fsencode(word) for word in part] for part in words] + [environment]
    body = b"\0".join([*(str(len(part)).encode() for part in lists), *(word for part in lists for word in part)])
    files = b"".join(fd.to_bytes(NUMBER, sys.byteorder) for fd in (here, *numbers))
    head = len(body).to_bytes(NUMBER, sys.byteorder)
    connection.sendmsg([head], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, files)])
    connection.sendall(body)
    os.close(here)


def _inherited() -> list[int]:
    """The open files that a command inherits."""
    found = []
    for fd in map(int, os.listdir("/proc/self/fd")):
        try:
            if os.get_inheritable(fd):
                found.append(fd)
        except OSError:
            pass  # that of the listing itself
    return sorted(found)


def _number(connection: socket) -> int:
    """A number; what is there of it if the connection ends."""
    said = b""
    while len(said) < NUMBER and (more := connection.recv(NUMBER - len(said))):
        said += more
    return int.from_bytes(said, sys.byteorder)


def _wait(connection: socket, passed_on: set[int], held: set[int]) -> int:
    """Waits for the end of the process that was started, and returns its exit status, or ends by its signal.

    Passes signals on to it. Those of a terminal it gets itself: it is in our process group.
    """
    import _signal
    from fcntl import F_GETFL, F_SETFL, F_SETOWN, fcntl

    def send(number: int) -> None:
        try:
            _signal.pidfd_send_signal(front, number)
        except OSError:
            pass  # it has ended

    try:
        front = os.pidfd_open(_number(connection))
    except OSError:
        front = -1
    fcntl(connection, F_SETOWN, os.getpid())
    fcntl(connection, F_SETFL, fcntl(connection, F_GETFL) | os.O_ASYNC | os.O_NONBLOCK)  # SIGIO for each word
    while True:
        try:
            said = connection.recv(1)
        except BlockingIOError:
            told = _signal.sigwaitinfo(held)
            if told.si_signo in passed_on and told.si_code <= 0:  # SI_USER and the like: sent by a process
                send(told.si_signo)
            continue
        except OSError:
            said = b""
        if said == STOPPED:
            os.kill(os.getpid(), _signal.SIGSTOP)  # so that the shell takes the terminal back
            send(_signal.SIGCONT)
            continue
        connection.setblocking(True)
        if said != ENDED:
            send(_signal.SIGKILL)
            print("fakecgroup: the keeper of `fakecgroup warm` was killed", file=sys.stderr)
            return 1
        status = _number(connection)
        if os.WIFSIGNALED(status):
            _signal.signal(os.WTERMSIG(status), _signal.SIG_DFL)
            _signal.pthread_sigmask(_signal.SIG_UNBLOCK, {os.WTERMSIG(status)})
            os.kill(os.getpid(), os.WTERMSIG(status))
        return os.waitstatus_to_exitcode(status) % 256
