"""The virtual machine that is asked: its CPUs, memory and disks."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO

from fakecgroup.conformance.recording import PLAIN, SWAP
from fakecgroup_mount.vm import qemu
from fakecgroup_mount.vm.image import Image

CPUS = 4
NODES = 2
#: Bytes.
MEMORY = 1024 * 1024 * 1024
BLOCK_DEVICES = ("259:0", "259:1")
#: Bytes of each.
DISK = 64 * 1024 * 1024
#: What the guest swaps on, by the name of the machine (recording.MACHINES), in bytes: the last disk but its first page.
SWAP_SPACE = {PLAIN: 0, SWAP: DISK - 4096}
#: Bytes.
SHARED_MEMORY = 256 * 1024 * 1024
_BOOT_OPTIONS = "hugepagesz=1G hugepages=0 hugepagesz=2M hugepages=8 swapaccount=1 rcupdate.rcu_expedited=1 psi=1"


def boot_options(architecture: str) -> str:
    return f"{qemu.boot_options(architecture)} {_BOOT_OPTIONS}"


def description(machine: str, architecture: str = "amd64") -> dict[str, object]:
    """The machine that the guest sees, for the head of a recording (memory and swap in bytes)."""
    about = {"cpus": CPUS, "nodes": NODES, "memory": MEMORY, "block_devices": list(BLOCK_DEVICES)}
    about["boot"] = boot_options(architecture)
    return {**about, "swap": SWAP_SPACE[machine]} if SWAP_SPACE[machine] else about


def command(image: Image, initrd: Path, directory: Path, memory: Path, console: Path, machine: str) -> list[str]:
    """QEMU's command line; makes the disks in ``directory``. ``memory``: the file that is shared with the guest."""
    half = MEMORY // NODES // (1024 * 1024)
    # no_timer_check: on a busy host the check of the timer fails, and the kernel panics
    # what the kernel does not know, and has no dot, becomes init's environment
    options = boot_options(image.architecture) + " no_timer_check" + (" ORACLE_SWAP=1" if SWAP_SPACE[machine] else "")
    words = qemu.command(image, initrd, options, cpus=CPUS, memory=MEMORY, console=console)
    for node in range(NODES):
        cpus = f"{node * CPUS // NODES}-{(node + 1) * CPUS // NODES - 1}"
        words += ["-object", f"memory-backend-ram,id=node{node},size={half}M"]
        words += ["-numa", f"node,nodeid={node},cpus={cpus},memdev=node{node}"]
    words += ["-object", f"memory-backend-file,share=on,mem-path={memory},size={SHARED_MEMORY},id=shared"]
    words += ["-device", "ivshmem-plain,memdev=shared"]
    for number in range(len(BLOCK_DEVICES)):
        disk = directory / f"disk{number}"
        with open(disk, "wb") as file:
            file.truncate(DISK)
            if number == len(BLOCK_DEVICES) - 1 and SWAP_SPACE[machine]:
                _make_swap(file)
        words += ["-drive", f"file={disk},format=raw,if=none,id=disk{number}"]
        words += ["-device", f"nvme,drive=disk{number},serial=disk{number}"]
    return words


def _make_swap(disk: BinaryIO) -> None:
    """A swap header on a disk image, as mkswap(8) writes it: version, last page, no bad pages, and the signature."""
    disk.seek(1024)
    disk.write(struct.pack("<III", 1, DISK // 4096 - 1, 0))
    disk.seek(4096 - 10)
    disk.write(b"SWAPSPACE2")
