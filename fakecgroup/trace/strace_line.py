"""A call as strace(1) would show it."""

from __future__ import annotations

import errno as numbers
import os
from typing import Any

from .call import Call

_MOST = 200  # bytes of data that are shown
_ESCAPES = {0x22: '\\"', 0x5C: "\\\\", 0x09: "\\t", 0x0A: "\\n", 0x0D: "\\r"}

#: What the parentheses have after the file, by operation: keys of `more`.
_ARGUMENTS = {
    "open": ("flags", "mode"),
    "read": ("size", "offset"),
    "write": ("offset",),
    "lseek": ("offset", "whence"),
    "poll": ("events",),
    "access": ("mask",),
    "mkdir": ("mode",),
    "mknod": ("mode", "device"),
    "chmod": ("mode",),
    "chown": ("uid", "gid"),
    "truncate": ("size",),
    "utimens": ("atime", "mtime"),
    "rename": ("to", "flags"),
    "link": ("to",),
    "setxattr": ("name", "flags"),
    "getxattr": ("name", "size"),
    "listxattr": ("size",),
    "removexattr": ("name",),
    "copy_file_range": ("offset", "to_handle", "size"),
}
MAKES_TEXT = ("open", "openat", "openat2")
"""Calls whose data is the text of a file that was made for the caller."""

_PATHS = ("to", "name")
_HIDDEN = ("tid", "handle", "assumed", "fault")


def strace_line(call: Call) -> str:
    """One line without an end. What strangers have named is escaped."""
    return f"{call.t:12.6f} {_who(call)} {_note(call) if call.is_note else _called(call)}"


def _who(call: Call) -> str:
    thread = f"/{call.tid}" if call.tid != call.pid else ""
    return f"{printable(call.comm)}[{call.pid}{thread}]"


def _called(call: Call) -> str:
    arguments = [_file(call)]
    made = call.data is not None and call.op in MAKES_TEXT
    if call.data is not None and not made and call.op not in ("setxattr", "getxattr"):
        arguments.append(quoted(call.data))
    for key in _ARGUMENTS.get(call.op, tuple(key for key in call.more if key not in _HIDDEN)):
        if key in call.more:
            arguments.append(_value(key, call.more[key]))
    if call.data is not None and call.op in ("setxattr", "getxattr"):
        arguments.insert(2, quoted(call.data))
    text = f" {quoted(call.data)}" if made and call.data is not None else ""
    faults = call.more.get("fault")
    injected = f" (fault: {printable(', '.join(map(str, faults)))})" if isinstance(faults, list) else ""
    return f"{printable(call.op)}({', '.join(filter(None, arguments))}) = {answer(call)}{text}{injected}"


def answer(call: Call) -> str:
    """What a call returned."""
    if call.errno is None:
        return "?" if call.result is None else printable(str(call.result))
    number = getattr(numbers, call.errno, None)
    return f"-1 {call.errno}" + (f" ({os.strerror(number)})" if isinstance(number, int) else "")


def _file(call: Call) -> str:
    handle = call.more.get("handle")
    if handle is not None:
        return f"{printable(str(handle))}<{printable(call.path)}>"
    return quoted(os.fsencode(call.path)) if call.path else ""


def _value(key: str, value: Any) -> str:
    if key in _PATHS and isinstance(value, str):
        return quoted(os.fsencode(value))
    return printable(str(value))


def _note(call: Call) -> str:
    if call.op == "fork":
        places = call.more.get("cgroups")
        where = f" in {', '.join(printable(str(one)) for one in places)}" if isinstance(places, list) and places else ""
        return f"+++ forked {printable(str(call.result))}{where} +++"
    if call.op == "fault":
        rule = f"fault {printable(str(call.more.get('rule')))}"
        on = f"{printable(str(call.more.get('on')))} {printable(call.path)}"
        return f"+++ {rule} on {on}: {printable(str(call.result))} +++"
    if call.op == "thread":
        return f"+++ has the thread {printable(str(call.result))} +++"
    if call.op == "lost":
        return f"+++ {printable(str(call.result))} calls are lost: there was no room for them +++"
    words = {"exit": "exited", "reap": "was waited for", "end": f"the trace ends: {printable(str(call.result))}"}
    if call.op in words:
        return f"+++ {words[call.op]} +++"
    told = call.result if isinstance(call.result, dict) else {}
    return f"+++ {', '.join(f'{printable(str(key))} {printable(str(value))}' for key, value in told.items())} +++"


def printable(text: str) -> str:
    """A text with what could move a cursor escaped."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else _escaped(letter) for letter in text)


def _escaped(letter: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in letter.encode("utf-8", "surrogateescape"))


def quoted(data: bytes) -> str:
    """Bytes as a string in C, cut after some."""
    shown = "".join(
        _ESCAPES.get(byte) or (chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}") for byte in data[:_MOST]
    )
    return f'"{shown}"' + ("..." if len(data) > _MOST else "")
