"""Debian's kernels in the cache, which `scripts/oracle fetch` fills."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from fakecgroup_mount.vm.cache import cache_directory
from fakecgroup_mount.vm.errors import MachineError
from fakecgroup_mount.vm.image import Image

#: In the directory of a kernel, once all of it is there.
FACTS = "kernel.json"


@dataclass(frozen=True)
class Kernel:
    """An unpacked kernel: ``series`` as users name it (6.12, 6.12/arm64), ``package`` and its Debian ``version``."""

    series: str
    package: str
    version: str
    vmlinuz: Path
    tree: Path

    @property
    def architecture(self) -> str:
        """Debian's name of it."""
        return number_and_architecture(self.series)[1]

    @property
    def image(self) -> Image:
        return Image(f"kernel {self.series}", self.vmlinuz, self.architecture)


def number_and_architecture(series: str) -> tuple[str, str]:
    """The two parts of what a user names: "6.12", "amd64" for "6.12"."""
    number, _, architecture = series.partition("/")
    return number, architecture or "amd64"


def home_of(series: str) -> Path:
    """The directory of a kernel."""
    return cache_directory() / "kernels" / series


def cached(series: str) -> Kernel | None:
    """The kernel of a series, if it was fetched. Raises MachineError where the cache is damaged."""
    home = home_of(series)
    tree = home / "tree"
    try:
        facts = json.loads((home / FACTS).read_text())
        return Kernel(series, facts["package"], facts["version"], tree / facts["vmlinuz"], tree)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise MachineError(f"{home / FACTS} cannot be used: {error}") from None
