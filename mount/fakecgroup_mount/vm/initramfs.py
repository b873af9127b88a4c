"""Packs what a machine boots with."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from fakecgroup_mount.vm.errors import MachineError

_END = "TRAILER!!!"


def pack(tree: Path, image: Path) -> None:
    """A directory as an initramfs (cpio, newc), everything owned by root; replaces an older one at once.

    The format is that of the kernel's Documentation/driver-api/early-userspace/buffer-format.rst. Raises MachineError.
    """
    fresh = image.with_name(f"{image.name}.{os.getpid()}")
    try:
        with open(fresh, "wb") as file:
            for number, path in enumerate(sorted(tree.rglob("*")), start=1):
                _entry(file, number, str(path.relative_to(tree)), path)
            _head(file, 0, _END, 0, 0, 0, 0)
        fresh.rename(image)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise MachineError(f"packing {image} failed: {error.strerror}") from None


def _entry(file: BinaryIO, number: int, name: str, path: Path) -> None:
    about = path.lstat()
    if stat.S_ISLNK(about.st_mode):
        target = os.fsencode(os.readlink(path))
        _head(file, number, name, about.st_mode, len(target), int(about.st_mtime), 0)
        file.write(target)
        _pad(file)
    elif stat.S_ISREG(about.st_mode):
        _head(file, number, name, about.st_mode, about.st_size, int(about.st_mtime), 0)
        with open(path, "rb") as content:
            shutil.copyfileobj(content, file)
        _pad(file)
    else:
        _head(file, number, name, about.st_mode, 0, int(about.st_mtime), about.st_rdev)


def _head(file: BinaryIO, number: int, name: str, mode: int, size: int, mtime: int, device: int) -> None:
    encoded = os.fsencode(name) + b"\0"
    # inode, mode, uid, gid, links, mtime, size, the device it is on, the device it is, length of the name, checksum
    inode = (number, mode, 0, 0, 1, mtime & 0xFFFFFFFF, size)
    fields = (*inode, 0, 0, os.major(device), os.minor(device), len(encoded), 0)
    file.write(b"070701" + "".join(f"{field:08x}" for field in fields).encode() + encoded)
    _pad(file)


def _pad(file: BinaryIO) -> None:
    file.write(b"\0" * (-file.tell() % 4))


def join(images: Sequence[Path], image: Path) -> None:
    """Images one after the other: a kernel unpacks them all, and a later file replaces an earlier one."""
    with open(image, "wb") as joined:
        for part in images:
            with open(part, "rb") as file:
                shutil.copyfileobj(file, joined)
            _pad(joined)
