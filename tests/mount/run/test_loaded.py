"""A daemon loads what programs ask for: what it loads before the first of them runs is most of the start's time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from .conftest import Sandboxed

#: What few programs need: calls that few make, kernels that are not played, what no process here simulates.
SELDOM = {
    *("dataclasses", "logging", "string", "textwrap", "traceback"),
    *("fakecgroup.base_files.dfl", "fakecgroup.controllers.cpuset.dfl", "fakecgroup.controllers.memory.dfl"),
    *("fakecgroup.outside.cpu_texts", "fakecgroup.outside.machine_files", "fakecgroup_mount.host.log_handlers"),
    *("fakecgroup_mount.calls.clone3", "fakecgroup_mount.calls.pidfd", "fakecgroup_mount.fuse.late_replies"),
    *("fakecgroup.controllers.cpuset.partition_v6_12", "fakecgroup.controllers.cpuset.partition_v7_2"),
    *("fakecgroup.effects.bandwidth", "fakecgroup.effects.pressure_trigger", "fakecgroup.machine.learnt"),
    *("fakecgroup.outside.fs_context", "fakecgroup.outside.sysfs", "fakecgroup.trace.call", "inspect", "json"),
    *("fakecgroup_mount.calls.bpf", "fakecgroup_mount.calls.fsmount", "fakecgroup_mount.calls.mount"),
    *("fakecgroup_mount.calls.sysfs_directories", "fakecgroup_mount.calls.traced_calls", "shlex", "subprocess"),
}
TOLD = """
import sys
from fakecgroup_mount.cli import main
from fakecgroup_mount.run import server
serve = server.serve

def told(*given, **options):
    try:
        serve(*given, **options)
    finally:
        with open(FILE, "w") as file:
            file.write(" ".join(sys.modules))

server.serve = told
sys.exit(main())
"""


def test_a_daemon_whose_programs_do_nothing_has_loaded_what_all_need(sandboxed: Sandboxed, tmp_path: Path) -> None:
    file = tmp_path / "modules"
    code = TOLD.replace("FILE", repr(str(file)))
    command = [sys.executable, "-c", code, "run", "--", "true"]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    loaded = set(file.read_text().split())
    assert "fakecgroup_mount.calls.supervisor" in loaded
    assert loaded & SELDOM == set()


def test_the_front_never_loads_the_model(sandboxed: Sandboxed, tmp_path: Path) -> None:
    code = "import sys\nfrom fakecgroup_mount.cli import main\nmain()\nprint(*sys.modules)"
    command = [sys.executable, "-c", code, "run", "--", "true"]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60, check=True)
    loaded = set(done.stdout.split())
    assert "fakecgroup_mount.run.sandbox" in loaded
    assert loaded & {"fakecgroup.kernel", "fakecgroup_mount.fuse.native", "fakecgroup_mount.run.server"} == set()


def test_what_few_programs_call_is_loaded_when_one_does(sandboxed: Sandboxed, tmp_path: Path) -> None:
    mounted = "mkdir $PWD/a && mount -t cgroup2 none a && cat a/cgroup.controllers && stat -f -c %T a"
    done = sandboxed(f"cd {tmp_path} && {mounted}")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("cgroup2fs\n")
