"""Snapshots of a node with systemd and pods, for the tests and for docs/evidence/snapshots.md."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from fakecgroup_mount.vm.errors import MachineError
from fakecgroup_mount.vm.kernels import Kernel

from . import machine

REPOSITORY = Path(__file__).resolve().parents[2]
#: Where the tests and the page find them.
NODES = REPOSITORY / "tests" / "fakecgroup" / "snapshot" / "nodes"
_SCRIPTS = Path(__file__).with_name("node")
#: Debian's packages that a kubelet takes; there is none of the kubelet itself.
_OF_KUBELET = ("containerd", "runc", "busybox-static")


class Node(NamedTuple):
    """A node of which there is a snapshot, as its file's name tells it: 6.1-v2-root.cgs, 6.1-v2-kubelet-root.cgs.

    `kubelet`: its pods are those of a kubelet, not those of cgroup-engine. `who`: root, or user for a plain one.
    """

    series: str
    layout: str
    kubelet: bool
    who: str

    @classmethod
    def of(cls, file: Path) -> Node:
        """Raises ValueError for another name."""
        found = re.fullmatch(r"(.+)-(v1|v2|hybrid)(-kubelet)?-(root|user)", file.stem)
        if found is None:
            raise ValueError(f"{file.name} is not named as a node, such as 6.1-v2-root.cgs")
        return cls(found[1], found[2], bool(found[3]), found[4])

    @property
    def name(self) -> str:
        return "-".join([self.series, self.layout, *(["kubelet"] if self.kubelet else []), self.who]) + ".cgs"


def take(
    kernel: Kernel,
    layout: str,
    kubelet: Path | None,
    directory: Path,
    report: Callable[[str], None],
    *,
    seconds: float,
) -> list[tuple[Path, str]]:
    """Writes what `fakecgroup snapshot` takes in the machine, as root and as a plain user, to files named as a Node.

    `kubelet`: the program whose pods it has; without one they are those of cgroup-engine. Returns the files with what
    the command has said. Raises MachineError, and OSError for a kubelet that cannot be read or a directory that cannot
    be made.
    """
    directory.mkdir(parents=True, exist_ok=True)
    pods = "engine_pods.sh" if kubelet is None else "kubelet_pods.sh"
    script = "\n".join((_SCRIPTS / name).read_text() for name in ("services.sh", pods, "taken.sh"))
    packages, programs = (_OF_KUBELET, {"kubelet": kubelet}) if kubelet else ((), machine.NO_PROGRAMS)
    printed, code = machine.run(kernel, layout, script, report, seconds=seconds, packages=packages, programs=programs)
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
        file = directory / Node(kernel.series.replace("/", "-"), layout, kubelet is not None, who).name
        file.write_bytes(content)
        found.append((file, "\n".join(said.get(who, []))))
    return found


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise MachineError("the node's snapshot was cut off") from None
