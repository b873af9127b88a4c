"""Starts a daemon and reports whether it works."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection

from fakecgroup_mount.errors import MountError
from fakecgroup_mount.host.log import Log, log_to
from fakecgroup_mount.host.open_files import close_all_but
from fakecgroup_mount.host.shortage import explained

log = Log(__name__)

_READY = b"+"


class _AbandonedError(Exception):
    """Whoever has started the daemon was killed before it was ready."""


def log_path() -> str:
    """The daemons' log of failures: $XDG_STATE_HOME/fakecgroup/daemon.log, by default below ~/.local/state."""
    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.join(state, "fakecgroup", "daemon.log")


def start(run: Callable[[Callable[[], None]], None], *, keep: Collection[int] = ()) -> int:
    """Runs `run(ready)` in a daemon; returns its pid once it has called `ready`.

    The daemon has its own session, / as working directory and /dev/null as standard files. Of our descriptors it keeps
    only those in `keep`, so that nobody waits for it. Raises MountError with the daemon's message if it fails before
    `ready`.
    """
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        child = os.fork()
    except OSError as error:
        raise MountError(f"cannot start a daemon: {explained(error) or error.strerror}") from None
    if child == 0:
        try:
            if os.fork() == 0:
                os.close(reading)
                os._exit(_daemon(run, writing, keep))
            os._exit(0)
        except BaseException as error:
            why = explained(error)
            if why is not None:
                os.write(writing, f"cannot start a daemon: {why}".encode())
            os._exit(1)
    os.close(writing)
    os.waitpid(child, 0)
    with open(reading, "rb") as pipe:
        said = pipe.read()
    if not said.startswith(_READY):
        raise MountError(said.decode(errors="replace") or f"the daemon ended without a word; see {log_path()}")
    return int(said[1:])


def _daemon(run: Callable[[Callable[[], None]], None], writing: int, keep: Collection[int]) -> int:
    """Runs the daemon; returns its exit status."""
    heard = False

    def say(text: bytes) -> None:
        nonlocal heard
        heard = True
        try:
            os.write(writing, text)
        except BrokenPipeError:
            raise _AbandonedError from None
        finally:
            os.close(writing)

    try:
        log_to(log_path())
        os.setsid()
        os.chdir("/")
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        close_all_but((0, 1, 2, writing, *keep))
        run(lambda: say(_READY + b"%d" % os.getpid()))
    except _AbandonedError:
        return 1
    except BaseException as error:
        why = error if isinstance(error, MountError) else explained(error)
        if why is not None and not heard:
            say(str(why).encode())
            return 1
        log.exception("the daemon ends")
        if not heard:
            say(f"the daemon failed; see {log_path()}".encode())
        return 1
    return 0
