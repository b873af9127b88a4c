"""Other names for names, so that a snapshot or a trace can be given to others.

Equal names become equal others, and what a name is made of stays: words of the kubelet and of systemd, the shape of
uids and of container ids, separators. So `kubepods-burstable-pod<uid>.slice` is still one, and below the right slice.
Nobody can find out what was there by trying words, without the key. Numbers of processes keep their order, as kernels
sort by them. What kernels have written stays, but for lists of processes, paths and network interfaces.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable, Iterator, Mapping

from .base_files.attach import PID_FILES

#: Words that names keep: they say what something is, not whose.
KNOWN = frozenset(
    """
    kubepods burstable besteffort guaranteed pod kubelet kubernetes cri containerd crio docker libpod podman conmon
    buildkit runc crun lxc lxcfs machine payload supervisor init system user session app background slice scope service
    socket mount swap target timer path device automount systemd dbus journald logind udevd networkd resolved timesyncd
    oomd homed machined userdbd login getty ssh sshd cron crond run runtime podruntime dev hugepages mqueue proc sys tmp
    boot root unified delegate invocation id omit avoid survive final kill signal lo python bash sh dash zsh sleep sudo
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
_LONGEST = 10  # digits of one
_COMM = 15  # letters of a process's name


def other_numbers(tids: Iterable[int]) -> dict[int, int]:
    """Other numbers for tasks, in the same order."""
    rest = sorted(set(tids).difference(_KEPT_PIDS))
    return {**{tid: tid for tid in _KEPT_PIDS}, **{tid: number for number, tid in enumerate(rest, start=_FIRST_PID)}}


def listed(data: bytes) -> Iterator[int]:
    """The numbers in a list of tasks."""
    return (int(word) for word in data.split() if word.isdigit() and len(word) <= _LONGEST)


class OtherNames:
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

    def comm(self, name: str) -> str:
        """The name of a process, which is short."""
        return self.text(name)[:_COMM]

    def shown(self, file: str, data: bytes) -> bytes:
        """What an interface file shows."""
        if file in PID_FILES:
            words = (next(listed(word), 0) for word in data.split())
            return b"".join(b"%d\n" % self.pid(tid) for tid in words)
        if file == "release_agent":
            return self.text(data.decode("latin-1")).encode("latin-1")
        if file == "net_prio.ifpriomap":
            lines = (line.rpartition(" ") for line in data.decode("latin-1").splitlines())
            return "".join(f"{self.text(name)} {priority}\n" for name, _, priority in lines).encode("latin-1")
        return data

    def opaque(self, text: str) -> str:
        """A word that says nothing."""
        return self._other("text", text, 8)

    def attribute(self, name: str) -> str:
        """The name of an extended attribute, in its namespace."""
        space, dot, rest = name.partition(".")
        return space + dot + self.text(rest)

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
