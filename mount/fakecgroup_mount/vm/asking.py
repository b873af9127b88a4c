"""Boots a kernel image and has it answer cases."""

from __future__ import annotations

import mmap
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from fakecgroup.conformance.case import Answer, Case
from fakecgroup.conformance.normalise import Normaliser
from fakecgroup.conformance.recording import PLAIN
from fakecgroup_mount.vm import machine as machines
from fakecgroup_mount.vm import qemu, wire
from fakecgroup_mount.vm.errors import MachineError
from fakecgroup_mount.vm.guest_build import guest
from fakecgroup_mount.vm.image import Image
from fakecgroup_mount.vm.initramfs import join
from fakecgroup_mount.vm.modules import modules_of, pack_driver
from fakecgroup_mount.vm.patience import Silence
from fakecgroup_mount.vm.programs import require

#: Seconds without any progress after which the machine counts as wedged, in a case and before the first one. Time in
#: which it waited for a CPU of the host does not count.
PATIENCE = 40.0
BOOT_PATIENCE = 90.0
#: Cases for each boot, at least and at most, where there are enough of them.
BATCH = (100, 500)
#: Machines that run at a time: one for each CPU up to this, if there is memory for them.
MOST_MACHINES = 4
#: Bytes of a machine: its own memory and QEMU's.
_MACHINE_MEMORY = 3 * 512 * 1024 * 1024
#: Boots in a row that may fail before the machine is given up.
ATTEMPTS = 3

Report = Callable[[str], None]


@dataclass(frozen=True)
class AnsweredCase:
    """A case and its answers; ``verdict`` is ``ok``, ``hang`` or ``lost`` (the process that asked died)."""

    case: Case
    raw: wire.RawCase

    @property
    def verdict(self) -> str:
        return self.raw.verdict or "hang"

    def answers(self, raw: bool = False) -> list[Answer]:
        """The answers in the form in which they are compared; ``raw`` keeps counters and times."""
        normalise = Normaliser(self.raw.pids, raw)
        return [normalise(op, answer) for op, answer in zip(self.case.ops, self.raw.answers, strict=False)]


def ask(image: Image, layout: str, cases: Sequence[Case], report: Report, machine: str = PLAIN) -> list[AnsweredCase]:
    """Has a kernel answer cases on one of ``recording.MACHINES``.  A case that wedges or kills the machine is recorded
    as ``hang``; the machine is booted again for the cases after it, and once after a panic before any case.  Raises
    MachineError when it does not come up, or when QEMU or a C compiler is missing.
    """
    require(image.architecture, compiler=False)
    with tempfile.TemporaryDirectory(prefix="fcg-asking-") as name:
        initrd = _initrd(image, Path(name))
        count = _machines()
        size = min(BATCH[1], max(BATCH[0], -(-len(cases) // count)))
        stop = Event()
        batches = [
            _Batch(image, initrd, layout, cases[start : start + size], report, machine, stop)
            for start in range(0, len(cases), size)
        ]
        return _all(batches, count, stop, lambda done: report(f"{done} of {len(cases)} cases"))


def _machines() -> int:
    """How many machines may run at a time."""
    memory = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable"))
    room = int(memory.split()[1]) * 1024 // _MACHINE_MEMORY
    return max(1, min(MOST_MACHINES, len(os.sched_getaffinity(0)), room))


def _all(batches: Sequence[_Batch], count: int, stop: Event, report: Callable[[int], None]) -> list[AnsweredCase]:
    """What all batches are answered; so many machines run at a time. An error, or an interrupt, ends all of them."""
    answered: list[AnsweredCase] = []
    with ThreadPoolExecutor(count) as pool:
        running = [pool.submit(batch.ask) for batch in batches]
        try:
            for one in running:
                answered += one.result()
                if len(batches) > 1:
                    report(len(answered))
        except BaseException:
            stop.set()
            for one in running:
                one.cancel()
            raise
    return answered


def _initrd(image: Image, directory: Path) -> Path:
    """The guest, after the image's own initrd or, without one, the modules beside the image."""
    own = guest(image.architecture)
    before = image.initrd
    modules = modules_of(image) if before is None else None
    try:
        if modules is not None:
            before = pack_driver(modules, image.release, directory)
        if before is None:
            return own
        joined = directory / "initrd"
        join([before, own], joined)
    except OSError as error:
        raise MachineError(f"{error.filename}: {error.strerror}") from None
    return joined


class _Batch:
    """Cases that are asked in one boot if none of them stops the machine."""

    def __init__(
        self, image: Image, initrd: Path, layout: str, cases: Sequence[Case], report: Report, machine: str, stop: Event
    ) -> None:
        self._image = image
        self._initrd = initrd
        self._layout = layout
        self._cases = cases
        self._report = report
        self._machine = machine
        self._stop = stop
        self._encoded = b"".join(wire.encode_case(case, image.architecture) for case in cases)
        self._found: dict[int, wire.RawCase] = {}
        self._silent = False  # the last machine was ended, as it said nothing any more

    def ask(self) -> list[AnsweredCase]:
        first = 0
        failures = 0
        panics = qemu.BootPanics(self._image, self._report)
        while first < len(self._cases) and not self._stop.is_set():
            with tempfile.TemporaryDirectory(prefix="fcg-oracle-") as name:
                state, current = self._boot(first, Path(name))
                panic = qemu.panic_of(Path(name) / "console")
                said = _said(Path(name) / "console")
            if state == wire.DONE:
                break
            if state == wire.BOOTING:
                if panic:
                    panics.note(panic)
                failures += 1
                if failures == ATTEMPTS:
                    why = f": {said}" if said else ""
                    raise MachineError(
                        f"{self._image.name} did not come up in the virtual machine, {ATTEMPTS} times in a row{why}"
                    )
                continue
            failures = 0
            if state == wire.RUNNING:
                how = f": it was silent for {PATIENCE:.0f} s" if self._silent else ": it went off"
                self._report(f"case {self._cases[current].name!r} stopped the machine{how}")
                self._found.setdefault(current, wire.RawCase()).verdict = "hang"
                current += 1
            first = current
        return [AnsweredCase(case, self._found.get(index, wire.RawCase())) for index, case in enumerate(self._cases)]

    def _boot(self, first: int, directory: Path) -> tuple[int, int]:
        """One boot from case ``first`` on: (state, number of the case it ended at)."""
        size = machines.SHARED_MEMORY
        out = (wire.HEADER.size + len(self._encoded) + 4095) // 4096 * 4096 + 4096
        memory, console = directory / "memory", directory / "console"
        with open(memory, "w+b") as file:
            file.truncate(size)
            layout = wire.LAYOUTS[self._layout]
            head = (wire.MAGIC, layout, len(self._cases), first, 4096, out, size - out, 0, 0, 0, 0)
            file.write(wire.HEADER.pack(*head))
            file.seek(4096)
            file.write(self._encoded)
            file.flush()
            with mmap.mmap(file.fileno(), size) as shared:
                words = machines.command(self._image, self._initrd, directory, memory, console, self._machine)
                with qemu.running(words, directory / "qemu") as process:
                    self._silent = _watch(process, shared, self._stop)
                used, _progress, state, current = _progress_of(shared)
                wire.decode(self._cases, shared[out : out + used], self._found)
                if os.environ.get("FAKECGROUP_ORACLE_CONSOLE"):
                    shutil.copy(console, os.environ["FAKECGROUP_ORACLE_CONSOLE"])
        return state, current


def _progress_of(shared: mmap.mmap) -> tuple[int, int, int, int]:
    fields = wire.HEADER.unpack(shared[: wire.HEADER.size])
    return fields[7], fields[8], fields[9], fields[10]


def _watch(process: subprocess.Popen[bytes], shared: mmap.mmap, stop: Event) -> bool:
    """Waits until the machine is off, or silent for too long; true for the latter."""
    last: tuple[int, ...] = ()
    silence = Silence(process.pid)
    while process.poll() is None and not stop.is_set():
        now = _progress_of(shared)
        if now != last:
            last = now
            silence.ends()
        elif silence.seconds() > (BOOT_PATIENCE if now[2] == wire.BOOTING else PATIENCE):
            return True
        time.sleep(0.05)
    return False


def _said(console: Path) -> str:
    """The last line that the guest wrote, or else that the kernel wrote."""
    lines = console.read_text(errors="replace").splitlines() if console.exists() else []
    lines = [line.strip() for line in lines if line.strip()]
    own = [line.removeprefix("oracle: ") for line in lines if line.startswith("oracle: ")]
    return (own or lines or [""])[-1]
