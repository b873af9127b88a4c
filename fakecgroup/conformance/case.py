"""A case: a named sequence of file system operations on an empty cgroup tree.

As JSON: ``{"name": ..., "layout": "v2" | "v1" | "hybrid", "ops": [[op, argument, ...], ...]}``.  Paths are relative
to the layout's root: ``a/cpu.max`` on v2, ``cpu,cpuacct/a/cpu.shares`` on v1, ``unified/a`` beside these on hybrid.
Each operation has one answer, ``[errno, value]``: the errno's name or null, and what came back or null.  ``write`` and
``read`` are made of several system calls, so their errno tells which one failed: ``EINVAL@write``.

Data is a string (UTF-8; other bytes as surrogate escapes), ``{"b64": ...}``, ``{"repeat": [data, n]}`` or
``{"join": [data, ...]}``.  In data, ``$name`` stands for the pid of the process ``name``, or else for the number of the
file open under that name, and ``$agent`` for the path of a release agent that notes its runs; in answers pids are
turned back.  ``$self`` is the process that does the operations; it
starts in the root of every hierarchy.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import signal
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from fakecgroup.credentials.capability import Capability

LAYOUTS = ("v2", "v1", "hybrid")

#: Every operation with the kinds of its arguments; ``kind=default`` may be left out.
#: Handles name open files, as in C's ``f...`` calls.  ``in NAME OP ...`` lets a helper process do an operation.
OPERATIONS: dict[str, tuple[str, ...]] = {
    # paths
    "mkdir": ("path", "mode=0755"),
    "rmdir": ("path",),
    "write": ("path", "data"),
    "read": ("path",),
    "until": ("path", "data"),  # read again, for at most 2 s, until the text holds this
    "listdir": ("path",),  # sorted names
    "listraw": ("path",),  # the kernel's own order, with . and ..
    "stat": ("path",),
    "mtime": ("path",),  # seconds
    "statfs": ("path",),
    "rename": ("path", "path", "rename=0"),
    "unlink": ("path",),
    "symlink": ("path", "path"),  # target, new name
    "link": ("path", "path"),
    "readlink": ("path",),
    "mknod": ("path", "mode", "int=0"),
    "creat": ("path", "mode=0644"),
    "truncate": ("path", "int"),
    "chmod": ("path", "mode"),
    "chown": ("path", "int", "int"),
    "utimens": ("path", "int", "int"),  # access and modification time, seconds
    "access": ("path", "access"),
    "setxattr": ("path", "text", "data", "xattr=0"),
    "getxattr": ("path", "text", "int=65536"),  # buffer size; 0 asks for the length
    "listxattr": ("path",),
    "removexattr": ("path", "text"),
    # open files
    "open": ("handle", "path", "open=O_RDONLY", "mode=0644"),
    "close": ("handle",),
    "fread": ("handle", "int"),
    "fpread": ("handle", "int", "int"),  # size, offset
    "fwrite": ("handle", "data"),
    "fpwrite": ("handle", "data", "int"),
    "lseek": ("handle", "int", "whence=SEEK_SET"),
    "ftruncate": ("handle", "int"),
    # copies; where no position is given, that of the open file
    "sendfile": ("handle", "int", "int=-1"),  # size, position; what comes into a file in memory
    "sendfile_to": ("handle", "data"),  # from a file in memory
    "splice": ("handle", "int", "int=-1"),  # size, position; what comes into a pipe
    "splice_to": ("handle", "data", "int=-1"),  # from a pipe
    "copy_range": ("handle", "handle", "int"),  # copy_file_range(2) from one to the other; the bytes copied
    "copy_out": ("handle", "int"),  # copy_file_range(2) into a file in memory
    "copy_in": ("handle", "data"),  # copy_file_range(2) from one
    "fsync": ("handle",),
    "fstat": ("handle",),
    "poll": ("handle", "poll=IN"),  # what is ready now; never waits
    "epoll": ("handle",),
    "epoll_add": ("handle", "handle", "epoll=IN|PRI"),  # ET: tell of each wake once
    "ready": ("handle",),  # "handle EVENTS" of what epoll tells of now, sorted; never waits
    "inotify": ("handle",),
    "watch": ("handle", "path", "int=4095"),  # inotify_add_watch and its mask
    "events": ("handle",),  # "watch mask name" of each, sorted
    "eventfd": ("handle",),
    "eventcount": ("handle",),  # how often it was signalled since it was asked last
    # who does it
    "as": ("int", "int"),  # uid, gid of the following operations
    "capabilities": (
        "capabilities",
        "capabilities=~",
    ),  # effective, and permitted for good; "as 0" makes all that are effective
    "user_namespace": (),  # a new one, in which the own ids are 0 and there are no others; only in a helper
    "umask": ("mode",),
    "unshare": (),  # a cgroup namespace of its own
    # processes
    "fork": ("name",),
    "thread": ("name",),
    "clone_into": ("name", "path"),  # clone3(CLONE_INTO_CGROUP)
    "in": ("name", "operation"),
    "exit": ("int=0",),  # only as "in NAME exit"; the process stays a zombie until "wait"
    "kill": ("name", "signal=KILL"),
    "wait": ("name",),
    "state": ("name",),  # its letter in /proc, or "gone"
    "proc": ("name", "text"),  # a file of /proc/PID
    "alloc": ("int",),  # bytes of anonymous memory, touched
    "releases": ("int=0", "release=argument"),  # runs of $agent since the last time; waits for so many
    "affinity": ("name",),  # the CPUs it may use, as a bit mask
    "set_affinity": ("name", "int"),
    # the machine
    "cpu": ("int", "data"),  # what is written to the file `online` of a CPU; 0 takes it offline
    "cpus": ("text",),  # the list of these: online, offline, possible, present
    "settle": ("int",),  # milliseconds
}

Data = Any  # a JSON value as described above
Op = Sequence[Any]
Answer = tuple[str | None, Any]


class CaseError(ValueError):
    """A case that is not well formed; the text names the operation."""


@dataclass(frozen=True)
class Case:
    """One sequence of operations; see the module's text for the format."""

    name: str
    layout: str
    ops: tuple[tuple[Any, ...], ...]

    def __post_init__(self) -> None:
        if self.layout not in LAYOUTS:
            raise CaseError(f"case {self.name!r}: layout {self.layout!r} is none of {', '.join(LAYOUTS)}")
        for op in self.ops:
            try:
                arguments(op)
            except CaseError as error:
                raise CaseError(f"case {self.name!r}: {error}") from None

    def as_json(self) -> dict[str, Any]:
        return {"name": self.name, "layout": self.layout, "ops": [list(op) for op in self.ops]}

    @property
    def digest(self) -> str:
        """Twelve hex digits that change when the case does."""
        text = json.dumps(self.as_json(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @classmethod
    def from_json(cls, value: Any, layout: str | None = None) -> Case:
        """A case from its JSON form; a bare list of operations is taken as one case of ``layout``."""
        if isinstance(value, list):
            value = {"name": "unnamed", "ops": value}
        try:
            ops = tuple(tuple(op) for op in value["ops"])
            return cls(str(value.get("name", "unnamed")), str(layout or value.get("layout", "v2")), ops)
        except (KeyError, TypeError, AttributeError):
            raise CaseError(
                'a case is {"name": ..., "layout": ..., "ops": [[op, ...], ...]} or a list of operations'
            ) from None


def data_bytes(data: Data) -> bytes:
    """The bytes that a data argument stands for."""
    if isinstance(data, str):
        return os.fsencode(data) if data.isascii() else data.encode("utf-8", "surrogateescape")
    if isinstance(data, bool) or not isinstance(data, (dict, int)):
        raise CaseError(f"not data: {data!r}")
    if isinstance(data, int):
        return str(data).encode()
    if "b64" in data:
        return base64.b64decode(data["b64"])
    if "repeat" in data:
        piece, times = data["repeat"]
        return data_bytes(piece) * int(times)
    if "join" in data:
        return b"".join(data_bytes(piece) for piece in data["join"])
    raise CaseError(f"not data: {data!r}")


def bytes_data(raw: bytes) -> str:
    """The shortest data argument for some bytes that is a plain string."""
    return raw.decode("utf-8", "surrogateescape")


def arguments(op: Op) -> list[tuple[str, Any]]:
    """The arguments of an operation with their kinds, defaults filled in and values as the system calls take them.

    Paths, texts and data become bytes; modes, flags and signals become integers; names stay strings; the operation
    inside ``in`` stays a sequence.  Raises CaseError.
    """
    if not op or not isinstance(op[0], str) or op[0] not in OPERATIONS:
        raise CaseError(f"unknown operation in {list(op)!r}")
    kinds = OPERATIONS[op[0]]
    given = list(op[1:])
    if kinds[-1:] == ("operation",):
        if len(given) < 2:
            raise CaseError(f"{list(op)!r}: in NAME OPERATION ...")
        arguments(given[1:])
        return [("name", given[0]), ("operation", tuple(given[1:]))]
    if len(given) > len(kinds):
        raise CaseError(f"{list(op)!r}: {op[0]} takes {len(kinds)} arguments")
    result = []
    for position, kind in enumerate(kinds):
        kind, _, default = kind.partition("=")
        if position < len(given):
            value = given[position]
        elif default:
            value = default
        else:
            raise CaseError(f"{list(op)!r}: argument {position + 1} ({kind}) is missing")
        try:
            result.append((kind, _value(kind, value)))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise CaseError(f"{list(op)!r}: {value!r} is no {kind}") from None
    return result


def _value(kind: str, value: Any) -> Any:
    if kind in ("path", "data", "text"):
        return data_bytes(value)
    if kind == "mode":
        return int(value, 8) if isinstance(value, str) else int(value)
    if kind == "int":
        return int(value)
    if kind == "open":
        return _bits(value, lambda name: int(getattr(os, name)))
    if kind == "rename":
        return _bits(value, {"NOREPLACE": 1, "EXCHANGE": 2, "WHITEOUT": 4}.__getitem__)
    if kind == "xattr":
        return _bits(value, {"CREATE": 1, "REPLACE": 2}.__getitem__)
    if kind == "access":
        return _bits(value, {"F": 0, "R": 4, "W": 2, "X": 1}.__getitem__)
    if kind == "poll":
        return _bits(value, POLL.__getitem__)
    if kind == "epoll":
        return _bits(value, {**POLL, "ET": EPOLLET}.__getitem__)
    if kind == "capabilities":
        without = value.startswith("~")
        named = _bits(value.removeprefix("~"), Capability.__getitem__)
        return ALL_CAPABILITIES & ~named if without else named
    if kind == "whence":
        names = {"SEEK_SET": 0, "SEEK_CUR": 1, "SEEK_END": 2, "SEEK_DATA": 3, "SEEK_HOLE": 4}
        return names[value] if isinstance(value, str) else int(value)
    if kind == "release" and value in RELEASE:
        return str(value)
    if kind == "signal":
        return int(getattr(signal, "SIG" + value)) if isinstance(value, str) else int(value)
    if kind in ("handle", "name") and isinstance(value, str) and 0 < len(value) < 32:
        return value
    raise CaseError(kind)


#: What can be asked of each run of the release agent: the cgroup it was told, or the kind of process it was.
RELEASE = ("argument", "process")

#: More than any kernel has; which of them there are is the kernel's.
ALL_CAPABILITIES = (1 << 63) - 1

#: Events of poll(2).
POLL = {"IN": 1, "PRI": 2, "OUT": 4, "ERR": 8, "HUP": 16, "NVAL": 32}

#: Of epoll(7), besides: tell of each wake once.
EPOLLET = 1 << 31


def _bits(value: Any, number: Any) -> int:
    if isinstance(value, int):
        return value
    if value.isdigit():
        return int(value)
    result = 0
    for name in value.split("|") if value else ():
        result |= int(number(name))
    return result


def poll_names(bits: int) -> list[str]:
    """The names of the events in a poll(2) mask."""
    return [name for name, bit in POLL.items() if bits & bit]


def ready_text(handle: str, bits: int) -> str:
    """What epoll tells of one handle."""
    return f"{handle} {'|'.join(poll_names(bits))}"


def stat_value(mode: int, nlink: int, uid: int, gid: int, size: int, blksize: int, blocks: int) -> dict[str, Any]:
    """The answer to ``stat``: what a test may rely on (sizes in bytes), without inode number, device and times."""
    kinds = {stat.S_IFDIR: "dir", stat.S_IFREG: "file", stat.S_IFLNK: "link"}
    return {
        "type": kinds.get(stat.S_IFMT(mode), "other"),
        "mode": f"{stat.S_IMODE(mode):04o}",
        "nlink": nlink,
        "uid": uid,
        "gid": gid,
        "size": size,
        "blksize": blksize,
        "blocks": blocks,
    }


def load_cases(text: str, layout: str | None = None) -> list[Case]:
    """Cases from a JSON text: one case, a list of cases, one list of operations, or a case or operation per line.

    Operations that are given line by line, without a case around them, make one case.  Raises CaseError.
    """
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
        try:
            value = [json.loads(line) for line in lines]
        except json.JSONDecodeError as error:
            raise CaseError(f"not JSON: {error}") from None
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list) or not value:
        raise CaseError("no case in the input")
    if isinstance(value[0], list):
        return [Case.from_json(value, layout)]
    if isinstance(value[0], str):
        return [Case.from_json([value], layout)]
    return [Case.from_json(one, layout) for one in value]


def dump_cases(cases: Iterable[Case]) -> str:
    """Cases as text, one per line; ``load_cases`` reads it."""
    return "".join(json.dumps(case.as_json()) + "\n" for case in cases)
