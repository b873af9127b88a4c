"""A program in QEMU's place: it reads the cases from the shared memory and answers as it is told by a file beside it.

Lines of that file, for one boot each: "answers"; "stops N" ends at case N, "wedges N" waits there; "panics TEXT"; "says
TEXT", as the guest that finds no shared memory; "fails TEXT", as QEMU itself. Without a line for it a boot answers. An
answer is the number of the operation's arguments, as text.
"""

from __future__ import annotations

import sys
from pathlib import Path

PROGRAM = """\
#!{python}
import signal, struct, sys
from pathlib import Path

words = " ".join(sys.argv)
console = Path(words.split("file:")[1].split()[0])
memory = Path(words.split("mem-path=")[1].split(",")[0])
boots = Path(__file__).with_name("boots")
lines = boots.read_text().splitlines()
boots.write_text("".join(line + "\\n" for line in lines[1:]))
Path(__file__).with_name("command").write_text(words)
what, _, rest = (lines or ["answers"])[0].partition(" ")
console.touch()
if what == "panics":
    console.write_text("[    1.5] Kernel panic - " + rest + "\\n[    1.6] CPU: 0\\n")
if what == "says":
    console.write_text("oracle: " + rest + "\\n")
if what == "fails":
    sys.exit("qemu-system-x86_64: " + rest)
if what in ("answers", "stops", "wedges"):
    with open(memory, "r+b") as file:
        head = list(struct.unpack("<IIIIQQQQQII", file.read(64)))
        file.seek(head[4])
        data = file.read(head[5] - head[4])
        at, out = 0, b""
        state, current = 2, 0
        for case in range(head[2]):
            size, operations = struct.unpack_from("<II", data, at)
            place, at = at + 8, at + 4 + size
            if case < head[3]:
                continue
            out += struct.pack("<IIiIII", case, 0xFFFFFFFE, 0, 0, 1, 2) + b"70"
            if what in ("stops", "wedges") and case == int(rest):
                state, current = 1, case
                break
            for number in range(operations):
                (count,) = struct.unpack_from("<I", data, place)
                place += 4
                for _ in range(count):
                    (length,) = struct.unpack_from("<I", data, place)
                    place += 4 + length + 1
                text = str(count).encode()
                out += struct.pack("<IIiIII", case, number, 0, 0, 2, len(text)) + text
            out += struct.pack("<IIiIII", case, 0xFFFFFFFF, 0, 0, 1, 1) + b"0"
        file.seek(head[5])
        file.write(out)
        head[7], head[8], head[9], head[10] = len(out), 1, state, current
        file.seek(0)
        file.write(struct.pack("<IIIIQQQQQII", *head))
if what == "wedges":
    signal.pause()
"""


class StandIn:
    """The program in a directory that is to be first on PATH."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        program = directory / "qemu-system-x86_64"
        program.write_text(PROGRAM.format(python=sys.executable))
        program.chmod(0o755)
        self.boots()

    def boots(self, *lines: str) -> None:
        (self.directory / "boots").write_text("".join(f"{line}\n" for line in lines))

    @property
    def command(self) -> str:
        """The last command line."""
        return (self.directory / "command").read_text()
