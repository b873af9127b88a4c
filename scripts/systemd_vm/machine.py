"""The machine: a kernel, the root with systemd, and on top of it this checkout's programs and the script to run."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import tempfile
from pathlib import Path

from oracle_vm.kernels import EMULATORS, Kernel, OracleError, check_programs

from .architecture import ARCHITECTURES
from .root import image_of, pack

CPUS = 3
MEMORY = 1536 * 1024 * 1024
#: Seconds after which a machine that is still on counts as wedged.
PATIENCE = 300.0
_REPOSITORY = Path(__file__).resolve().parents[2]
_PROGRAM = '#!/bin/sh\nexec python3 -c "import sys; from {}.cli import main; sys.exit(main())" "$@"\n'
_PROGRAMS = {"cgroup-engine": "cgroup_engine", "fakecgroup": "mount"}
_PACKAGES = ("cgroup_engine", "yaml", "jeepney", "inotify_simple", "prometheus_client", "fakecgroup", "mount", "fuse")
# compiled parts are for this machine's Python; the packages do without
_NOT_PUT = shutil.ignore_patterns("*.so", "__pycache__", "tests", "recordings")
# legacy: systemd on cgroup v1; since 256 it must also be told that this is meant
_LAYOUT = {
    "v2": "systemd.unified_cgroup_hierarchy=1 cgroup_no_v1=all",
    "v1": "systemd.unified_cgroup_hierarchy=0 systemd.legacy_systemd_cgroup_controller=1 "
    "SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1",
}
LAYOUTS = tuple(_LAYOUT)


def run(kernel: Kernel, layout: str, script: str) -> tuple[str, int]:
    """What a bash script prints in the machine, and its exit code.

    cgroup-engine and fakecgroup are on its PATH; the checkout's examples are in the working directory. Raises
    OracleError when the machine does not come up or does not go off again in time.
    """
    with tempfile.TemporaryDirectory(prefix="fcg-systemd-") as name:
        overlay = Path(name)
        put_programs(overlay)
        put_fuse(kernel, overlay)
        (overlay / "opt" / "script").write_text(script)
        shutil.copytree(_REPOSITORY / "examples", overlay / "opt" / "examples")
        return boot(kernel, image_of(kernel.series), overlay, f"systemd.unit=script.service {_LAYOUT[layout]}")


def boot(kernel: Kernel, image: Path, overlay: Path, options: str, patience: float = PATIENCE) -> tuple[str, int]:
    """Boots a kernel with an image as its root, and the files of ``overlay`` on top of it.

    Gives what was written to the second serial port, until its last line, which is ``exit`` and an exit code. Raises
    OracleError when there is none, or the machine is not off again after ``patience`` seconds.
    """
    check_programs(kernel.architecture)
    with tempfile.TemporaryDirectory(prefix="fcg-machine-") as name:
        directory = Path(name)
        initrd = directory / "initrd"
        pack(overlay, initrd)
        with open(directory / "both", "wb") as both:
            for part in (image, initrd):  # archives one after the other are one to the kernel
                with open(part, "rb") as file:
                    shutil.copyfileobj(file, both)
        command = _command(kernel, options, directory)
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            raise OracleError(f"the machine was not done after {patience:.0f} s; {_last(directory)}") from None
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
        text = (directory / "output").read_text(errors="replace").replace("\r\n", "\n")
        printed, marker, code = text.rpartition("exit ")
        if not marker or not code.strip().isdigit():
            raise OracleError(f"the machine went off before the script was done; {_last(directory)}")
        return printed, int(code)


def put_programs(tree: Path) -> None:
    """This checkout's programs in /opt/bin and, with what they need, in /opt/python."""
    opt = tree / "opt"
    (opt / "bin").mkdir(parents=True)
    for name, package in _PROGRAMS.items():
        (opt / "bin" / name).write_text(_PROGRAM.format(package))
        (opt / "bin" / name).chmod(0o755)
    for package in _PACKAGES:
        found = importlib.util.find_spec(package)
        if found is None or found.origin is None:
            raise OracleError(f"Python cannot import {package}; run the tests once, which prepare .venv, and use it")
        source = Path(found.origin)
        if found.submodule_search_locations is None:
            shutil.copy(source, opt / "python")
        else:
            shutil.copytree(source.parent, opt / "python" / package, ignore=_NOT_PUT)


def put_fuse(kernel: Kernel, tree: Path) -> None:
    """The kernel's FUSE, where it is a module, as /opt/fuse.ko."""
    for module in kernel.tree.glob("lib/modules/*/kernel/fs/fuse/fuse.ko"):
        shutil.copy(module, tree / "opt")


def _command(kernel: Kernel, options: str, directory: Path) -> list[str]:
    architecture = ARCHITECTURES[kernel.architecture]
    append = f"console={architecture.console} quiet panic=-1 swapaccount=1 {options}"
    command = [EMULATORS[kernel.architecture][0], *architecture.processor, "-accel", "tcg,thread=multi"]
    command += ["-smp", str(CPUS), "-m", str(MEMORY // (1024 * 1024)), "-nodefaults", "-display", "none", "-no-reboot"]
    command += ["-serial", f"file:{directory / 'console'}"]
    command += ["-chardev", f"file,id=output,path={directory / 'output'}", *architecture.output_port]
    return [*command, "-kernel", str(kernel.vmlinuz), "-initrd", str(directory / "both"), "-append", append]


def _last(directory: Path) -> str:
    lines = [*_lines(directory / "output"), *_lines(directory / "console")]
    return f"its last line: {lines[-1].strip()}" if lines else "it printed nothing"


def _lines(file: Path) -> list[str]:
    return [line for line in file.read_text(errors="replace").splitlines() if line.strip()] if file.exists() else []
