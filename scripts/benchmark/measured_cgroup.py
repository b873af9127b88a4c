"""The cgroup that operations are measured in. It is the same on the model and on each mounted fake."""

from __future__ import annotations

from pathlib import Path

from fakecgroup import Kernel

LAYOUT = "v2"
KERNEL = "6.12"
CPUS = 4
MEMORY = 8 << 30  # bytes
NAME = "fcg-bench"
FILE = "cgroup.max.depth"
VALUE = "max"


def model() -> Kernel:
    """A model with the cgroup in it. The cgroup has every controller, and so have its children."""
    kernel = Kernel(LAYOUT, KERNEL, cpus=CPUS, memory=MEMORY)
    enable = _enable(kernel.read("/cgroup.controllers"))
    kernel.write("/cgroup.subtree_control", enable)
    kernel.mkdir(f"/{NAME}")
    kernel.write(f"/{NAME}/cgroup.subtree_control", enable)
    return kernel


def made_in(root: Path) -> Path:
    """Makes the same cgroup in a mounted fake; returns its path."""
    enable_all(root)
    work = root / NAME
    work.mkdir()
    enable_all(work)
    return work


def enable_all(cgroup: Path) -> None:
    """Enables every controller of a cgroup for its children."""
    enable = _enable((cgroup / "cgroup.controllers").read_text())
    if enable:
        (cgroup / "cgroup.subtree_control").write_text(enable)


def _enable(controllers: str) -> str:
    return " ".join(f"+{name}" for name in controllers.split())
