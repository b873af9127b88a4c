"""The scenario in a virtual machine: any kernel, always the root of Debian bookworm, no systemd."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from fakecgroup_mount.vm.kernels import Kernel
from vm import checkout, root
from vm.script_machine import boot

#: Kernel series -> its cgroup layout. 5.10 is the last that systems ran on v1 by default.
LAYOUTS = {"5.10": "v1", "6.1": "v2", "6.12": "v2", "7.2": "v2"}
#: The series whose root all of them have: Debian's userland of 5.10 has no Python that the engine runs on.
_ROOT = "6.1"
#: After so many seconds a machine that is still on is given up. On two idle CPUs it takes one and a half minutes.
_SECONDS = 540.0
_HERE = Path(__file__).parent


def run(kernel: Kernel, report: Callable[[str], None]) -> tuple[str, int]:
    """What the scenario prints, and its exit code.

    Raises MachineError when the machine does not come up or ends too early.
    """
    image = root.needed(_ROOT, report)
    with tempfile.TemporaryDirectory(prefix="fcg-end-to-end-") as name:
        overlay = Path(name)
        checkout.put_programs(overlay)
        package = overlay / "opt" / "python" / "end_to_end"
        shutil.copytree(_HERE / "scenario", package / "scenario", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(_HERE / "__init__.py", package)
        shutil.copy(_HERE / "init", overlay / "opt")
        options = f"rdinit=/opt/init layout={LAYOUTS[kernel.series]}"
        return boot(kernel, image, overlay, options, report, seconds=_SECONDS)
