"""`scripts/oracle` of a checkout, which fetches Debian's kernels and asks them random cases."""

from __future__ import annotations

import subprocess
from pathlib import Path

from fakecgroup_mount.conformance.question import Question
from fakecgroup_mount.errors import MountError

#: The script.
ORACLE = Path(__file__).resolve().parents[3] / "scripts" / "oracle"


def oracle(command: str, asked: Question, *words: str) -> int:
    """Runs scripts/oracle; returns its exit status. Raises MountError where it is not there."""
    if not ORACLE.exists():
        raise MountError(
            "booting a kernel takes scripts/oracle, which is in the project's checkout, not in the package"
        )
    whole = [str(ORACLE), command, "--kernel", asked.kernel, "--layout", asked.layout, *words]
    return subprocess.run(whole, check=False).returncode
