"""The guest: what the machine boots into, a C program in an initramfs."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

from fakecgroup_mount.vm.cache import cache_directory, locked
from fakecgroup_mount.vm.errors import MachineError
from fakecgroup_mount.vm.initramfs import pack
from fakecgroup_mount.vm.programs import compilers, require

_SOURCES = Path(__file__).with_name("guest")
_FLAGS = ("-static", "-O2", "-Wall", "-Wno-format-truncation", "-Wno-unused-result")


def guest(architecture: str) -> Path:
    """The guest's initramfs in the cache, built once for each state of its source. Raises MachineError."""
    sources = sorted(_SOURCES.glob("*.[ch]"))
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:12]
    home = cache_directory() / "guest"
    image = home / f"initramfs-{architecture}-{digest}"
    try:
        with locked(home):
            if not image.exists():
                _build([source for source in sources if source.suffix == ".c"], architecture, image)
    except OSError as error:
        raise MachineError(f"{home}, where the guest is kept: {error.strerror}") from None
    return image


def _build(sources: list[Path], architecture: str, image: Path) -> None:
    require(architecture, compiler=True)
    compiler = next(name for name in compilers(architecture) if shutil.which(name))
    with tempfile.TemporaryDirectory(prefix="fcg-guest-") as directory:
        tree = Path(directory)
        command = [compiler, *_FLAGS, "-o", str(tree / "init"), *map(str, sources)]
        built = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if built.returncode != 0:
            said = (built.stderr.splitlines() or [f"{compiler} said nothing"])[0]
            hint = "; it takes a static libc, on Debian: apt-get install libc6-dev" if "-lc" in built.stderr else ""
            raise MachineError(f"building the guest failed: {said}{hint}")
        pack(tree, image)
