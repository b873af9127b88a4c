"""What daemons of tests need is loaded before they are forked."""

from __future__ import annotations

import subprocess
import sys

import pytest

LOADS = """
import sys
from fakecgroup import Kernel
from fakecgroup_mount.testing import server
server._load()
before = set(sys.modules)
kernel = Kernel(sys.argv[1])
directories = ["/"] if sys.argv[1] == "v2" else [f"/{name}" for name in kernel.listdir("/")]
for directory in directories:
    try:
        kernel.mkdir(f"{directory}/a")
    except FileExistsError:
        continue  # it is a link
    for name in kernel.listdir(f"{directory}/a"):
        try:
            kernel.read(f"{directory}/a/{name}")
        except OSError:
            pass
print(*set(sys.modules) - before)
"""


@pytest.mark.parametrize("layout", ["v1", "v2", "hybrid"])
def test_reading_all_files_of_a_tree_loads_no_module(layout: str) -> None:
    done = subprocess.run([sys.executable, "-c", LOADS, layout], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
