"""Snapshots of a node with systemd and pods, for the tests and for docs/evidence/snapshots.md."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from pathlib import Path

from fakecgroup_mount.vm.errors import MachineError
from fakecgroup_mount.vm.kernels import Kernel

from . import machine

REPOSITORY = Path(__file__).resolve().parents[2]
#: Where the tests and the page find them.
NODES = REPOSITORY / "tests" / "fakecgroup" / "snapshot" / "nodes"
_SCRIPT = Path(__file__).with_name("node.sh")


def take(
    kernel: Kernel, layout: str, directory: Path, report: Callable[[str], None], *, seconds: float
) -> list[tuple[Path, str]]:
    """Writes what `fakecgroup snapshot` takes in the machine, as root and as a plain user: SERIES-LAYOUT-WHO.cgs.

    Returns the files with what the command has said. Raises MachineError.
    """
    printed, code = machine.run(kernel, layout, _SCRIPT.read_text(), report, seconds=seconds)
    said: dict[str, list[str]] = {}
    data: dict[str, bytes] = {}
    for line in printed.splitlines():
        name, _, rest = line.partition(" ")
        if name.endswith(".cgs"):
            data[name.removesuffix(".cgs")] = _decoded(rest)
        elif name.endswith(":"):
            said.setdefault(name.removesuffix(":"), []).append(rest)
    if code or not data:
        last = (printed.splitlines() or ["it printed nothing"])[-1]
        raise MachineError(f"the node took no snapshot; the script's last line: {last[:200]}")
    found = []
    for who, content in data.items():
        file = directory / f"{kernel.series.replace('/', '-')}-{layout}-{who}.cgs"
        file.write_bytes(content)
        found.append((file, "\n".join(said.get(who, []))))
    return found


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise MachineError("the node's snapshot was cut off") from None
