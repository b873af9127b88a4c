"""A bash script beside systemd: on a root with systemd, with this checkout's programs and examples."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from fakecgroup_mount.vm.kernels import Kernel
from vm import checkout, root
from vm.script_machine import boot

#: After so many seconds a machine that is still on is given up.
SECONDS = 300.0
# v1: legacy; since 256 systemd must also be told that this is meant. hybrid: with an empty v2 beside it
_LAYOUT = {
    "v2": "systemd.unified_cgroup_hierarchy=1 cgroup_no_v1=all",
    "v1": "systemd.unified_cgroup_hierarchy=0 systemd.legacy_systemd_cgroup_controller=1 "
    "SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1",
    "hybrid": "systemd.unified_cgroup_hierarchy=0 systemd.legacy_systemd_cgroup_controller=0 "
    "SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1",
}
LAYOUTS = tuple(_LAYOUT)
NO_PROGRAMS: Mapping[str, Path] = MappingProxyType({})


def run(
    kernel: Kernel,
    layout: str,
    script: str,
    report: Callable[[str], None],
    *,
    seconds: float = SECONDS,
    packages: Sequence[str] = (),
    programs: Mapping[str, Path] = NO_PROGRAMS,
) -> tuple[str, int]:
    """What a bash script prints in the machine, and its exit code.

    cgroup-engine and fakecgroup are on its PATH; the checkout's examples are in the working directory. The machine
    also has these packages of its Debian, and in /opt/bin these programs, by their names there. Raises OSError for one
    that cannot be read, and MachineError when the machine does not come up or does not go off again in time.
    """
    image = root.needed(kernel.series, report, packages)
    with tempfile.TemporaryDirectory(prefix="fcg-systemd-") as name:
        overlay = Path(name)
        checkout.put_programs(overlay)
        checkout.put_recordings(kernel, overlay)
        checkout.put_fuse(kernel, overlay)
        for name, program in programs.items():
            shutil.copy(program, overlay / "opt" / "bin" / name)
        (overlay / "opt" / "script").write_text(script)
        shutil.copytree(checkout.REPOSITORY / "examples", overlay / "opt" / "examples")
        options = f"systemd.unit=script.service {_LAYOUT[layout]}"
        return boot(kernel, image, overlay, options, report, seconds=seconds)
