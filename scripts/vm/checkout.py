"""This checkout's programs in the root of a machine."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

from fakecgroup_mount.vm.errors import MachineError
from fakecgroup_mount.vm.kernels import Kernel, number_and_architecture

REPOSITORY = Path(__file__).resolve().parents[2]
_PROGRAM = '#!/bin/sh\nexec python3 -c "import sys; from {} import main; sys.exit(main())" "$@"\n'
#: The module whose `main` a program is.
_PROGRAMS = {"cgroup-engine": "cgroup_engine.cli", "fakecgroup": "fakecgroup_mount.cli"}
_DEPENDENCIES = ("yaml", "jeepney", "inotify_simple", "prometheus_client", "fuse")
_PACKAGES = ("fakecgroup", "fakecgroup_mount", "cgroup_engine", *_DEPENDENCIES)
# compiled parts are for this machine's Python; the packages do without
_NOT_PUT = shutil.ignore_patterns("*.so", "__pycache__", "tests", "recordings")


def put_programs(tree: Path) -> None:
    """This checkout's programs in /opt/bin and, with what they need, in /opt/python. Raises MachineError."""
    opt = tree / "opt"
    (opt / "bin").mkdir(parents=True)
    for name, module in _PROGRAMS.items():
        (opt / "bin" / name).write_text(_PROGRAM.format(module))
        (opt / "bin" / name).chmod(0o755)
    for package in _PACKAGES:
        found = importlib.util.find_spec(package)
        if found is None or found.origin is None:
            raise MachineError(f"Python cannot import {package}")
        source = Path(found.origin)
        if found.submodule_search_locations is None:
            shutil.copy(source, opt / "python")
        else:
            shutil.copytree(source.parent, opt / "python" / package, ignore=_NOT_PUT)


def put_recordings(kernel: Kernel, tree: Path) -> None:
    """The recorded answers of the machine's own kernel, for `fakecgroup conformance`."""
    number, _ = number_and_architecture(kernel.series)
    below = Path("fakecgroup", "conformance", "recordings")
    (tree / "opt" / "python" / below).mkdir()
    for recording in (REPOSITORY / below).glob(f"*-{number}*.jsonl.gz"):
        shutil.copy(recording, tree / "opt" / "python" / below)


def put_fuse(kernel: Kernel, tree: Path) -> None:
    """The kernel's FUSE, where it is a module, as /opt/fuse.ko."""
    for module in kernel.tree.glob("lib/modules/*/kernel/fs/fuse/fuse.ko"):
        shutil.copy(module, tree / "opt")
