"""What this machine and its kernel are."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

from fakecgroup.conformance.seen_files import observed_options
from fakecgroup.snapshot.content import SeenKernel, SeenMachine
from fakecgroup_mount.capture.left_out import LeftOut
from fakecgroup_mount.host.machine_facts import description

_SYS = Path("/sys")
_MOST = 4 << 20  # bytes of a configuration


def seen_machine() -> SeenMachine:
    """The hardware that cgroup files show."""
    facts = description()
    cpus, online = facts["cpus"], _text(_SYS / "devices/system/cpu/online")
    return SeenMachine(
        cpus=cpus,
        nodes=facts["nodes"],
        memory=facts["memory"],
        swap=facts["swap"],
        huge_pages={size: _huge_pages(size) for size in facts["hugepages"]},
        block_devices=tuple(facts["block_devices"]),
        interfaces=_interfaces(),
        architecture=os.uname().machine,
        online="" if online in ("", "0" if cpus == 1 else f"0-{cpus - 1}") else online,
    )


def seen_kernel(left_out: LeftOut) -> SeenKernel:
    """The kernel's release, and of its configuration what has to do with cgroups."""
    release = os.uname().release
    config = _config(release)
    if config is None:
        left_out.tell("the kernel's configuration: there is neither /proc/config.gz nor a readable /boot/config")
    return SeenKernel(release, observed_options(config or ""))


def _config(release: str) -> str | None:
    for place in ("/proc/config.gz", f"/boot/config-{release}", f"/lib/modules/{release}/config"):
        try:
            with gzip.open(place) if place.endswith(".gz") else open(place, "rb") as file:
                return file.read(_MOST).decode(errors="replace")
        except (OSError, EOFError):
            continue
    return None


def _huge_pages(size: int) -> int:
    text = _text(_SYS / f"kernel/mm/hugepages/hugepages-{size // 1024}kB/nr_hugepages")
    return int(text) if text.isdecimal() else 0


def _interfaces() -> tuple[str, ...]:
    """Of the network, in the order in which they came."""
    try:
        names = os.listdir(_SYS / "class/net")
    except OSError:
        return ("lo",)
    numbers = {name: _text(_SYS / "class/net" / name / "ifindex") for name in names}
    return tuple(sorted(names, key=lambda name: int(numbers[name] or 0)))


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
