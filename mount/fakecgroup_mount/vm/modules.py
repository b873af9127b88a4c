"""The modules that the guest loads, from the directory that a kernel's package has beside its image."""

from __future__ import annotations

import gzip
import lzma
import re
import zlib
from collections.abc import Callable
from pathlib import Path

from fakecgroup_mount.vm.errors import MachineError
from fakecgroup_mount.vm.image import Image
from fakecgroup_mount.vm.initramfs import pack

#: The driver of the machine's disks.
DRIVER = "nvme"
#: Bytes of one module, unpacked.
_MOST = 64 * 1024 * 1024

_UNPACK: dict[str, Callable[[bytes], bytes]] = {
    ".ko": bytes,
    ".ko.xz": lambda data: lzma.LZMADecompressor().decompress(data, _MOST),
    ".ko.gz": lambda data: zlib.decompressobj(wbits=31).decompress(data, _MOST),
}


def modules_of(image: Image) -> Path | None:
    """The directory of its modules, where packages have it: lib/modules/RELEASE beside boot, or around the image."""
    if not image.release:
        return None
    above = image.file.resolve().parent
    places = [above, *(above.parent / part / image.release for part in ("lib/modules", "usr/lib/modules"))]
    return next((place for place in places if place.name == image.release and (place / "kernel").is_dir()), None)


def pack_driver(directory: Path, release: str, work: Path) -> Path | None:
    """An initramfs with the driver and what it needs, as modules.dep of depmod(8) tells; None if it is no module.

    ``work``: an empty directory to make it in. Raises MachineError for modules that cannot be read.
    """
    files = {_name(path): path for path in sorted((directory / "kernel").rglob("*.ko*")) if _suffix(path)}
    if DRIVER not in files:
        return None
    unpacked: dict[str, bytes] = {}
    _collect(DRIVER, files, unpacked)
    home = work / "tree" / "lib" / "modules" / release
    home.mkdir(parents=True)
    for name, data in unpacked.items():
        (home / f"{name}.ko").write_bytes(data)
    names = [f"{name}.ko" for name in reversed(unpacked)]
    (home / "modules.dep").write_text(f"{names[0]}: {' '.join(names[1:])}\n")
    packed = work / "modules.cpio"
    pack(work / "tree", packed)
    return packed


def _collect(name: str, files: dict[str, Path], into: dict[str, bytes]) -> None:
    """A module after those that it needs, each once."""
    if name in into or name not in files:
        return
    data = _read(files[name])
    into[name] = data
    for needed in needs(data):
        _collect(needed, files, into)
    del into[name]
    into[name] = data


def needs(module: bytes) -> list[str]:
    """The modules that one names in its .modinfo."""
    found = re.search(rb"\0depends=([\w,-]*)\0", module)
    return [name.decode().replace("-", "_") for name in found[1].split(b",") if name] if found else []


def _read(file: Path) -> bytes:
    try:
        return _UNPACK[_suffix(file)](file.read_bytes())
    except (OSError, EOFError, lzma.LZMAError, gzip.BadGzipFile, zlib.error) as error:
        raise MachineError(f"{file} cannot be unpacked: {error}") from None


def _suffix(file: Path) -> str:
    return next((suffix for suffix in _UNPACK if file.name.endswith(suffix)), "")


def _name(file: Path) -> str:
    return file.name.removesuffix(_suffix(file)).replace("-", "_")
