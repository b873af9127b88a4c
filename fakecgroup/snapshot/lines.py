"""The file of a snapshot: gzip, and inside one JSON object per line. `docs/reference/snapshots.md` has the format.

A snapshot comes from strangers. It is data: it is read within bounds, and nothing of it is executed.
"""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from .content import (
    FAKE,
    NODE,
    TALOS,
    Attributes,
    SeenCgroup,
    SeenFile,
    SeenHierarchy,
    SeenKernel,
    SeenMachine,
    SeenProcess,
    Snapshot,
)
from .fields import FieldError, Fields, as_data
from .names import MOST_FILES, is_name
from .unpacked import Unpacked

FORMAT = "fakecgroup-snapshot"
VERSION = 1
_LONGEST_LINE = 16 << 20  # bytes
_MOST_IN_LINE = 1_000_000  # lists, objects, and what they hold
_MOST_STATE = 8_000_000  # likewise, of all lines with the model's state
_MOST_PROCESSES = 1_000_000
_MOST_TID = (1 << 31) - 1
_XATTR_NAME_MAX = 255  # letters
_LONGEST_PATH = 1 << 16
_CHUNK = 1 << 20
_LAYOUTS = ("v2", "v1", "hybrid")
_ID_MAX = (1 << 32) - 1


# -- writing ----------------------------------------------------------------------------------------


def pack(snapshot: Snapshot) -> bytes:
    """The bytes of the file. The same content always gives the same bytes."""
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=6, mtime=0) as file:
        count = 0
        for line in _lines(snapshot):
            file.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")
            count += 1
        file.write(json.dumps({"end": {"lines": count}}).encode() + b"\n")
    return out.getvalue()


def _lines(snapshot: Snapshot) -> Iterator[dict[str, Any]]:
    yield {"snapshot": _head(snapshot)}
    for hierarchy in snapshot.hierarchies:
        yield {"hierarchy": _plain(hierarchy, "directory unified controllers name options links".split())}
        for cgroup in hierarchy.cgroups:
            files = {name: _file(file) for name, file in cgroup.files.items()}
            yield {"cgroup": {"path": cgroup.path, **_attributes(cgroup.attributes), "files": files}}
    for process in snapshot.processes.values():
        yield {"process": _plain(process, process.__slots__)}
    for state in snapshot.state:
        yield {"state": state}


def _head(snapshot: Snapshot) -> dict[str, Any]:
    kernel = snapshot.kernel
    return {
        "format": FORMAT,
        "version": VERSION,
        **_plain(snapshot, ("taken", "layout", "origin", "redacted", "left_out")),
        "kernel": {
            "release": kernel.release,
            "config": sorted(kernel.config),
            **({} if kernel.plays is None else {"plays": kernel.plays}),
        },
        "machine": {
            **_plain(snapshot.machine, SeenMachine.__slots__),
            "huge_pages": {str(size): count for size, count in snapshot.machine.huge_pages.items()},
        },
    }


def _plain(value: object, names: Iterable[str]) -> dict[str, Any]:
    """The named attributes, without those that are empty or 0."""
    return {name: found for name in names if (found := getattr(value, name))}


def _attributes(attributes: Attributes) -> dict[str, Any]:
    xattrs = {name: as_data(value) for name, value in attributes.xattrs.items()}
    return {"mode": attributes.mode, **_plain(attributes, ("uid", "gid")), **({"xattrs": xattrs} if xattrs else {})}


def _file(file: SeenFile) -> dict[str, Any]:
    content = {"error": file.error} if file.data is None else as_data(file.data)
    return {**content, **_attributes(file.attributes)}


# -- reading ----------------------------------------------------------------------------------------


def read(data: bytes, called: str) -> Snapshot:
    """The snapshot in the bytes of a file. Raises FieldError. Fields that are not known are ignored."""
    reader = _Reader(called)
    for line in _unpacked(data):
        reader.take(line)
    return reader.done()


def _unpacked(data: bytes) -> Iterator[bytes]:
    """The lines. Raises FieldError."""
    rest = b""
    file = Unpacked(data)
    while chunk := file.read(_CHUNK):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines
        if len(rest) > _LONGEST_LINE:
            raise FieldError(f"it has a line of more than {_LONGEST_LINE >> 20} MiB")
    if rest:
        yield rest


class _Reader:
    """Takes one line after the other."""

    def __init__(self, called: str) -> None:
        self._called = called
        self._snapshot: Snapshot | None = None
        self._paths: set[str] = set()  # of the hierarchy that is read
        self._known: dict[tuple[int, ...], Attributes] = {}  # those without xattrs, which many files share
        self._lines = 0
        self._files = 0
        self._state = 0
        self._ended = False
        self._kinds: Mapping[str, Callable[[Snapshot, Fields], None]] = {
            "hierarchy": self._hierarchy,
            "cgroup": self._cgroup,
            "process": self._process,
        }

    def take(self, line: bytes) -> None:
        if self._ended:
            raise FieldError("something follows its end")
        size = sum(map(line.count, (b"[", b"{", b",")))
        if size > _MOST_IN_LINE:
            raise FieldError(f"line {self._lines + 1} has more than {_MOST_IN_LINE:,} values")
        try:
            value = json.loads(line, parse_constant=_refuse)
        except (ValueError, RecursionError):
            raise FieldError(f"line {self._lines + 1} is no JSON") from None
        if not isinstance(value, dict) or len(value) != 1:
            raise FieldError(f"line {self._lines + 1} is no object of one field")
        ((kind, content),) = value.items()
        if self._snapshot is None:
            if kind != "snapshot":
                raise FieldError("it does not begin with a snapshot's head")
            self._snapshot = self._head(Fields(content, "snapshot"))
        elif kind in self._kinds:
            self._kinds[kind](self._snapshot, Fields(content, f"line {self._lines + 1}: {kind}"))
        elif kind == "state":
            self._state += size
            if self._state > _MOST_STATE:
                raise FieldError(f"its state has more than {_MOST_STATE:,} values")
            self._snapshot.state.append(content)
        elif kind == "end":
            self._ended = True
            if Fields(content, "end").number("lines") != self._lines:
                raise FieldError("lines are missing")
        self._lines += 1

    def done(self) -> Snapshot:
        if self._snapshot is None:
            raise FieldError("it is empty")
        if not self._ended:
            raise FieldError("it is cut off")
        if not self._snapshot.hierarchies:
            raise FieldError("it has no hierarchy")
        return self._snapshot

    def _head(self, fields: Fields) -> Snapshot:
        if fields.text("format", "") != FORMAT:
            raise FieldError(f"it does not say that it is a {FORMAT}")
        if fields.get("version") != VERSION:
            raise FieldError(f"its version is {str(fields.get('version'))[:20]!a}, and this one reads {VERSION}")
        kernel = fields.fields("kernel")
        return Snapshot(
            layout=_one_of(fields, "layout", _LAYOUTS),
            origin=_one_of(fields, "origin", (NODE, FAKE, TALOS)),
            kernel=SeenKernel(
                kernel.printable("release"),
                frozenset(kernel.texts("config")),
                kernel.get("plays") if kernel.has("plays") else None,
            ),
            machine=_machine(fields.fields("machine")),
            left_out=list(fields.texts("left_out")),
            taken=fields.number("taken", 0, 1 << 40),
            redacted=fields.flag("redacted"),
            called=self._called,
        )

    def _hierarchy(self, snapshot: Snapshot, fields: Fields) -> None:
        one = SeenHierarchy(
            fields.text("directory", ""),
            fields.flag("unified"),
            fields.texts("controllers"),
            fields.text("name", ""),
            fields.texts("options"),
            fields.texts("links"),
        )
        taken = {name for known in snapshot.hierarchies for name in (known.directory, *known.links)}
        for name in (one.directory, *one.links):
            if name in taken or (name and not is_name(name)):
                raise FieldError(f"line {self._lines + 1}: no hierarchy can be at {name[:80]!a}")
        if not one.directory and (snapshot.layout != "v2" or snapshot.hierarchies or not one.unified):
            raise FieldError(f"line {self._lines + 1}: a hierarchy has no directory")
        if one.directory and snapshot.layout == "v2":
            raise FieldError(f"line {self._lines + 1}: a unified hierarchy has no directory")
        if one.unified and (snapshot.layout == "v1" or any(known.unified for known in snapshot.hierarchies)):
            raise FieldError(f"line {self._lines + 1}: a second unified hierarchy")
        snapshot.hierarchies.append(one)
        self._paths = set()

    def _cgroup(self, snapshot: Snapshot, fields: Fields) -> None:
        if not snapshot.hierarchies:
            raise FieldError(f"line {self._lines + 1}: a cgroup of no hierarchy")
        path = fields.get("path")
        parent = ""
        if isinstance(path, str) and len(path) <= _LONGEST_PATH and path != "/":
            parent, _, name = path.rpartition("/")
            legacy = not snapshot.hierarchies[-1].unified
            if not is_name(name, legacy=legacy) or (parent or "/") not in self._paths:
                parent = "?"
        elif path != "/":
            parent = "?"
        if parent == "?" or path in self._paths:
            raise FieldError(f"line {self._lines + 1}: no cgroup can be at {str(path)[:80]!a}")
        self._paths.add(path)
        files = fields.fields("files")
        seen = {}
        for name in files.names():
            if not is_name(name):
                raise FieldError(f"line {self._lines + 1}: no file can be called {name[:80]!a}")
            seen[name] = self._file(files.fields(name))
        self._files += len(seen) + 1
        if self._files > MOST_FILES:
            raise FieldError(f"it has more than {MOST_FILES:,} files")
        snapshot.hierarchies[-1].cgroups.append(SeenCgroup(path, self._attributes(fields), seen))

    def _file(self, fields: Fields) -> SeenFile:
        return SeenFile(fields.data(), fields.text("error", ""), self._attributes(fields))

    def _attributes(self, fields: Fields) -> Attributes:
        xattrs = {}
        if fields.has("xattrs"):
            given = fields.fields("xattrs")
            for name in given.names():
                xattrs[name] = given.fields(name).data() or b""
                if not 0 < len(name) <= _XATTR_NAME_MAX or len(xattrs[name]) > 1 << 16:
                    raise FieldError(f"line {self._lines + 1}: no attribute can be called {name[:80]!a}")
        mode = fields.number("mode", 0, 0o7777)
        uid, gid = (fields.number(name, 0, _ID_MAX) for name in ("uid", "gid"))
        if xattrs:
            return Attributes(mode, uid, gid, xattrs)
        return self._known.setdefault((mode, uid, gid), Attributes(mode, uid, gid))

    def _process(self, snapshot: Snapshot, fields: Fields) -> None:
        pid = fields.number("pid", most=_MOST_TID)
        if pid in snapshot.processes or len(snapshot.processes) >= _MOST_PROCESSES:
            raise FieldError(f"line {self._lines + 1}: process {pid} is there twice, or there are too many")
        amounts = {name: fields.number(name, 0) for name in ("anon", "file", "shmem", "swap", "user", "system")}
        snapshot.processes[pid] = SeenProcess(
            pid,
            fields.text("name", ""),
            fields.texts("command"),
            fields.numbers("threads", _MOST_TID),
            fields.number("uid", 0, _ID_MAX),
            **amounts,
            nice=fields.signed("nice", -20, 19),
            oom_score_adj=fields.signed("oom_score_adj", -1000, 1000),
            kernel=fields.flag("kernel"),
        )


def _machine(fields: Fields) -> SeenMachine:
    pages = fields.fields("huge_pages")
    sizes = {}
    for name in pages.names():
        if not name.isdecimal() or not name.isascii() or len(name) > 20:
            raise FieldError("snapshot.machine.huge_pages has no size")
        sizes[int(name)] = pages.number(name)
    return SeenMachine(
        cpus=fields.number("cpus", most=1 << 16),
        nodes=fields.number("nodes", 0, 1 << 10),
        memory=fields.number("memory", 0, 1 << 62),
        swap=fields.number("swap", 0, 1 << 62),
        huge_pages=sizes,
        block_devices=fields.texts("block_devices"),
        interfaces=fields.texts("interfaces"),
        architecture=fields.text("architecture", ""),
        online=fields.printable("online", ""),
    )


def _one_of(fields: Fields, name: str, known: tuple[str, ...]) -> str:
    value = fields.text(name)
    if value not in known:
        raise FieldError(f"snapshot.{name} is {value[:20]!a}; there are {', '.join(known)}")
    return value


def _refuse(name: str) -> object:
    raise ValueError(name)
