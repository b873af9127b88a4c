"""Has booted kernels do the operations, and keeps their answers: LAYOUT-KERNEL.json.

Takes the virtual machines of scripts/systemd, and arguments such as v2-6.12 v1-6.1. After an argument may come names of
operations, v2-6.12:limits,orphans: then the others' answers stay as they are.
"""

from __future__ import annotations

import base64
import io
import json
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parent
SYSTEMD = HERE.parents[3] / "scripts" / "systemd"


def answers(layout: str, kernel: str, names: Sequence[str]) -> dict[str, str]:
    """What the operations print on a booted kernel, a line each by name; all of them without names."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for file in HERE.glob("*.py"):
            archive.add(file, f"answers/{file.name}")
    script = f"base64 -d <<'END' | python3 -W ignore -c '{_UNPACK}'\n"
    script += f"{base64.encodebytes(packed.getvalue()).decode()}END\n"
    script += f"python3 -W ignore /tmp/answers {layout} {' '.join(names)}\n"
    command = [str(SYSTEMD), "run", "--kernel", kernel, "--layout", layout, "-"]
    text = subprocess.run(command, input=script, stdout=subprocess.PIPE, text=True, check=True).stdout
    return lines_of(text)


def lines_of(text: str) -> dict[str, str]:
    """The answers of a recording, as text, by name."""
    return {name: json.dumps(answer) for name, answer in json.loads(text).items()}


_UNPACK = 'import sys, tarfile; tarfile.open(fileobj=sys.stdin.buffer, mode="r|gz").extractall("/tmp")'

if __name__ == "__main__":
    for argument in sys.argv[1:]:
        name, _, only = argument.partition(":")
        file = HERE / f"{name}.json"
        layout, kernel = name.split("-")
        told = answers(layout, kernel, only.split(",") if only else ())
        told = {**lines_of(file.read_text()), **told} if only else told
        lines = (f"{json.dumps(one)}: {answer}" for one, answer in told.items())
        file.write_text("\n".join(["{", ",\n".join(lines), "}\n"]))
