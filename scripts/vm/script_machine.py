"""A machine that runs one script, prints what it prints, and goes off."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from fakecgroup_mount.vm import qemu
from fakecgroup_mount.vm.architecture import ARCHITECTURES
from fakecgroup_mount.vm.errors import MachineError
from fakecgroup_mount.vm.initramfs import join, pack
from fakecgroup_mount.vm.kernels import Kernel

CPUS = 3
#: Bytes.
MEMORY = 1536 * 1024 * 1024


def boot(
    kernel: Kernel, image: Path, overlay: Path, options: str, report: Callable[[str], None], *, seconds: float
) -> tuple[str, int]:
    """Boots a kernel with an image as its root, and the files of ``overlay`` on top of it.

    Gives what was written to the second serial port, until its last line, which is ``exit`` and an exit code. Raises
    MachineError when there is none, when the kernel panicked twice before the port was written to, or when the machine
    is not off again after ``seconds``.
    """
    with tempfile.TemporaryDirectory(prefix="fcg-machine-") as name:
        directory = Path(name)
        upper, initrd = directory / "overlay", directory / "initrd"
        pack(overlay, upper)
        join([image, upper], initrd)
        panics = qemu.BootPanics(kernel.image, report)
        while True:
            _run(kernel, initrd, options, directory, seconds)
            panic = qemu.panic_of(directory / "console")
            if not panic or _lines(directory / "output"):
                return _printed(directory)
            panics.note(panic)


def _run(kernel: Kernel, initrd: Path, options: str, directory: Path, seconds: float) -> None:
    console, output = directory / "console", directory / "output"
    append = f"{qemu.boot_options(kernel.architecture)} swapaccount=1 {options}"
    words = qemu.command(kernel.image, initrd, append, cpus=CPUS, memory=MEMORY, console=console)
    words += ["-chardev", f"file,id=output,path={output}", *ARCHITECTURES[kernel.architecture].output_port]
    with qemu.running(words, directory / "qemu") as process:
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise MachineError(f"the machine was not done after {seconds:.0f} s; {_last(directory)}") from None


def _printed(directory: Path) -> tuple[str, int]:
    output = directory / "output"
    text = output.read_text(errors="replace").replace("\r\n", "\n") if output.exists() else ""
    printed, marker, code = text.rpartition("exit ")
    if not marker or not code.strip().isdigit():
        raise MachineError(f"the machine went off before the script was done; {_last(directory)}")
    return printed, int(code)


def _last(directory: Path) -> str:
    lines = [*_lines(directory / "output"), *_lines(directory / "console")]
    return f"its last line: {lines[-1].strip()}" if lines else "it printed nothing"


def _lines(file: Path) -> list[str]:
    return [line for line in file.read_text(errors="replace").splitlines() if line.strip()] if file.exists() else []
