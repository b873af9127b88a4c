"""Takes names out of a trace, so that it can be given to others, by the rules of `other_names`.

Replaced are the names of cgroups and commands, the numbers of processes, paths outside of the tree, names and values of
extended attributes, and words in what was written that no interface file knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from ..base_files.attach import PID_FILES
from ..controllers import CONTROLLERS
from ..machine.mount_options import SINCE
from ..machine.mounts import SYSTEMD_MOUNTS
from ..other_names import OtherNames, other_numbers
from .call import Call
from .stage import shows_places
from .tree_names import HIERARCHIES, is_file

_WORD = re.compile(r"[A-Za-z_][\w.@:/\\-]*|/[^\s,]*")
_OF_DEVICES = re.compile(r"(rdma|dmem|io|blkio)\..*")  # whose words are the names of devices
_LIST = re.compile(rb"[\s0-9\0]*")  # of processes
_PROC = re.compile(r"/proc/([0-9]+)(/.*)?")

#: Words that files take, or that kernels and mounts have.
_WORDS = frozenset(
    [name for one in CONTROLLERS for name in (one.name, one.legacy_name) if name]
    + [*HIERARCHIES, *SINCE, *(option for mount in SYSTEMD_MOUNTS for option in mount.directory.split(","))]
    + (
        "max min default none all root member isolated threaded domain invalid FROZEN THAWED some full low "
        "medium critical rbps wbps riops wiops rwm r w m rw rm wm a b c hca_handle hca_object swappiness "
        "enable ctrl user auto rpct rlat wpct wlat model linear rseqiops rrandiops wseqiops wrandiops name "
        "mode size ro cgroup cgroup2 cpuset proc sysfs tmpfs tasks source xattr noprefix clone_children local "
        "hierarchy release_agent"
    ).split()
)
_KEPT = frozenset(
    "handle flags mode size offset whence events mask device gid uid atime mtime removed fault assumed rule on signal"
    " command type to_handle".split()
)  # keys whose values name nobody


class Redactor:
    """Replaces names consistently. `learn` takes all calls first, as numbers of processes keep their order."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._names = OtherNames(key, other_numbers(()))

    def learn(self, calls: Iterable[Call]) -> None:
        """Takes note of the processes in a trace."""
        found = {number for call in calls for number in _numbers(call) if number > 0}
        self._names = OtherNames(self._key, other_numbers(found))

    def redact(self, calls: Iterable[Call]) -> Iterator[Call]:
        """The calls without names."""
        return map(self.call, calls)

    def call(self, call: Call) -> Call:
        """One call without names."""
        more = {key: self._more(key, value) for key, value in call.more.items()}
        return call._replace(
            pid=self._pid(call.pid),
            comm=self._names.comm(call.comm),
            path=self._path(call.path),
            data=None if call.data is None else self._data(call, call.data),
            result=self._result(call),
            more={key: value for key, value in more.items() if value is not None},
        )

    # -- parts ------------------------------------------------------------------------------------

    def _pid(self, number: int) -> int:
        return self._names.pid(number)

    def _path(self, path: str) -> str:
        if path.startswith("/"):
            found = _PROC.fullmatch(path)
            if found is not None:
                return f"/proc/{self._pid(int(found[1]))}{found[2] or ''}"
            return path if path.startswith("/proc/") else self._names.text(path)
        parts = path.split("/")
        for index, part in enumerate(parts):
            if part in ("", ".", "..") or (index == 0 and part in HIERARCHIES) or is_file(part):
                continue
            parts[index] = self._names.text(part)
        return "/".join(parts)

    def _more(self, key: str, value: Any) -> Any:
        """What else matters; None to leave it out, as nobody knows what it names."""
        if key in ("tid", "target", "parent"):
            return self._pid(value) if isinstance(value, int) else None
        if key == "to":
            return self._path(value) if isinstance(value, str) else None
        if key in ("cgroups", "descriptors"):
            listed = value if isinstance(value, list) else []
            return [
                one if one in ("eventfd", "other") else self._path(one) if isinstance(one, str) else None
                for one in listed
            ]
        if key == "pids":
            told = value.items() if isinstance(value, dict) else ()
            return {str(self._pid_of(name)): self._pid(tid) for name, tid in told if isinstance(tid, int)}
        if key == "name":
            return self._attribute(value) if isinstance(value, str) else None
        if key == "source":
            return self._words(value) if isinstance(value, str) else None
        return value if key in _KEPT else None

    def _pid_of(self, text: str) -> int:
        return self._pid(int(text)) if text.isdigit() else 0

    def _attribute(self, name: str) -> str:
        """An extended attribute, or an option of a mount."""
        return self._names.attribute(name) if "." in name else self._words(name)

    def _result(self, call: Call) -> Any:
        result = call.result
        if call.op == "trace":
            return {key: value for key, value in result.items() if key != "began"} if isinstance(result, dict) else None
        if call.op in ("fork", "thread"):
            return self._pid(result) if isinstance(result, int) else None
        if call.op == "process":
            told = result if isinstance(result, dict) else {}
            return {
                key: self._pid(value) if key == "parent" and isinstance(value, int) else value
                for key, value in told.items()
            }
        return result

    def _data(self, call: Call, data: bytes) -> bytes | None:
        if call.op in ("setxattr", "getxattr"):
            return self._names.data(data)
        if call.op == "listxattr":
            return b"\0".join(self._names.attribute(_text(name)).encode() for name in data.split(b"\0"))
        if call.op in ("readlink", "symlink"):
            return self._path(_text(data)).encode()
        if call.op in ("open", "openat", "openat2"):
            return self._places(_text(data)).encode() if shows_places(call) else None
        if call.file in PID_FILES and _LIST.fullmatch(data):
            return re.sub(rb"[0-9]+", lambda found: b"%d" % self._pid(int(found[0][:10])), data)
        if call.op == "read":
            return self._names.shown(call.file, data)
        if _OF_DEVICES.fullmatch(call.file):
            return data
        return self._words(_text(data)).encode()

    def _places(self, text: str) -> str:
        """/proc/PID/cgroup: each line ends in a path from the hierarchy's root."""
        lines = []
        for line in text.splitlines(keepends=True):
            number, names, path = line.split(":", 2) if line.count(":") >= 2 else ("", "", "")
            end = "\n" if path.endswith("\n") else ""
            lines.append(f"{number}:{names}:/{self._path(path.strip().lstrip('/'))}{end}")
        return "".join(lines)

    def _words(self, text: str) -> str:
        """What was written, with words that no file knows replaced."""
        plain = "".join(letter if letter.isascii() else "?" for letter in text)
        return _WORD.sub(lambda found: found[0] if _is_known(found[0]) else self._names.text(found[0]), plain)


def _numbers(call: Call) -> Iterator[int]:
    """The processes that a call names."""
    yield call.pid
    for key in ("tid", "target"):
        if key in call.more:
            yield call.number(key)
    if call.op in ("fork", "thread") and isinstance(call.result, int):
        yield call.result
    if call.op == "process" and isinstance(call.result, dict) and isinstance(call.result.get("parent"), int):
        yield call.result["parent"]
    if call.file in PID_FILES and call.data is not None and _LIST.fullmatch(call.data):
        yield from (int(number[:10]) for number in re.findall(rb"[0-9]+", call.data))
    pids = call.more.get("pids")
    if isinstance(pids, dict):
        yield from (int(name) for name in pids if name.isdigit() and len(name) < 11)
        yield from (tid for tid in pids.values() if isinstance(tid, int))
    found = _PROC.fullmatch(call.path)
    if found is not None:
        yield int(found[1][:10])


def _is_known(word: str) -> bool:
    return all(part in _WORDS for part in re.split(r"[:.,=/-]|(?<=[a-z])[0-9]+$", word) if part and not part.isdigit())


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
