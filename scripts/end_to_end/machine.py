"""The scenario in a virtual machine: any kernel, always the root of Debian bookworm, no systemd."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from oracle_vm.kernels import Kernel
from systemd_vm.machine import boot, put_programs
from systemd_vm.root import image_of

#: Kernel series -> its cgroup layout. 5.10 is the last that systems ran on v1 by default.
LAYOUTS = {"5.10": "v1", "6.1": "v2", "6.12": "v2", "7.2": "v2"}
#: The series whose root all of them have: Debian's userland of 5.10 has no Python that the engine runs on.
_ROOT = "6.1"
#: Seconds after which a machine that is still on counts as wedged. On two idle CPUs it takes one and a half minutes.
PATIENCE = 540.0
_HERE = Path(__file__).parent


def run(kernel: Kernel) -> tuple[str, int]:
    """What the scenario prints, and its exit code; OracleError when the machine does not come up or ends too early."""
    with tempfile.TemporaryDirectory(prefix="fcg-end-to-end-") as name:
        overlay = Path(name)
        put_programs(overlay)
        package = overlay / "opt" / "python" / "end_to_end"
        shutil.copytree(_HERE / "scenario", package / "scenario", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(_HERE / "__init__.py", package)
        shutil.copy(_HERE / "init", overlay / "opt")
        return boot(kernel, image_of(_ROOT), overlay, f"rdinit=/opt/init layout={LAYOUTS[kernel.series]}", PATIENCE)
