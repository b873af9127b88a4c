"""The virtual machine in which scenarios are played. Its time is counted in instructions."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from fakecgroup_mount.vm import qemu
from fakecgroup_mount.vm.cache import cache_directory, locked
from fakecgroup_mount.vm.errors import MachineError
from fakecgroup_mount.vm.initramfs import pack
from fakecgroup_mount.vm.kernels import Kernel
from fakecgroup_mount.vm.programs import compilers, require

#: An instruction takes 8 ns, and time in which all CPUs sleep is skipped: a busy host changes nothing.
INSTRUCTIONS = "shift=3,sleep=off"
#: Bytes.
MEMORY = 768 * 1024 * 1024
_SOURCES = Path(__file__).with_name("guest")
_FLAGS = ("-static", "-O2", "-Wall", "-Wno-format-truncation", "-Wno-unused-result", "-pthread")
#: Seconds in which a machine must say something. One of two CPUs that take turns hangs at times.
_PATIENCE = 240.0
_OPTIONS = "psi=1 no_timer_check swapaccount=1 rcupdate.rcu_expedited=1 softlockup_panic=1"


def play(kernel: Kernel, cpus: int, plan: Sequence[str], report: Callable[[str], None]) -> list[str]:
    """What the guest of a machine of so many CPUs says to a plan, line by line. Raises MachineError."""
    with tempfile.TemporaryDirectory(prefix="fcg-effects-") as name:
        directory = Path(name)
        tree, initrd = directory / "tree", directory / "initrd"
        tree.mkdir()
        shutil.copy(player(kernel.architecture), tree / "init")
        (tree / "plan").write_text("".join(f"{line}\n" for line in plan))
        pack(tree, initrd)
        panics = qemu.BootPanics(kernel.image, report)
        while True:
            said = _boot(kernel, cpus, initrd, directory)
            if said and said[-1] == "end":
                return said
            panics.note(qemu.panic_of(directory / "console") or f"it stopped after {said[-1:] or 'nothing'}")


def _boot(kernel: Kernel, cpus: int, initrd: Path, directory: Path) -> list[str]:
    console, output = directory / "console", directory / "output"
    options = f"{qemu.boot_options(kernel.architecture)} {_OPTIONS}"
    words = qemu.command(kernel.image, initrd, options, cpus=cpus, memory=MEMORY, console=console)
    words[words.index("-accel") + 1] = "tcg,thread=single"
    words += ["-icount", INSTRUCTIONS, "-chardev", f"file,id=output,path={output}", "-serial", "chardev:output"]
    for number in range(2):
        words += ["-drive", f"file=null-co://,format=raw,if=none,id=disk{number}"]
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
