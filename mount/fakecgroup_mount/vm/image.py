"""Kernel images: what a file is, for which architecture, and which release its header names."""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass
from pathlib import Path

from fakecgroup_mount.vm.errors import MachineError

_HEAD = 64 * 1024  # bytes; a bzImage's setup code, which has its release, is smaller


@dataclass(frozen=True)
class Image:
    """A kernel that can be booted.

    ``name``: as messages call it; ``architecture``: Debian's name of it; ``release``: as uname -r has it, "" where the
    file does not say; ``initrd``: what is unpacked before the guest, for its modules.
    """

    name: str
    file: Path
    architecture: str
    release: str = ""
    initrd: Path | None = None


def read_image(file: Path, initrd: Path | None = None) -> Image:
    """The image in a file: a bzImage of x86, or an Image of arm64, plain or with gzip. Raises MachineError.

    The formats are those of the kernel's Documentation/arch/x86/boot.rst and Documentation/arch/arm64/booting.rst.
    """
    head = _head_of(file)
    if initrd is not None:
        _head_of(initrd)
    if head[0x1FE:0x200] == b"\x55\xaa" and head[0x202:0x206] == b"HdrS":
        return Image(str(file), file, "amd64", _release(head), initrd)
    if head[:2] == b"\x1f\x8b":
        head = _unzipped(file)
    if head[0x38:0x3C] == b"ARM\x64":
        return Image(str(file), file, "arm64", "", initrd)
    if head[:2] == b"MZ" and head[4:8] == b"zimg":
        raise MachineError(f"{file} is a compressed EFI program, which QEMU cannot boot by itself: take its Image")
    what = "a vmlinux; take the bzImage beside it, arch/x86/boot/bzImage" if head[:4] == b"\x7fELF" else ""
    raise MachineError(f"{file} is {what or 'no kernel image: a bzImage of x86 or an Image of arm64 is wanted'}")


def _head_of(file: Path) -> bytes:
    try:
        with open(file, "rb") as opened:
            return opened.read(_HEAD)
    except OSError as error:
        raise MachineError(f"{file}: {error.strerror}") from None


def _unzipped(file: Path) -> bytes:
    try:
        with gzip.open(file) as opened:
            return opened.read(0x40)
    except (OSError, EOFError, zlib.error):
        return b""


def _release(head: bytes) -> str:
    at = int.from_bytes(head[0x20E:0x210], "little") + 0x200
    words = head[at : at + 200].partition(b"\0")[0].split()
    return words[0].decode("ascii", "replace") if words else ""
