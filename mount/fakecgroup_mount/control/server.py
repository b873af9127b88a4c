"""Answers commands in the daemon, one connection after the other."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from struct import Struct
from typing import TYPE_CHECKING

from fakecgroup_mount.control import messages
from fakecgroup_mount.control.controlled_tree import Asked, ControlledTree
from fakecgroup_mount.control.directory import remove_stale, socket_of
from fakecgroup_mount.control.errors import CommandError
from fakecgroup_mount.host.log import Log

if TYPE_CHECKING:
    from fakecgroup_mount.control.commands import Command

log = Log(__name__)

_PATIENCE = 5.0  # seconds for a message
_PAUSE = 0.1  # seconds after a connection that could not be taken
_BACKLOG = 16
_CREDENTIALS = Struct("=iII")  # struct ucred: pid, uid, gid, as our user namespace shows them


class ControlServer:
    """The socket at `path`. Only this process's own uid is answered. `close` removes the socket."""

    def __init__(self, path: str, tree: ControlledTree, commands: Mapping[str, Command] | None = None) -> None:
        self.path = path
        self._tree = tree
        self._commands = commands
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        made = f"{os.path.splitext(path)[0]}.{os.getpid()}"  # nobody takes it for a stale one before it listens
        try:
            self._socket.bind(made)
            self._socket.listen(_BACKLOG)
            os.rename(made, path)
        except OSError:
            self._socket.close()
            raise
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        """Removes the socket."""
        with suppress(FileNotFoundError):
            os.unlink(self.path)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError as error:
                log.warning("no control connection can be taken: %s", error)
                time.sleep(_PAUSE)
                continue
            try:
                with connection:
                    connection.settimeout(_PATIENCE)
                    messages.send(connection, self._answer(connection))
            except OSError:
                pass  # the other side is gone, or silent
            except Exception:
                log.exception("a control connection")

    def _answer(self, connection: socket.socket) -> dict[str, object]:
        given = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        _, uid, _ = _CREDENTIALS.unpack(given)
        if uid != os.geteuid():
            return {"error": f"only the mounter of this tree (uid {os.geteuid()}) may control it", "status": 1}
        try:
            asked, file = messages.receive_with_file(connection)
            try:
                return self._do(asked, file)
            finally:
                if file >= 0:
                    os.close(file)
        except messages.MessageError as error:
            return {"error": str(error), "status": 2}
        except CommandError as error:
            return {"error": str(error), "status": error.status}
        except (MemoryError, RuntimeError) as error:
            return {"error": f"the daemon is short of memory or threads: {error}", "status": 1}
        except OSError:
            raise
        except Exception:
            log.exception("a command")
            return {"error": "the daemon failed; see its log", "status": 1}

    def _do(self, asked: dict[str, object], file: int) -> dict[str, object]:
        name, arguments = asked.get("command"), asked.get("arguments")
        if not isinstance(arguments, dict) or not all(isinstance(value, str) for value in arguments.values()):
            raise CommandError("a command's arguments are texts", 2)
        from fakecgroup_mount.control.commands import BEFORE, COMMANDS  # takes a while to load

        commands = COMMANDS if self._commands is None else self._commands
        command = commands.get(name) if isinstance(name, str) else None
        if command is None:
            raise CommandError(f"this daemon knows no command {name!r}; it knows {', '.join(commands)}", 2)
        try:
            if (before := BEFORE.get(str(name))) is not None:
                before(self._tree)
            with self._tree.time.lock:
                self._tree.time.catch_up()
                try:
                    result = command(self._tree, Asked(arguments, file))
                finally:
                    self._tree.time.changed()
            self._tree.settle()
            return {"result": result}
        except KeyError as error:
            raise CommandError(f"{name}: the argument {error} is missing", 2) from None


@contextmanager
def controlled(directory: str | None, device: str, tree: ControlledTree) -> Iterator[str | None]:
    """Takes commands meanwhile for the mount with a device number; yields the socket's path.

    None, with a line in the log, where no socket can be. `directory` is the `runtime_directory`.
    """
    control = None
    if directory is not None:
        try:
            remove_stale(directory)
            control = ControlServer(socket_of(directory, device), tree)
        except (OSError, RuntimeError) as error:
            log.warning("no commands are answered: %s", error)
    try:
        yield None if control is None else control.path
    finally:
        if control is not None:
            control.close()
