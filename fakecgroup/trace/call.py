"""A line of a trace: a call, or a note about a process or the trace itself."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from json.encoder import encode_basestring_ascii as _quoted
from types import MappingProxyType
from typing import Any

from ..named_tuple import NamedTuple

KEYS = ("t", "pid", "comm", "op", "path", "data", "errno", "result")
"""The keys of each line, in their order. What else matters to an operation follows."""

NOTES = ("trace", "process", "fork", "thread", "exit", "reap", "fault", "lost", "end")
"""The operations that no program did: the head of a trace, what became of processes, faults that fired, calls that were
lost, the end."""


_ERRNO = re.compile(r"E[A-Z0-9]{1,30}")
_NOTHING: Mapping[str, Any] = MappingProxyType({})


class CallError(ValueError):
    """A line is no call; the text says why."""


class Call(NamedTuple):
    """What one program did.

    `t` is in seconds from the beginning of the trace. `path` begins at the root of the tree, which is "."; what is
    outside of the tree has an absolute path. `data` are the bytes that were written or read. `errno` is a name, or None
    where the call worked; then `result` is its answer. `more` has what else matters to the operation, such as `flags`.
    """

    t: float
    pid: int
    comm: str
    op: str
    path: str = ""
    data: bytes | None = None
    errno: str | None = None
    result: Any = None
    more: Mapping[str, Any] = _NOTHING

    @property
    def is_note(self) -> bool:
        return self.op in NOTES

    @property
    def tid(self) -> int:
        """The thread that called."""
        found = self.more.get("tid", self.pid)
        return found if isinstance(found, int) else self.pid

    @property
    def file(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]

    def number(self, key: str, default: int = 0) -> int:
        """A whole number of `more`."""
        found = self.more.get(key, default)
        return found if isinstance(found, int) else default

    def text(self, key: str) -> str:
        """A text of `more`; empty where there is none."""
        found = self.more.get(key, "")
        return found if isinstance(found, str) else ""


def line_of(call: Call) -> str:
    """A call as a line of JSON, with its newline."""
    t, pid, comm, op, path, data, errno, result, more = call
    rest = "".join([f", {_quoted(key)}: {_json(value)}" for key, value in more.items()]) if more else ""
    return (
        f'{{"t": {t:.6f}, "pid": {pid}, "comm": {_quoted(comm)}, "op": {_quoted(op)}, "path": {_quoted(path)}, '
        f'"data": {"null" if data is None else _json(written_data(data))}, '
        f'"errno": {"null" if errno is None else _quoted(errno)}, "result": {_json(result)}{rest}}}\n'
    )


def _json(value: Any) -> str:
    """What json.dumps gives, sooner for most values."""
    kind = type(value)
    if kind is int:
        return str(value)
    if kind is str:
        return _quoted(value)
    return "null" if value is None else json.dumps(value)


def written_data(data: bytes) -> str | dict[str, str]:
    """Bytes as they stand in a line: text, or base64 where they are no UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode("ascii")}


def call_of(line: str | bytes) -> Call:
    """The call of a line. Raises CallError."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        raise CallError("it is no JSON") from None
    if not isinstance(value, dict):
        raise CallError("it is no JSON object")
    op = value.get("op")
    if not isinstance(op, str) or not op:
        raise CallError("it has no op")
    t = value.get("t", 0.0)
    if isinstance(t, bool) or not isinstance(t, (int, float)) or not 0 <= t < 1e12:
        raise CallError("t is no time in seconds")
    pid = value.get("pid", 0)
    if isinstance(pid, bool) or not isinstance(pid, int) or not -1 <= pid < 1 << 31:
        raise CallError("pid is no process number")
    texts = {}
    for name in ("comm", "path"):
        texts[name] = value.get(name) or ""
        if not isinstance(texts[name], str) or "\0" in texts[name]:
            raise CallError(f"{name} is no text")
    errno = value.get("errno")
    if errno is not None and not (isinstance(errno, str) and _ERRNO.fullmatch(errno)):
        raise CallError("errno is no name of an error")
    more = {name: found for name, found in value.items() if name not in KEYS}
    return Call(
        float(t), pid, texts["comm"], op, texts["path"], _data(value.get("data")), errno, value.get("result"), more
    )


def _data(value: object) -> bytes | None:
    if value is None:
        return None
    try:
        if isinstance(value, str):
            return value.encode("utf-8", "surrogatepass")
        if isinstance(value, dict):
            return base64.b64decode(value["base64"], validate=True)
    except (KeyError, TypeError, ValueError, binascii.Error):
        pass
    raise CallError('data is neither text nor {"base64": ...}')
