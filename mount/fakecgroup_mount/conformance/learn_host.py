"""Asks this machine's kernel all cases, for `fakecgroup learn`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from fakecgroup.conformance.ask_again import ask_again
from fakecgroup.conformance.nearest import by_version, recordings
from fakecgroup.conformance.recording import Recording
from fakecgroup_mount.conformance.asked_kernel import AskedKernel, options_of
from fakecgroup_mount.conformance.open_target import open_target
from fakecgroup_mount.conformance.progress import Progress
from fakecgroup_mount.errors import MountError


def ask_host(layouts: Sequence[str], report: Callable[[str], None]) -> AskedKernel:
    """Asks the running kernel all cases of these layouts that this machine has mounted. Raises MountError."""
    found = []
    why = []
    for layout in layouts:
        try:
            found.append(ask_host_layout(layout))
        except MountError as error:
            why.append(str(error))
    for line in dict.fromkeys(why) if found else ():
        report(line)
    if not found:
        raise MountError(why[0])
    release = os.uname().release
    return AskedKernel(release, host_options(), _machine(), found)


def ask_host_layout(layout: str) -> Recording:
    """What the running kernel answers to the cases of a layout. Raises MountError."""
    release = os.uname().release
    base = by_version(recordings(layout), release)
    with open_target("host", base, [one.case for one in base.cases]) as target:
        answered = ask_again(target, base, Progress())
    return Recording(layout, release, {}, answered.cases)


def host_options() -> frozenset[str]:
    """The build options of the running kernel, where they can be read: /proc/config.gz, /boot/config-RELEASE."""
    return options_of([Path("/proc/config.gz"), Path(f"/boot/config-{os.uname().release}")])


def _machine() -> dict[str, object]:
    return {
        "cpus": os.cpu_count() or 1,
        "nodes": len(list(Path("/sys/devices/system/node").glob("node[0-9]*"))) or 1,
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "block_devices": sorted(file.read_text().strip() for file in Path("/sys/block").glob("*/dev")),
    }
