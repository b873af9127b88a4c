"""The cgroup in which all is measured: made the same way in every tree that has controllers."""

from __future__ import annotations

from pathlib import Path

from fakecgroup import Kernel

LAYOUT = "v2"
KERNEL = "6.12"
CPUS = 4
MEMORY = 8 << 30  # bytes
WORK = "fcg-bench"
FILE = "cgroup.max.depth"
VALUE = "max"


def model() -> Kernel:
    """A model with the cgroup in it, which has every controller and gives it to its children."""
    kernel = Kernel(LAYOUT, KERNEL, cpus=CPUS, memory=MEMORY)
    enable = _enable(kernel.read("/cgroup.controllers"))
    kernel.write("/cgroup.subtree_control", enable)
    kernel.mkdir(f"/{WORK}")
    kernel.write(f"/{WORK}/cgroup.subtree_control", enable)
    return kernel


def mounted(root: Path) -> Path:
    """Makes the same cgroup in a mounted fake; returns its path."""
    enable_all(root)
    work = root / WORK
    work.mkdir()
    enable_all(work)
    return work


def enable_all(cgroup: Path) -> None:
    """Gives every controller that a cgroup has to its children."""
    enable = _enable((cgroup / "cgroup.controllers").read_text())
    if enable:
        (cgroup / "cgroup.subtree_control").write_text(enable)


def _enable(controllers: str) -> str:
    return " ".join(f"+{name}" for name in controllers.split())
