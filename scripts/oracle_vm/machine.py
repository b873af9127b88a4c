"""The oracle's virtual machine: boots a kernel under QEMU and has it answer cases."""

from __future__ import annotations

import hashlib
import mmap
import os
import shutil
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from fakecgroup.conformance.case import Case
from fakecgroup.conformance.recording import PLAIN, SWAP
from vm import qemu
from vm.cache import cache_directory, locked
from vm.errors import MachineError
from vm.initramfs import pack
from vm.kernels import Kernel

from . import wire

CPUS = 4
NODES = 2
MEMORY = 1024 * 1024 * 1024
BLOCK_DEVICES = ("259:0", "259:1")
DISK = 64 * 1024 * 1024
#: What the guest swaps on, by the name of the machine (recording.MACHINES), in bytes: the last disk but its first page.
SWAP_SPACE = {PLAIN: 0, SWAP: DISK - 4096}
BOOT_OPTIONS = (
    f"{qemu.boot_options('amd64')} hugepagesz=1G hugepages=0 hugepagesz=2M hugepages=8 swapaccount=1 "
    "rcupdate.rcu_expedited=1 psi=1"
)
SHARED_MEMORY = 256 * 1024 * 1024
#: Seconds without any progress after which the machine counts as wedged.
PATIENCE = 40.0
#: Cases for each boot.
BATCH = 400
#: Boots in a row that may fail before the machine is given up.
ATTEMPTS = 3


@dataclass(frozen=True)
class AnsweredCase:
    """A case and its answers; ``verdict`` is ``ok``, ``hang`` or ``lost`` (the process that asked died)."""

    case: Case
    raw: wire.RawCase

    @property
    def verdict(self) -> str:
        return self.raw.verdict or "hang"


def description(machine: str) -> dict[str, object]:
    """The machine that the guest sees, for the head of a recording (memory and swap in bytes)."""
    about = {"cpus": CPUS, "nodes": NODES, "memory": MEMORY, "block_devices": list(BLOCK_DEVICES), "boot": BOOT_OPTIONS}
    return {**about, "swap": SWAP_SPACE[machine]} if SWAP_SPACE[machine] else about


def ask(
    kernel: Kernel, layout: str, cases: Sequence[Case], report: Callable[[str], None], machine: str = PLAIN
) -> list[AnsweredCase]:
    """Have a kernel answer cases on one of ``recording.MACHINES``.  A case that wedges or kills the machine is recorded
    as ``hang``; the machine is booted again for the cases after it, and once after a panic before any case.  Raises
    MachineError when it does not come up.
    """
    answered: list[AnsweredCase] = []
    for start in range(0, len(cases), BATCH):
        part = cases[start : start + BATCH]
        answered += _ask_batch(kernel, layout, part, report, machine)
        if len(cases) > BATCH:
            report(f"{min(start + BATCH, len(cases))} of {len(cases)} cases")
    return answered


def _ask_batch(
    kernel: Kernel, layout: str, cases: Sequence[Case], report: Callable[[str], None], machine: str
) -> list[AnsweredCase]:
    encoded = b"".join(wire.encode_case(case) for case in cases)
    found: dict[int, wire.RawCase] = {}
    first = 0
    failures = 0
    panics = qemu.BootPanics(kernel, report)
    while first < len(cases):
        with tempfile.TemporaryDirectory(prefix="fcg-oracle-") as directory:
            state, current = _boot(kernel, layout, encoded, first, Path(directory), cases, found, machine)
            panic = qemu.panic_of(Path(directory) / "console")
        if state == wire.DONE:
            break
        if state == wire.BOOTING:
            if panic:
                panics.note(panic)
            failures += 1
            if failures == ATTEMPTS:
                raise MachineError(
                    f"kernel {kernel.series} did not come up in the virtual machine, {ATTEMPTS} times in a row"
                )
            continue
        failures = 0
        if state == wire.RUNNING:
            report(f"case {cases[current].name!r} stopped the machine")
            found.setdefault(current, wire.RawCase()).verdict = "hang"
            current += 1
        first = current
    return [AnsweredCase(case, found.get(index, wire.RawCase())) for index, case in enumerate(cases)]


def _boot(
    kernel: Kernel,
    layout: str,
    encoded: bytes,
    first: int,
    directory: Path,
    cases: Sequence[Case],
    found: dict[int, wire.RawCase],
    machine: str,
) -> tuple[int, int]:
    """One boot from case ``first`` on: (state, number of the case it ended at)."""
    out = (wire.HEADER.size + len(encoded) + 4095) // 4096 * 4096 + 4096
    memory = directory / "memory"
    with open(memory, "w+b") as file:
        file.truncate(SHARED_MEMORY)
        head = wire.HEADER.pack(
            wire.MAGIC, wire.LAYOUTS[layout], len(cases), first, 4096, out, SHARED_MEMORY - out, 0, 0, 0, 0
        )
        file.write(head)
        file.seek(4096)
        file.write(encoded)
        file.flush()
        with mmap.mmap(file.fileno(), SHARED_MEMORY) as shared:
            log = directory / "console"
            with qemu.running(_command(kernel, directory, memory, log, machine)) as process:
                _watch(process, shared)
            used, _progress, state, current = _progress_of(shared)
            wire.decode(cases, shared[out : out + used], found)
            if os.environ.get("FAKECGROUP_ORACLE_CONSOLE"):
                shutil.copy(log, os.environ["FAKECGROUP_ORACLE_CONSOLE"])
    return state, current


def _progress_of(shared: mmap.mmap) -> tuple[int, int, int, int]:
    fields = wire.HEADER.unpack(shared[: wire.HEADER.size])
    return fields[7], fields[8], fields[9], fields[10]


def _watch(process: subprocess.Popen[bytes], shared: mmap.mmap) -> None:
    last: tuple[int, ...] = ()
    since = time.monotonic()
    while process.poll() is None:
        now = _progress_of(shared)
        if now != last:
            last, since = now, time.monotonic()
        elif time.monotonic() - since > PATIENCE:
            return
        time.sleep(0.05)


def _command(kernel: Kernel, directory: Path, memory: Path, log: Path, machine: str) -> list[str]:
    half = MEMORY // NODES // (1024 * 1024)
    # what the kernel does not know, and has no dot, becomes init's environment
    options = BOOT_OPTIONS + (" ORACLE_SWAP=1" if SWAP_SPACE[machine] else "")
    command = qemu.command(kernel, guest(), options, cpus=CPUS, memory=MEMORY, console=log)
    for node in range(NODES):
        cpus = f"{node * CPUS // NODES}-{(node + 1) * CPUS // NODES - 1}"
        command += ["-object", f"memory-backend-ram,id=node{node},size={half}M"]
        command += ["-numa", f"node,nodeid={node},cpus={cpus},memdev=node{node}"]
    command += ["-object", f"memory-backend-file,share=on,mem-path={memory},size={SHARED_MEMORY},id=shared"]
    command += ["-device", "ivshmem-plain,memdev=shared"]
    for number in range(len(BLOCK_DEVICES)):
        disk = directory / f"disk{number}"
        with open(disk, "wb") as file:
            file.truncate(DISK)
            if number == len(BLOCK_DEVICES) - 1 and SWAP_SPACE[machine]:
                _make_swap(file)
        command += ["-drive", f"file={disk},format=raw,if=none,id=disk{number}"]
        command += ["-device", f"nvme,drive=disk{number},serial=disk{number}"]
    return command


def _make_swap(disk: BinaryIO) -> None:
    """A swap header on a disk image, as mkswap(8) writes it: version, last page, no bad pages, and the signature."""
    disk.seek(1024)
    disk.write(struct.pack("<III", 1, DISK // 4096 - 1, 0))
    disk.seek(4096 - 10)
    disk.write(b"SWAPSPACE2")


def guest() -> Path:
    """The guest's initramfs, built for each state of its source. Raises MachineError."""
    sources = sorted(Path(__file__).with_name("guest").glob("*.[ch]"))
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:12]
    home = cache_directory() / "guest"
    image = home / f"initramfs-{digest}"
    with locked(home):
        if not image.exists():
            _build([source for source in sources if source.suffix == ".c"], image)
    return image


def _build(sources: Sequence[Path], image: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="fcg-guest-") as directory:
        tree = Path(directory)
        flags = ["-static", "-O2", "-Wall", "-Wno-format-truncation", "-Wno-unused-result"]
        command = ["gcc", *flags, "-o", str(tree / "init"), *map(str, sources)]
        built = subprocess.run(command, capture_output=True, text=True, check=False)
        if built.returncode != 0:
            raise MachineError("building the guest failed: " + (built.stderr.splitlines() or ["gcc said nothing"])[0])
        pack(tree, image)
