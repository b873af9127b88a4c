"""What goes through a control socket: JSON objects, each after its length in bytes."""

from __future__ import annotations

import json
import socket
from struct import Struct

_LENGTH = Struct("=I")
MOST = 8 << 20
"""Bytes of the longest message."""


class MessageError(Exception):
    """The other side sends what is no message: too long, cut off, or no JSON object."""


def send(connection: socket.socket, message: dict[str, object]) -> None:
    """Sends a message. Raises OSError, MessageError for one that is too long."""
    data = json.dumps(message).encode()
    if len(data) > MOST:
        raise MessageError(f"a message of {len(data):,} bytes is too long: {MOST:,} are the most")
    connection.sendall(_LENGTH.pack(len(data)) + data)


def receive(connection: socket.socket) -> dict[str, object]:
    """The next message. Raises OSError, MessageError."""
    (length,) = _LENGTH.unpack(_exactly(connection, _LENGTH.size))
    if length > MOST:
        raise MessageError(f"a message of {length:,} bytes is too long: {MOST:,} are the most")
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
