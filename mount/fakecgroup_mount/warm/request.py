"""What a client has sent."""

from __future__ import annotations

import os
import socket
import sys

from fakecgroup.named_tuple import NamedTuple
from fakecgroup_mount.warm.client import MOST_FILES, NUMBER


class Request(NamedTuple):
    """What the process is given that a client asks for. `files` are the received ones: of the working directory, then
    those for `numbers`. `streams` has "ENCODING:ERRORS" of each standard stream, "" for one that is closed.
    """

    facts: list[str]
    umask: int
    mask: set[int]
    ignored: set[int]
    streams: list[str]
    numbers: list[int]
    argv: list[str]
    environment: dict[bytes, bytes]
    files: list[int]


_TAIL = 6  # facts that are taken on, after those that must be the same: umask, signals, standard streams


def receive(connection: socket.socket) -> Request:
    """Raises OSError and ValueError for what no client sends."""
    head, files, flags, _ = socket.recv_fds(connection, NUMBER, MOST_FILES)
    if len(head) < NUMBER or flags & socket.MSG_CTRUNC:
        raise ValueError(head)
    body = bytearray()
    size = int.from_bytes(head, sys.byteorder)
    while len(body) < size:
        more = connection.recv(size - len(body))
        if not more:
            raise ValueError(body)
        body += more
    first, second, third, *words = bytes(body).split(b"\0")
    facts, argv = int(first), int(second)
    numbers, *known = map(os.fsdecode, words[:facts])
    umask, mask, ignored, *streams = known[-_TAIL:]
    pairs = [pair.partition(b"=")[::2] for pair in words[facts + argv :]]
    if len(pairs) != int(third):
        raise ValueError(third)
    return Request(
        known[:-_TAIL],
        int(umask),
        _numbers(mask),
        _numbers(ignored),
        streams,
        sorted(_numbers(numbers)),
        [os.fsdecode(word) for word in words[facts : facts + argv]],
        dict(pairs),
        list(files),
    )


def _numbers(text: str) -> set[int]:
    return {int(number) for number in text.split(",") if number}
