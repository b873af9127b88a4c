"""What goes through a control socket: JSON objects, each after its length in bytes, perhaps with a descriptor."""

from __future__ import annotations

import os
import socket
from struct import Struct

_LENGTH = Struct("=I")
MOST = 8 << 20
"""Bytes of the longest message."""


class MessageError(Exception):
    """The other side sends what is no message: too long, cut off, or no JSON object."""


def send(connection: socket.socket, message: dict[str, object], file: int = -1) -> None:
    """Sends a message, and with it a descriptor unless it is -1. Raises OSError, MessageError for one too long."""
    import json  # takes a while to load

    data = json.dumps(message).encode()
    if len(data) > MOST:
        raise MessageError(f"a message of {len(data):,} bytes is too long: {MOST:,} are the most")
    data = _LENGTH.pack(len(data)) + data
    left = data[socket.send_fds(connection, [data], [] if file < 0 else [file]) :]
    if left:
        connection.sendall(left)


def receive(connection: socket.socket) -> dict[str, object]:
    """The next message. Raises OSError, MessageError."""
    return _read(connection, b"")


def receive_with_file(connection: socket.socket) -> tuple[dict[str, object], int]:
    """The next message, and the descriptor that came with it, or -1. Raises OSError, MessageError."""
    begin, files, _, _ = socket.recv_fds(connection, _LENGTH.size, 1, socket.MSG_CMSG_CLOEXEC)
    file = files[0] if files else -1
    try:
        return _read(connection, begin), file
    except BaseException:
        if files:
            os.close(file)
        raise


def _read(connection: socket.socket, begin: bytes) -> dict[str, object]:
    (length,) = _LENGTH.unpack(begin + _exactly(connection, _LENGTH.size - len(begin)))
    if length > MOST:
        raise MessageError(f"a message of {length:,} bytes is too long: {MOST:,} are the most")
    import json

    try:
        message = json.loads(_exactly(connection, length))
    except (ValueError, RecursionError):
        raise MessageError("a message is no JSON") from None
    if not isinstance(message, dict):
        raise MessageError("a message is no JSON object")
    return message


def _exactly(connection: socket.socket, length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        part = connection.recv(min(length - len(data), 1 << 16))
        if not part:
            raise MessageError("a message is cut off")
        data += part
    return bytes(data)
