"""Reads the lines that strace(1) prints: system calls with their arguments, as text.

The line is that of `strace -f -y -ttt`, with -Y for the names of processes. Others may print the same without the paths
of open files, and with -22 for EINVAL, as tracepoints tell it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from errno import errorcode

from ..named_tuple import NamedTuple

_LINE = re.compile(
    r"(?:\[pid +)?(?P<tid>[0-9]{1,10})(?:<(?P<comm>(?:[^>\\]|\\.)*)>)?\]? +(?P<t>[0-9]{1,12}\.[0-9]{1,9}) (?P<rest>.*)"
)
_RESUMED = re.compile(r"<\.\.\. (\w+) resumed>(.*)")
_CALL = re.compile(r"(\w+)\(")
_UNFINISHED = " <unfinished ...>"
_RESULT = re.compile(r" *= (-?[0-9]+|0x[0-9a-f]+|\?)(?:<((?:[^>\\]|\\.)*)>)?(?:\(deleted\))?(?: (E[A-Z0-9]+))?")
_ENDED = re.compile(r"\+\+\+ (?:exited with|killed by) .*\+\+\+")
_OPENING, _CLOSING = "([{", ")]}"
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"(\.\.\.)?', re.DOTALL)
_DESCRIPTOR = re.compile(r"(-?[0-9]{1,10}|AT_FDCWD|-100)(?:<((?:[^>\\]|\\.)*)>)?")
_ANGLED = re.compile(r"<(?:[^>\\]|\\.)*>")
_ESCAPED = re.compile(rb"\\(?:x([0-9a-fA-F]{2})|([0-7]{1,3})|(.))", re.DOTALL)
_LETTERS = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"v": b"\v", b"f": b"\f", b"a": b"\a", b"b": b"\b"}


class SystemCall(NamedTuple):
    """A call that has returned. `result` is None for one that did not say. `errno` is a name, or None."""

    tid: int
    comm: str
    t: float
    name: str
    arguments: list[str]
    result: int | None
    errno: str | None


class Ended(NamedTuple):
    """A thread has ended."""

    tid: int
    comm: str
    t: float


class StraceReader:
    """What happened, in the order in which it ended. `not_read` counts the lines that are no such thing."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._lines = lines
        self._begun: dict[int, str] = {}  # the first half of a call, by thread
        self.not_read = 0

    def __iter__(self) -> Iterator[SystemCall | Ended]:
        for line in self._lines:
            text = line.decode("utf-8", "surrogateescape").rstrip("\n")
            found = _LINE.fullmatch(text)
            if found is None:
                self.not_read += bool(text.strip())
                continue
            tid, comm, t = int(found["tid"]), text_of(found["comm"] or ""), float(found["t"])
            rest = found["rest"]
            if _ENDED.fullmatch(rest):
                self._begun.pop(tid, None)
                yield Ended(tid, comm, t)
            elif rest.startswith("---"):
                continue  # a signal
            elif rest.endswith(_UNFINISHED):
                self._begun[tid] = rest.removesuffix(_UNFINISHED)
            else:
                again = _RESUMED.fullmatch(rest)
                if again is not None:
                    rest = self._begun.pop(tid, "") + again[2]
                call = _read(rest)
                if call is None:
                    self.not_read += 1
                else:
                    yield SystemCall(tid, comm, t, *call)


def _read(text: str) -> tuple[str, list[str], int | None, str | None] | None:
    """Name, arguments, result and errno of `name(arguments) = result`; None for what is no such text."""
    head = _CALL.match(text)
    if head is None:
        return None
    parts = _split(text, head.end())
    if parts is None:
        return None
    arguments, end = parts
    found = _RESULT.match(text, end)
    if found is None:
        return None
    result = None if found[1] == "?" else int(found[1], 16 if found[1].startswith("0x") else 10)
    errno = found[3]
    if result is not None and result < -1 and errno is None:  # as tracepoints tell it
        errno, result = errorcode.get(-result), -1
    elif result == -1 and errno is None:
        errno = "EPERM"
    return head[1], arguments, result, errno


def _split(text: str, at: int) -> tuple[list[str], int] | None:
    """The arguments of a call, whose parenthesis is before `at`, and where they end."""
    found: list[str] = []
    begin, depth = at, 0
    while at < len(text):
        letter = text[at]
        if letter == '"':
            string = _QUOTED.match(text, at)
            if string is None:
                return None
            at = string.end()
            continue
        if letter == "<":
            end = _ANGLED.match(text, at)
            at = at + 1 if end is None else end.end()
            continue
        if letter in _OPENING:
            depth += 1
        elif letter in _CLOSING:
            if depth == 0:
                last = text[begin:at].strip()
                return ([*found, last] if last or found else found), at + 1
            depth -= 1
        elif letter == "," and depth == 0:
            found.append(text[begin:at].strip())
            begin = at + 1
        at += 1
    return None


def data_of(argument: str) -> bytes | None:
    """The bytes of a string in C; None for what is none, or cut."""
    found = _QUOTED.match(argument)
    return _bytes(found[1]) if found is not None and not found[2] else None


def all_data_of(argument: str) -> bytes | None:
    """The bytes of all strings in an argument, such as an array of struct iovec; None where one is cut."""
    found = list(_QUOTED.finditer(argument))
    return None if any(one[2] for one in found) else b"".join(_bytes(one[1]) for one in found)


def descriptor_of(argument: str) -> tuple[int | None, str | None]:
    """The number of an open file, None for AT_FDCWD, and its path, None if it is not told."""
    found = _DESCRIPTOR.match(argument)
    if found is None:
        return None, None
    number = None if found[1] in ("AT_FDCWD", "-100") else int(found[1])
    return number, None if found[2] is None else text_of(found[2])


def text_of(text: str) -> str:
    """A text without its escapes."""
    return _bytes(text).replace(b"\0", b"").decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    def one(found: re.Match[bytes]) -> bytes:
        if found[1]:
            return bytes([int(found[1], 16)])
        if found[2]:
            return bytes([int(found[2], 8) & 0xFF])
        return _LETTERS.get(found[3], found[3])

    return _ESCAPED.sub(one, text.encode("utf-8", "surrogateescape"))
