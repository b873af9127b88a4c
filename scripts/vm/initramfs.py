"""Packs what a machine boots with."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from .errors import MachineError


def pack(tree: Path, image: Path) -> None:
    """A directory as an initramfs (cpio, newc), everything owned by root; replaces an older one at once.

    Raises MachineError.
    """
    names = [str(path.relative_to(tree)) for path in sorted(tree.rglob("*"))]
    fresh = image.with_name(f"{image.name}.{os.getpid()}")
    with open(fresh, "wb") as file:
        command = ["cpio", "--quiet", "-o", "-H", "newc", "-R", "0:0"]
        done = subprocess.run(command, input="\n".join(names).encode(), cwd=tree, stdout=file, stderr=subprocess.PIPE)
    if done.returncode != 0:
        fresh.unlink()
        raise MachineError(f"packing {image.name} failed: {done.stderr.decode(errors='replace').strip()}")
    fresh.rename(image)


def join(images: Sequence[Path], image: Path) -> None:
    """Images one after the other: a kernel unpacks them all, and a later file replaces an earlier one."""
    with open(image, "wb") as joined:
        for part in images:
            with open(part, "rb") as file:
                shutil.copyfileobj(file, joined)
