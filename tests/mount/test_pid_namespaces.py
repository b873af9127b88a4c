"""Pids as a process in an inner pid namespace sees them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from fakecgroup_mount.host.pid_namespaces import PidNamespace, pid_namespace_of

from ..waiting import wait_until
from .conftest import needs_fuse, needs_root, shell

pytestmark = [needs_fuse, needs_root]

SCRIPT = Path(__file__).with_name("pid_namespace.sh").read_text()
SEEN = {  # on Linux 6.18, in both kinds of hierarchy; v1 leaves out who cannot be seen
    "v2": "0 1 2 3 4 \n0 1 2 5 6 \n0 2 \nnone\nnone\n",
    "v1": "1 2 3 4 \n1 2 5 6 \n2 \nnone\nnone\n",
}


def test_of_the_unified_hierarchy(v2: Path) -> None:
    assert shell(SCRIPT, v2)[1] == SEEN["v2"]


def test_of_a_v1_hierarchy(v1: Path) -> None:
    assert shell(SCRIPT, v1 / "pids")[1] == SEEN["v1"]


def test_numbers_are_found_without_the_kernels_help_too() -> None:
    with subprocess.Popen(["unshare", "-pf", "--kill-child", "sleep", "100"]) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        wait_until(lambda: children.read_text() != "")
        child = int(children.read_text())
        numbers = pid_namespace_of(child)
        wait_until(lambda: (numbers.number(child), numbers.tid(1)) == (1, child))
        assert (numbers.number(os.getpid()), numbers.tid(2), numbers.tid(1 << 40)) == (0, 0, 0)
        assert isinstance(numbers, PidNamespace)
        assert numbers.search(1) == child
        process.kill()
