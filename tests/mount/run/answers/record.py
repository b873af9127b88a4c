"""Has booted kernels do the operations, and keeps their answers: LAYOUT-KERNEL.json.

Takes the virtual machines of scripts/systemd, and arguments such as v2-6.12 v1-6.1.
"""

from __future__ import annotations

import base64
import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path

HERE = Path(__file__).parent
SYSTEMD = HERE.parents[3] / "scripts" / "systemd"


def answers(layout: str, kernel: str) -> str:
    """What the operations print on a booted kernel."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for file in HERE.glob("*.py"):
            archive.add(file, f"answers/{file.name}")
    script = f"base64 -d <<'END' | python3 -W ignore -c '{_UNPACK}'\n"
    script += f"{base64.encodebytes(packed.getvalue()).decode()}END\n"
    script += f"python3 -W ignore /tmp/answers {layout}\n"
    command = [str(SYSTEMD), "run", "--kernel", kernel, "--layout", layout, "-"]
    return subprocess.run(command, input=script, stdout=subprocess.PIPE, text=True, check=True).stdout


_UNPACK = 'import sys, tarfile; tarfile.open(fileobj=sys.stdin.buffer, mode="r|gz").extractall("/tmp")'

if __name__ == "__main__":
    for name in sys.argv[1:]:
        text = answers(*name.split("-"))
        json.loads(text)
        (HERE / f"{name}.json").write_text(text)
