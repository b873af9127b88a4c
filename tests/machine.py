"""The virtual machine of scripts/systemd, for the tests that boot one when they are told to."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

SERIES = os.environ.get("FAKECGROUP_SYSTEMD", "")
SYSTEMD = Path(__file__).parents[1] / "scripts" / "systemd"
LAYOUTS = [layout for layout in ("v2", "v1") if layout == "v2" or SERIES == "6.1"]  # later ones have no v1 memory

boots_a_machine = [
    pytest.mark.skipif(not SERIES, reason="boots a machine: with FAKECGROUP_SYSTEMD=6.1"),
    pytest.mark.timeout(400),
]

# `step NAME COMMAND...` prints a line of JSON: the name, the command's exit code and output
_STEP = """\
step() {
  local name=$1 output code
  shift
  output=$("$@" 2>&1; echo "code $?")
  code=${output##*code }
  python3 -c 'import json, sys; print(json.dumps({"name": sys.argv[1], "code": int(sys.argv[2]), "output": sys.argv[3]}))' \\
    "$name" "$code" "${output%code *}"
}
"""  # noqa: E501


def answers_of(script: str, layout: str) -> dict[str, Any]:
    """What a bash script in the machine prints: name of a `step` -> its exit code and output."""
    command = [str(SYSTEMD), "run", "--kernel", SERIES, "--layout", layout, "-"]
    done = subprocess.run(command, input=_STEP + script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return {row["name"]: row for row in map(json.loads, done.stdout.splitlines())}
