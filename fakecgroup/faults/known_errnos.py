"""The errnos that booted kernels have answered, by operation and file, from the recordings of the conformance suite."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from ..conformance.recording import KERNELS, Recording, RecordingError, available, load
from ..kernel import Kernel

# The operations of cases, by ours: an answer "EINVAL@write" of a case's `write` is one of write(2).
_CASES = {
    "read": "read",
    "fread": "read",
    "fpread": "read",
    "write": "write",
    "fwrite": "write",
    "fpwrite": "write",
    "open": "open",
    "creat": "open",
    "truncate": "truncate",
    "ftruncate": "truncate",
    **{op: op for op in ("stat", "access", "listdir", "mkdir", "rmdir", "rename", "chmod", "chown", "utimens")},
    **{op: op for op in ("getxattr", "setxattr", "listxattr", "removexattr")},
}
_OPENING = ("open", "creat")
_NOT_OF_THE_TREE = ("EBADF", "ESPIPE")  # the kernel sees these in the descriptor alone
_ANY = ""

Errnos = Mapping[str, Mapping[str, frozenset[str]]]
"""By operation and the file's name; "" has those of any file."""


def answered_by(kernel: Kernel) -> Errnos:
    """What a kernel has answered on its layout; for hybrid on v1 and v2 too. A learnt kernel answers as the one whose
    rules it plays, or without a recording of that as all kernels.
    """
    return _answered(kernel.layout, "{}.{}".format(*kernel.personality.version))


@lru_cache(maxsize=4)
def _answered(layout: str, kernel: str) -> Errnos:
    layouts = ("hybrid", "v1", "v2") if layout == "hybrid" else (layout,)
    kernels = (kernel,) if (layout, kernel) in available() else KERNELS
    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for one in ((of, version) for of, version in available() if of in layouts and version in kernels):
        try:
            recording = load(*one)
        except RecordingError:
            continue
        for op, file, errno in _errnos(recording):
            found[op][file].add(errno)
            found[op][_ANY].add(errno)
    return {op: {file: frozenset(errnos) for file, errnos in files.items()} for op, files in found.items()}


def _errnos(recording: Recording) -> Iterator[tuple[str, str, str]]:
    """(operation, name of the file, errno) of each refusal."""
    for recorded in recording.cases:
        files: dict[str, str] = {}
        for op, (answer, _) in zip(recorded.case.ops, recorded.answers, strict=False):
            name, arguments = _of_helper(op)
            if name not in _CASES or not arguments:
                continue
            path = arguments[0]
            if name in _OPENING and len(arguments) > 1:
                path = files[arguments[0]] = arguments[1]
            elif name in ("fread", "fpread", "fwrite", "fpwrite", "ftruncate"):
                path = files.get(arguments[0], "")
            errno, at, call = (answer or "").partition("@")
            if not errno.startswith("E") or errno in _NOT_OF_THE_TREE or not isinstance(path, str):
                continue
            called = _CASES[name] if not at else "listdir" if name == "listdir" else call
            if called in _CASES.values():
                yield called, path.rstrip("/").rpartition("/")[2], errno


def _of_helper(op: Sequence[Any]) -> tuple[str, list[Any]]:
    """An operation and its arguments, without the helper that does it (`in NAME OP ...`)."""
    words = list(op)
    while words and words[0] == "in" and len(words) > 2:
        words = list(words[2]) if isinstance(words[2], (list, tuple)) else words[2:]
    return (words[0], words[1:]) if words and isinstance(words[0], str) else ("", [])
