"""Asks the daemon behind a directory to do a command."""

from __future__ import annotations

import os
import socket

from fakecgroup_mount.control import messages
from fakecgroup_mount.control.directory import CONTROL_XATTR
from fakecgroup_mount.control.errors import CommandError
from fakecgroup_mount.errors import MountError
from fakecgroup_mount.hints import shown
from fakecgroup_mount.host.child_call import call_in_child

_HIERARCHIES = (b"unified", b"systemd", b"pids", b"memory")  # one of them is there on each v1 layout
_PATIENCE = 30.0  # seconds for an answer, on a busy machine


def ask(directory: str, command: str, arguments: dict[str, str], file: int = -1) -> dict[str, object]:
    """The result of a command. `file` is a descriptor that it needs.

    Raises MountError, CommandError for what the daemon refuses.
    """
    return ask_at(_socket_of(directory), directory, command, arguments, file)


def ask_at(
    path: str,
    directory: str,
    command: str,
    arguments: dict[str, str],
    file: int = -1,
    patience: float | None = _PATIENCE,
) -> dict[str, object]:
    """As `ask`, at the control socket `path` of a directory. The daemon may take `patience` seconds; None for any."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(patience)
            connection.connect(path)
            try:
                messages.send(connection, {"command": command, "arguments": arguments}, file)
            except BrokenPipeError:
                pass  # it has answered before it has read: a stranger
            answer = messages.receive(connection)
    except PermissionError:
        raise MountError(f"{shown(directory)}: only the mounter of this tree may control it") from None
    except TimeoutError:
        raise MountError(f"{shown(directory)}: its daemon does not answer") from None
    except messages.MessageError as error:
        raise MountError(f"{shown(directory)}: {error}") from None
    except OSError as error:
        raise MountError(f"{shown(directory)}: its daemon cannot be asked: {error.strerror}") from None
    result = answer.get("result")
    if isinstance(result, dict):
        return result
    status = answer.get("status")
    raise CommandError(f"{shown(directory)}: {answer.get('error')}", status if isinstance(status, int) else 1)


def takes_commands(directory: str) -> bool:
    """True for a tree of ours that this user may control. Raises MountError for a daemon that does not answer."""
    try:
        said = call_in_child(lambda: _told_socket(os.fsencode(directory)), _PATIENCE)
    except OSError:
        return False
    if said is None:
        raise MountError(f"{shown(directory)}: its daemon does not answer")
    return bool(said) and os.access(said, os.W_OK)


def _socket_of(directory: str) -> str:
    """The control socket of the tree at a directory. Raises MountError."""
    try:
        said = call_in_child(lambda: _told_socket(os.fsencode(directory)), _PATIENCE)
    except PermissionError:
        raise MountError(f"{shown(directory)}: only the mounter of this tree may control it") from None
    except OSError as error:
        raise MountError(f"{shown(directory)}: {error.strerror}") from None
    if said is None:
        raise MountError(f"{shown(directory)}: its daemon does not answer")
    if not said:
        raise MountError(f"{shown(directory)} is no tree of fakecgroup's that takes commands (see fakecgroup list)")
    return os.fsdecode(said)


def _told_socket(directory: bytes) -> bytes:
    """What the tree says; under `run` a v1 tree is mounted at the directories below. Empty for no tree."""
    for path in (directory, *(os.path.join(directory, name) for name in _HIERARCHIES)):
        try:
            return os.getxattr(path, CONTROL_XATTR)
        except OSError:
            pass
    os.stat(directory)
    return b""
