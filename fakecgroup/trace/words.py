"""The names of flags in a trace, as strace(1) writes them: "O_WRONLY|O_TRUNC"."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

_NUMBER = re.compile(r"0[xX][0-9a-fA-F]{1,16}|[0-9]{1,20}")
_KEPT = 1000  # texts


class Flags:
    """Names of bits. `none` stands for no bit. `also` are names that are read and never written."""

    def __init__(self, known: Mapping[str, int], none: str = "0", also: Mapping[str, int] = {}) -> None:
        self._known = sorted(known.items(), key=lambda item: -item[1].bit_count())  # O_SYNC has the bit of O_DSYNC
        self._numbers = {**known, **also, none: 0}
        self._none = none
        self._made: dict[int, str] = {}

    def text(self, bits: int) -> str:
        """The names of the bits in a number; those without a name as one number."""
        made = self._made.get(bits)
        if made is None:
            if len(self._made) >= _KEPT:
                self._made.clear()
            made = self._made[bits] = self._text(bits)
        return made

    def _text(self, bits: int) -> str:
        found = []
        for name, value in self._known:
            if bits & value == value:
                found.append((value, name))
                bits &= ~value
        names = [name for _, name in sorted(found)]
        return "|".join([*names, hex(bits)] if bits else names) or self._none

    def number(self, text: object) -> int:
        """The number of a text of names, or of a number. Raises ValueError for a name that is unknown."""
        if isinstance(text, int) and not isinstance(text, bool):
            return text
        if not isinstance(text, str):
            raise ValueError(f"{text!r} is no text of flags")
        bits = 0
        for word in text.split("|") if text else ():
            if word in self._numbers:
                bits |= self._numbers[word]
            elif _NUMBER.fullmatch(word):
                bits |= int(word, 16 if word[1:2] in "xX" and len(word) > 1 else 10)
            else:
                raise ValueError(f"{word!r} is no flag; there are {', '.join(self._numbers)}")
        return bits


class OpenFlags(Flags):
    """The flags of open(2), with the access mode always named."""

    def _text(self, bits: int) -> str:
        rest = super()._text(bits & ~_LARGEFILE)
        return rest if bits & os.O_ACCMODE else f"O_RDONLY|{rest}" if rest != self._none else "O_RDONLY"


_LARGEFILE = 0o100000  # on every architecture but those that it says nothing of

OPEN = OpenFlags(
    {
        name: getattr(os, name)
        for name in (
            *("O_WRONLY", "O_RDWR", "O_CREAT", "O_EXCL", "O_NOCTTY", "O_TRUNC", "O_APPEND", "O_NONBLOCK", "O_DSYNC"),
            *("O_ASYNC", "O_DIRECT", "O_DIRECTORY", "O_NOFOLLOW", "O_NOATIME", "O_CLOEXEC", "O_SYNC", "O_PATH"),
            "O_TMPFILE",
        )
    },
    "O_RDONLY",
    {"O_LARGEFILE": _LARGEFILE, "O_NDELAY": os.O_NONBLOCK, "FASYNC": os.O_ASYNC, "O_ACCMODE": os.O_ACCMODE},
)
ACCESS = Flags({"X_OK": 1, "W_OK": 2, "R_OK": 4}, "F_OK")
POLL = Flags(
    {"POLLIN": 1, "POLLPRI": 2, "POLLOUT": 4, "POLLERR": 8, "POLLHUP": 16, "POLLNVAL": 32},
    also={"POLLRDNORM": 0, "POLLRDBAND": 0, "POLLWRNORM": 0, "POLLWRBAND": 0, "POLLRDHUP": 0},
)
RENAME = Flags({"RENAME_NOREPLACE": 1, "RENAME_EXCHANGE": 2, "RENAME_WHITEOUT": 4})
XATTR = Flags({"XATTR_CREATE": 1, "XATTR_REPLACE": 2})
MOUNT = Flags(
    {
        "MS_RDONLY": 1,
        "MS_NOSUID": 2,
        "MS_NODEV": 4,
        "MS_NOEXEC": 8,
        "MS_SYNCHRONOUS": 16,
        "MS_REMOUNT": 32,
        "MS_MANDLOCK": 64,
        "MS_DIRSYNC": 128,
        "MS_NOSYMFOLLOW": 256,
        "MS_NOATIME": 1024,
        "MS_NODIRATIME": 2048,
        "MS_BIND": 4096,
        "MS_MOVE": 8192,
        "MS_REC": 16384,
        "MS_SILENT": 32768,
        "MS_POSIXACL": 65536,
        "MS_UNBINDABLE": 1 << 17,
        "MS_PRIVATE": 1 << 18,
        "MS_SLAVE": 1 << 19,
        "MS_SHARED": 1 << 20,
        "MS_RELATIME": 1 << 21,
        "MS_STRICTATIME": 1 << 24,
        "MS_LAZYTIME": 1 << 25,
    }
)
CLONE = Flags(
    {
        "CLONE_VM": 0x100,
        "CLONE_FS": 0x200,
        "CLONE_FILES": 0x400,
        "CLONE_SIGHAND": 0x800,
        "CLONE_PIDFD": 0x1000,
        "CLONE_PTRACE": 0x2000,
        "CLONE_VFORK": 0x4000,
        "CLONE_PARENT": 0x8000,
        "CLONE_THREAD": 0x10000,
        "CLONE_NEWNS": 0x20000,
        "CLONE_SYSVSEM": 0x40000,
        "CLONE_SETTLS": 0x80000,
        "CLONE_PARENT_SETTID": 0x100000,
        "CLONE_CHILD_CLEARTID": 0x200000,
        "CLONE_DETACHED": 0x400000,
        "CLONE_UNTRACED": 0x800000,
        "CLONE_CHILD_SETTID": 0x1000000,
        "CLONE_NEWCGROUP": 0x2000000,
        "CLONE_NEWUTS": 0x4000000,
        "CLONE_NEWIPC": 0x8000000,
        "CLONE_NEWUSER": 0x10000000,
        "CLONE_NEWPID": 0x20000000,
        "CLONE_NEWNET": 0x40000000,
        "CLONE_IO": 0x80000000,
        "CLONE_CLEAR_SIGHAND": 1 << 32,
        "CLONE_INTO_CGROUP": 1 << 33,
    }
)
UMOUNT = Flags({"MNT_FORCE": 1, "MNT_DETACH": 2, "MNT_EXPIRE": 4, "UMOUNT_NOFOLLOW": 8})
_WHENCE = ("SEEK_SET", "SEEK_CUR", "SEEK_END", "SEEK_DATA", "SEEK_HOLE")


def whence_text(number: int) -> str:
    """The name of lseek(2)'s third argument."""
    return _WHENCE[number] if 0 <= number < len(_WHENCE) else str(number)
