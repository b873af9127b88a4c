"""Virtual machines: a kernel that panics while it boots, and what is missing; a stand-in takes QEMU's place."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fakecgroup_mount.vm.errors import MachineError
from fakecgroup_mount.vm.kernels import Kernel
from fakecgroup_mount.vm.qemu import panic_of
from vm import programs
from vm.script_machine import boot

PANIC = "Kernel panic - not syncing: No working init found."
#: Panics so often as there are lines in `panics`; else it is a machine whose script prints a line.
QEMU = """\
#!{python}
import sys
from pathlib import Path

words = " ".join(sys.argv)
console, output = (Path(words.split(before)[1].split()[0]) for before in ("file:", "id=output,path="))
left = Path(__file__).with_name("panics")
panics = left.read_text().splitlines()
output.touch()
if panics:
    left.write_text("".join(line + "\\n" for line in panics[1:]))
    console.write_text("[    1.5] " + panics[0] + "\\n[    1.6] CPU: 0 PID: 1 Comm: swapper\\n")
else:
    output.write_text("done\\r\\nexit 3\\r\\n")
"""


class Emulator:
    """A program in QEMU's place, found by PATH."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        program = directory / "qemu-system-x86_64"
        program.write_text(QEMU.format(python=sys.executable))
        program.chmod(0o755)

    def panics(self, *lines: str) -> None:
        (self.directory / "panics").write_text("".join(f"{line}\n" for line in lines))


@pytest.fixture
def emulator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Emulator:
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    return Emulator(tmp_path)


def booted(directory: Path) -> tuple[tuple[str, int], list[str]]:
    """What the machine printed, its exit code, and what was told meanwhile."""
    image, overlay = directory / "image", directory / "overlay"
    image.write_bytes(b"")
    overlay.mkdir(exist_ok=True)
    told: list[str] = []
    kernel = Kernel("6.12", "linux-image", "6.12.0-1", directory / "vmlinuz", directory)
    return boot(kernel, image, overlay, "", told.append, seconds=60), told


def test_a_machine_prints_what_its_script_prints(emulator: Emulator, tmp_path: Path) -> None:
    emulator.panics()
    assert booted(tmp_path) == (("done\n", 3), [])


def test_a_kernel_that_panics_while_it_boots_is_booted_again_and_told_of(emulator: Emulator, tmp_path: Path) -> None:
    emulator.panics(PANIC)
    printed, told = booted(tmp_path)
    assert printed == ("done\n", 3)
    assert told == [f"kernel 6.12 panicked while it booted, and is booted again: {PANIC}"]


def test_a_second_panic_is_an_error_with_the_panics_line(emulator: Emulator, tmp_path: Path) -> None:
    emulator.panics(PANIC, f"{PANIC} Again")
    with pytest.raises(MachineError) as caught:
        booted(tmp_path)
    assert str(caught.value) == f"kernel 6.12 panicked twice while it booted: {PANIC} Again"


@pytest.mark.parametrize(
    "console, line", [("", ""), ("[ 0.1] Linux\n", ""), (f"x\n[    2.0] {PANIC}\r\n[ 2.1] CPU: 0\n", PANIC)]
)
def test_a_panic_is_found_on_the_console(console: str, line: str, tmp_path: Path) -> None:
    (tmp_path / "console").write_text(console)
    assert panic_of(tmp_path / "console") == line


def test_missing_programs_are_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(MachineError) as caught:
        programs.provide("oracle", compiler=True)
    assert str(caught.value) == (
        "missing programs; install them as root: apt-get install apt dpkg qemu-system-x86 gcc libc6-dev"
    )
