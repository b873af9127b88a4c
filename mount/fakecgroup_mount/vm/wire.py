"""The shared memory between host and guest: cases in, answers out.  ``guest/`` is the other end.

    header       u32 magic, layout, cases, first; u64 in, out, out_size; u64 out_used, progress; u32 state, current
    a case       u32 size of what follows, u32 operations, operations
    an operation u32 arguments (its name is the first), each u32 length, bytes, NUL
    an answer    u32 case, operation, errno, step, type, length, bytes

Integers are little-endian.  Numbers inside operations and answers are decimal text.
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from fakecgroup.conformance.case import Answer, Case, Op, arguments, bytes_data, poll_names, ready_text, stat_value

MAGIC = 0x31474346
HEADER = struct.Struct("<IIIIQQQQQII")
ANSWER = struct.Struct("<IIiIII")
LAYOUTS = {"v1": 1, "v2": 2, "hybrid": 3}
BOOTING, RUNNING, DONE, DIRTY = range(4)
END_OF_CASE = 0xFFFFFFFF
START_OF_CASE = 0xFFFFFFFE
STEPS = {0: "", 1: "@open", 2: "@read", 3: "@write", 4: "@close"}
#: Answers that are not an errno of the kernel.
SPECIAL = {10001: "KILLED", 10002: "BLOCKED", 10003: "NOHELPER", 10004: "BADOP"}
VERDICTS = {0: "ok", 1: "hang", 2: "lost"}


#: Flags of open(2) that are other numbers on other machines (asm/fcntl.h).
_OPEN_FLAGS = {
    "amd64": {"O_DIRECT": 0o40000, "O_DIRECTORY": 0o200000, "O_NOFOLLOW": 0o400000},
    "arm64": {"O_DIRECT": 0o200000, "O_DIRECTORY": 0o40000, "O_NOFOLLOW": 0o100000},
}


def encode_case(case: Case, architecture: str = "amd64") -> bytes:
    """A case for a guest of Debian's architecture."""
    body = b"".join(_encode_op(_flat(op, architecture)) for op in case.ops)
    return struct.pack("<II", len(body) + 4, len(case.ops)) + body


def open_flags(flags: int, architecture: str) -> int:
    """Flags of open(2), in this machine's numbers, in those of another."""
    theirs = _OPEN_FLAGS[architecture]
    found: int = flags & ~sum(getattr(os, name) for name in theirs)
    for name, number in theirs.items():
        if flags & getattr(os, name):
            found |= number
    return found


def _flat(op: Op, architecture: str) -> list[bytes]:
    """An operation as the guest wants it: its name and its arguments as bytes."""
    name = "listraw" if op[0] == "listdir" else str(op[0])
    flat = [name.encode()]
    for kind, value in arguments(op):
        if kind == "operation":
            flat += _flat(value, architecture)
        elif kind == "open":
            flat.append(str(open_flags(value, architecture)).encode())
        elif isinstance(value, bytes):
            flat.append(value)
        else:
            flat.append(str(value).encode())
    return flat


def _encode_op(parts: Sequence[bytes]) -> bytes:
    return struct.pack("<I", len(parts)) + b"".join(struct.pack("<I", len(p)) + p + b"\0" for p in parts)


@dataclass
class RawCase:
    """What the guest said about one case so far."""

    pids: dict[int, str] = field(default_factory=dict)
    answers: list[Answer] = field(default_factory=list)
    verdict: str | None = None


def decode(cases: Sequence[Case], data: bytes, into: dict[int, RawCase]) -> None:
    """Read the guest's output; ``into`` maps the number of a case to what is known about it."""
    for index, which, err, step, kind, payload in _records(data):
        raw = into.setdefault(index, RawCase())
        if which == START_OF_CASE:
            raw.pids = {int(payload): "self"}
            raw.answers = []
        elif which == END_OF_CASE:
            raw.verdict = VERDICTS[int(payload)]
        else:
            op = cases[index].ops[which]
            raw.answers.append(_answer(op, err, step, kind, payload, raw.pids))


def _records(data: bytes) -> Iterator[tuple[int, int, int, int, int, bytes]]:
    at = 0
    while at < len(data):
        index, which, err, step, kind, length = ANSWER.unpack_from(data, at)
        at += ANSWER.size
        yield index, which, err, step, kind, data[at : at + length]
        at += length


def _answer(op: Op, err: int, step: int, kind: int, payload: bytes, pids: dict[int, str]) -> Answer:
    if err:
        name = SPECIAL.get(err) or errno.errorcode.get(err, str(err))
        return (name + STEPS[step], None)
    while op[0] == "in":
        op = op[2:]
    if op[0] in ("fork", "thread", "clone_into"):
        pids[int(payload)] = str(op[1])
        return (None, None)
    return (None, _value(str(op[0]), kind, payload))


def _value(op: str, kind: int, payload: bytes) -> Any:
    if kind == 0:
        return None
    if kind == 1:
        number = int(payload)
        return poll_names(number) if op == "poll" else number
    if kind == 2:
        if op in ("stat", "fstat"):
            return stat_value(*(int(part) for part in payload.split()))
        if op == "statfs":
            names = ("type", "bsize", "frsize", "namelen", "blocks", "files")
            return dict(zip(names, (int(part) for part in payload.split()), strict=True))
        return bytes_data(payload)
    items = []
    at = 0
    while at < len(payload):
        (length,) = struct.unpack_from("<I", payload, at)
        items.append(bytes_data(payload[at + 4 : at + 4 + length]))
        at += 4 + length
    if op == "ready":
        return sorted(ready_text(name, int(bits)) for name, bits in (item.split() for item in items))
    if op == "releases":
        return sorted(items)
    if op == "listdir":
        return sorted(item for item in items if item not in (".", ".."))
    return items
