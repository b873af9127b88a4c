"""The virtual machine in which scenarios are played. Its time is counted in instructions."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fakecgroup_mount.vm import qemu
from fakecgroup_mount.vm.cache import cache_directory, locked
from fakecgroup_mount.vm.errors import MachineError
from fakecgroup_mount.vm.initramfs import pack
from fakecgroup_mount.vm.kernels import Kernel
from fakecgroup_mount.vm.programs import compilers, require

#: Bytes.
MEMORY = 768 * 1024 * 1024
_DISK = 16 << 30
_SOURCES = Path(__file__).with_name("guest")
_FLAGS = ("-static", "-O2", "-Wall", "-Wno-format-truncation", "-Wno-unused-result", "-pthread")
#: Seconds in which a machine must say something. One of two CPUs that take turns hangs at times.
_PATIENCE = 240.0
_OPTIONS = "psi=1 no_timer_check swapaccount=1 rcupdate.rcu_expedited=1"
#: Of a machine whose time does not depend on the host.
_OWN_TIME = "softlockup_panic=1"


@dataclass(frozen=True)
class Shape:
    """What a machine has: its CPUs, ns that an instruction takes, a power of two, and a `layout` of cgroups.

    `swap` are bytes, `huge_pages` are those of 2 MiB. Time in which all CPUs sleep is skipped, so that a busy host
    changes nothing. Where `instruction` is None, the CPUs run beside each other in the time of the host: no two runs
    are alike.
    """

    cpus: int
    instruction: int | None
    layout: str = "v2"
    swap: int = 0
    huge_pages: int = 0

    def options(self) -> list[str]:
        """The words of QEMU's command line for this."""
        if self.instruction is None:
            return ["-accel", "tcg,thread=multi"]
        shift = self.instruction.bit_length() - 1
        return ["-accel", "tcg,thread=single", "-icount", f"shift={shift},sleep=off"]

    def __str__(self) -> str:
        time = "the host's time" if self.instruction is None else f"{self.instruction} ns an instruction"
        more = f", {self.swap >> 20} MiB of swap" * (self.swap > 0) + ", huge pages" * (self.huge_pages > 0)
        return f"{self.layout}, {self.cpus} CPU{'s' * (self.cpus > 1)}, {time}{more}"


def play(kernel: Kernel, shape: Shape, plan: Sequence[str], report: Callable[[str], None]) -> list[str]:
    """What the guest of a machine says to a plan, line by line. Raises MachineError."""
    with tempfile.TemporaryDirectory(prefix="fcg-effects-") as name:
        directory = Path(name)
        tree, initrd = directory / "tree", directory / "initrd"
        tree.mkdir()
        shutil.copy(player(kernel.architecture), tree / "init")
        (tree / "plan").write_text("".join(f"{line}\n" for line in plan))
        pack(tree, initrd)
        panics = qemu.BootPanics(kernel.image, report)
        while True:
            said = _boot(kernel, shape, initrd, directory)
            if said and said[-1] == "end":
                return said
            panics.note(qemu.panic_of(directory / "console") or f"it stopped after {said[-1:] or 'nothing'}")


def _boot(kernel: Kernel, shape: Shape, initrd: Path, directory: Path) -> list[str]:
    console, output = directory / "console", directory / "output"
    options = f"{qemu.boot_options(kernel.architecture)} {_OPTIONS}{f' {_OWN_TIME}' * (shape.instruction is not None)}"
    words = qemu.command(kernel.image, initrd, options, cpus=shape.cpus, memory=MEMORY, console=console)
    place = words.index("-accel")
    words[place : place + 2] = shape.options()
    words += ["-chardev", f"file,id=output,path={output}", "-serial", "chardev:output"]
    disks = [f"file.driver=null-co,file.size={_DISK}"] * 2
    if shape.swap:
        swap = directory / "swap"
        swap.touch()
        os.truncate(swap, shape.swap)
        disks.append(f"file={swap}")
    for number, disk in enumerate(disks):
        words += ["-drive", f"{disk},format=raw,if=none,id=disk{number}"]
        words += ["-device", f"nvme,drive=disk{number},serial=disk{number}"]
    with qemu.running(words, directory / "qemu") as process:
        said, since = -1, time.monotonic()
        while process.poll() is None:
            size = output.stat().st_size if output.exists() else 0
            if size != said:
                said, since = size, time.monotonic()
            elif time.monotonic() - since > _PATIENCE:
                process.terminate()
            time.sleep(0.2)
    text = output.read_text(errors="replace") if output.exists() else ""
    return text.replace("\r\n", "\n").splitlines()


def player(architecture: str) -> Path:
    """The guest's init, a program too, in the cache: built once for each state of its source. Raises MachineError."""
    sources = sorted(_SOURCES.glob("*.[ch]"))
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:12]
    home = cache_directory() / "guest"
    program = home / f"effects-{architecture}-{digest}"
    with locked(home):
        if not program.exists():
            require(architecture, compiler=True)
            compiler = next(name for name in compilers(architecture) if shutil.which(name))
            command = [compiler, *_FLAGS, "-o", str(program), *map(str, _SOURCES.glob("*.c"))]
            built = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            if built.returncode != 0:
                said = (built.stderr.splitlines() or [f"{compiler} said nothing"])[0]
                raise MachineError(f"building the guest failed: {said}")
    return program
