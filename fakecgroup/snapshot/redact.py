"""A snapshot without names: those of cgroups and processes, command lines and pids become others.

Equal ones become equal others, and what a name is made of stays: words of the kubelet and of systemd, the shape of uids
and of container ids, separators. So `kubepods-burstable-pod<uid>.slice` is still one, and below the right slice. Nobody
can find out what was there by trying words, without the key.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping
from dataclasses import replace

from ..base_files.attach import PID_FILES
from .content import NO_XATTRS, Attributes, SeenCgroup, SeenFile, SeenHierarchy, SeenProcess, Snapshot

#: Words that names keep: they say what something is, not whose.
KNOWN = frozenset(
    """
    kubepods burstable besteffort guaranteed pod kubelet kubernetes cri containerd crio docker libpod podman conmon
    buildkit runc crun lxc lxcfs machine payload supervisor init system user session app background slice scope service
    socket mount swap target timer path device automount systemd dbus journald logind udevd networkd resolved timesyncd
    oomd homed machined userdbd login getty ssh sshd cron crond run runtime podruntime dev hugepages mqueue proc sys tmp
    boot root unified delegate invocation id lo python bash sh dash zsh sleep sudo
    """.split()
)
_UUID = r"[0-9a-fA-F]{8}([-_])[0-9a-fA-F]{4}[-_][0-9a-fA-F]{4}[-_][0-9a-fA-F]{4}[-_][0-9a-fA-F]{12}"
_HEX = r"[0-9a-f]{12,}"
_LETTER = r"[A-Za-z\x80-\U0010ffff]"
_PART = re.compile(
    rf"(?P<escape>\\x[0-9a-f]{{2}})|(?P<uuid>{_UUID})|(?P<hex>{_HEX}(?![A-Za-z0-9]))|(?P<number>[0-9]+(?![A-Za-z]))"
    rf"|(?P<word>(?:{_LETTER}|[0-9])+?(?={_UUID.replace('([-_])', '[-_]')}|[^A-Za-z0-9\x80-\U0010ffff]|$))"
)
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_SHORTEST = 4  # letters of another word
_FIRST_PID = 1000
_KEPT_PIDS = (0, 1, 2)
_COMM = 15  # letters of a process's name


def redact(snapshot: Snapshot, key: bytes) -> Snapshot:
    """The same snapshot without names. The model's state, which has names everywhere, is left out."""
    names = _Names(key, _numbers(snapshot))
    left_out = [re.sub(r" \(.*\)", "", line) for line in snapshot.left_out]
    if snapshot.state:
        left_out.append("the state of the model: it is not redacted")
    return replace(
        snapshot,
        hierarchies=[_hierarchy(one, names) for one in snapshot.hierarchies],
        processes={new.pid: new for new in (_process(one, names) for one in snapshot.processes.values())},
        machine=replace(snapshot.machine, interfaces=tuple(map(names.text, snapshot.machine.interfaces))),
        left_out=left_out,
        redacted=True,
        state=[],
    )


def _numbers(snapshot: Snapshot) -> dict[int, int]:
    """Other numbers for all tasks, in the same order."""
    found = {tid for one in snapshot.processes.values() for tid in (one.pid, *one.threads)}
    for _, cgroup in snapshot.cgroups():
        for name in PID_FILES & cgroup.files.keys():
            data = cgroup.files[name].data or b""
            found.update(int(word) for word in data.split() if word.isdigit() and len(word) < 11)
    rest = sorted(found.difference(_KEPT_PIDS))
    return {**{tid: tid for tid in _KEPT_PIDS}, **{tid: number for number, tid in enumerate(rest, start=_FIRST_PID)}}


class _Names:
    """Other names for names; no two names become one."""

    def __init__(self, key: bytes, pids: Mapping[int, int]) -> None:
        self._key = key
        self._pids = pids
        self._known: dict[tuple[str, str], str] = {}
        self._taken: set[tuple[str, str]] = set()

    def pid(self, tid: int) -> int:
        return self._pids.get(tid, tid)

    def text(self, text: str) -> str:
        """A name or another text, part by part."""
        return _PART.sub(self._part, text)

    def opaque(self, text: str) -> str:
        """A word that says nothing."""
        return self._other("text", text, 8)

    def data(self, data: bytes) -> bytes:
        """The value of an attribute."""
        try:
            return self.text(data.decode("ascii")).encode()
        except UnicodeDecodeError:
            return self._digest("data", data.hex(), len(data) * 2)[: len(data)].encode()

    def _part(self, found: re.Match[str]) -> str:
        kind, text = str(found.lastgroup), found[0]
        if kind == "escape" or (kind == "word" and text.lower() in KNOWN):
            return text
        if kind == "number":
            return self._number(text)
        if kind == "uuid":
            plain = re.sub("[-_]", "", text).lower()
            others = iter(self._other("hex", plain, 32))
            return "".join(char if char in "-_" else next(others) for char in text)
        return self._other(kind, text, len(text))

    def _number(self, text: str) -> str:
        if len(text) < _SHORTEST or len(text) > 18:
            return text
        pid = self._pids.get(int(text))
        if pid is not None:
            return str(pid)
        return self._other("number", text, len(text))

    def _other(self, kind: str, text: str, length: int) -> str:
        known = self._known.get((kind, text))
        turn = 0
        while known is None:
            made = _written(kind, self._digest(kind, f"{turn} {text}", max(length, _SHORTEST)))
            if (kind, made) not in self._taken:
                known = self._known[kind, text] = made
                self._taken.add((kind, made))
            turn += 1
            length += turn % 8 == 0  # there are only so many short words
        return known

    def _digest(self, kind: str, text: str, length: int) -> str:
        """So many hex digits."""
        digits = ""
        while len(digits) < length:
            digits += hmac.new(
                self._key, f"{kind} {len(digits)} {text}".encode("utf-8", "surrogatepass"), "sha256"
            ).hexdigest()
        return digits[:length]


def _written(kind: str, digits: str) -> str:
    """Hex digits as another word of a kind."""
    if kind == "hex":
        return digits
    if kind == "number":
        return str(int(digits, 16) % (9 * 10 ** (len(digits) - 1)) + 10 ** (len(digits) - 1))
    return "".join(_LETTERS[int(digit, 16)] for digit in digits)


def _hierarchy(seen: SeenHierarchy, names: _Names) -> SeenHierarchy:
    return replace(seen, name=names.text(seen.name), cgroups=[_cgroup(cgroup, names) for cgroup in seen.cgroups])


def _cgroup(seen: SeenCgroup, names: _Names) -> SeenCgroup:
    path = "/".join(map(names.text, seen.path.split("/")))
    files = {name: _file(name, file, names) for name, file in seen.files.items()}
    return SeenCgroup(path, _attributes(seen.attributes, names), files)


def _file(name: str, seen: SeenFile, names: _Names) -> SeenFile:
    data = seen.data
    if data is not None and name in PID_FILES:
        data = b"".join(
            b"%d\n" % names.pid(int(word)) if word.isdigit() and len(word) < 11 else b"0\n" for word in data.split()
        )
    elif data is not None and name == "release_agent":
        data = names.text(data.decode("latin-1")).encode("latin-1")
    elif data is not None and name == "net_prio.ifpriomap":
        lines = (line.rpartition(" ") for line in data.decode("latin-1").splitlines())
        data = "".join(f"{names.text(interface)} {priority}\n" for interface, _, priority in lines).encode("latin-1")
    return SeenFile(data, seen.error, _attributes(seen.attributes, names))


def _attributes(seen: Attributes, names: _Names) -> Attributes:
    if not seen.xattrs:
        return seen
    return replace(seen, xattrs={name: names.data(value) for name, value in seen.xattrs.items()} or NO_XATTRS)


def _process(seen: SeenProcess, names: _Names) -> SeenProcess:
    return replace(
        seen,
        pid=names.pid(seen.pid),
        name=seen.name if seen.kernel else names.text(seen.name)[:_COMM],
        command=tuple(map(names.opaque, seen.command)),
        threads=tuple(map(names.pid, seen.threads)),
    )
