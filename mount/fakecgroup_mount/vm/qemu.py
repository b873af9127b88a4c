"""QEMU: its command line, its process, and kernels that panic while they boot."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from fakecgroup_mount.vm.architecture import ARCHITECTURES
from fakecgroup_mount.vm.errors import MachineError
from fakecgroup_mount.vm.image import Image

#: Software emulation, on every host the same: no /dev/kvm is needed, and recordings do not depend on the host's CPU.
_ACCELERATOR = "tcg,thread=multi"


def boot_options(architecture: str) -> str:
    """The kernel's options that all machines have: its messages on the console, and the machine off after a panic."""
    return f"console={ARCHITECTURES[architecture].console} quiet panic=-1"


def command(image: Image, initrd: Path, options: str, *, cpus: int, memory: int, console: Path) -> list[str]:
    """QEMU's command line for a machine without devices but a console, which is a file; ``memory`` in bytes."""
    architecture = ARCHITECTURES[image.architecture]
    words = [architecture.emulator, *architecture.processor, "-accel", _ACCELERATOR, "-smp", str(cpus)]
    words += ["-m", str(memory // (1024 * 1024)), "-nodefaults", "-display", "none", "-no-reboot"]
    words += ["-serial", f"file:{console}"]
    return [*words, "-kernel", str(image.file), "-initrd", str(initrd), "-append", options]


@contextmanager
def running(words: Sequence[str], errors: Path) -> Iterator[subprocess.Popen[bytes]]:
    """QEMU's process, which is killed at the end of the context if it is still there. Its stderr goes to ``errors``.

    Raises MachineError if it has failed.
    """
    with open(errors, "wb") as stderr:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr)
    try:
        yield process
        ended = process.poll()
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
    if ended:
        raise MachineError(_failure(words[0], ended, errors.read_text(errors="replace").splitlines()))


def _failure(program: str, status: int, said: Sequence[str]) -> str:
    if status == -signal.SIGBUS:
        return f"{program} was killed by SIGBUS: there is no room for the machine's memory and disks, see TMPDIR"
    how = f"was killed by {signal.Signals(-status).name}" if status < 0 else f"failed with {status}"
    last = said[-1].removeprefix(f"{program}: ") if said else "it said nothing"
    return f"{program} {how}: {last}"


def panic_of(console: Path) -> str:
    """The line that a kernel panicked with, or ""."""
    text = console.read_text(errors="replace") if console.exists() else ""
    _, found, rest = text.partition("Kernel panic - ")
    return found + rest.partition("\n")[0].strip() if found else ""


class BootPanics:
    """Panics of a kernel that has not begun its work yet: after the first it is booted again, not after the second."""

    def __init__(self, image: Image, report: Callable[[str], None]) -> None:
        self._image = image
        self._report = report
        self._first = True

    def note(self, panic: str) -> None:
        """Tells of a first panic. Raises MachineError, with the panic's line, for a second."""
        if not self._first:
            raise MachineError(f"{self._image.name} panicked twice while it booted: {panic}")
        self._first = False
        self._report(f"{self._image.name} panicked while it booted, and is booted again: {panic}")
