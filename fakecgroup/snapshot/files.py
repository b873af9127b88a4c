"""Snapshots as files, which a user names."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from . import lines, talos
from .content import Snapshot
from .errors import SnapshotError
from .fields import FieldError
from .redact import redact
from .unpacked import MOST_BYTES, Unpacked


def read_snapshot(path: str | os.PathLike[str]) -> Snapshot:
    """The snapshot of a file: one of ours, or a tar of Talos's. Raises SnapshotError."""
    name = os.fspath(path)
    called = name if name.isprintable() else ascii(name)
    return unpack(_content(name, called), called)


def unpack(data: bytes, called: str = "snapshot") -> Snapshot:
    """The snapshot in the bytes of a file. Raises SnapshotError."""
    try:
        if not data:
            raise FieldError("it is empty")
        ours = Unpacked(data).read(1) == b"{"
        return lines.read(data, called) if ours else talos.read(data, called)
    except FieldError as error:
        raise SnapshotError(f"{called} is no snapshot: {error}") from None


def redacted(snapshot: Snapshot) -> Snapshot:
    """The same without names, with a key that nobody keeps."""
    return redact(snapshot, os.urandom(16))


def write_snapshot(snapshot: Snapshot, path: str | os.PathLike[str]) -> None:
    """Writes a snapshot; a file that is there is replaced, but not before all is written. Raises OSError."""
    with replaced(path) as descriptor, open(descriptor, "wb", closefd=False) as file:
        file.write(lines.pack(snapshot))


@contextmanager
def replaced(path: str | os.PathLike[str]) -> Iterator[int]:
    """A descriptor to write to, of what becomes the file at a path at the end, if nothing is raised. Raises OSError."""
    name = os.fspath(path)
    if os.path.exists(name) and not os.path.isfile(name):  # a pipe, /dev/stdout
        with open(name, "wb") as file:
            yield file.fileno()
        return
    made = f"{name}.{os.getpid()}"
    descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        try:
            yield descriptor
        finally:
            os.close(descriptor)
        os.replace(made, name)
    except BaseException:
        os.unlink(made)
        raise


def _content(path: str, called: str) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "no file can be called so"
        raise SnapshotError(f"{called}: {why}") from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise SnapshotError(f"{called} is no file with a snapshot")
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise SnapshotError(f"{called}: {error.strerror}") from None
    finally:
        os.close(descriptor)
    if len(data) > MOST_BYTES:
        raise SnapshotError(f"{called} is no snapshot: it has more than {MOST_BYTES >> 20} MiB")
    return data
