"""``python3 -m end_to_end.scenario``: prints the machine and each check. Exit code 1 if it did not get to its end."""

from __future__ import annotations

import argparse
import os
import platform
import signal
import sys
import tempfile
import time
from pathlib import Path

from . import cpu, drift, exec_and_attach, keeper, memory, pids, removal, values
from .cgroups import Cgroups
from .checks import Checks
from .node import Node


def main() -> None:
    options = _parser().parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that no cgroup is left behind
    cgroups, checks = Cgroups(options.root), Checks(sys.stdout)
    cpus = len(os.sched_getaffinity(0))
    checks.tell(kernel=platform.release(), layout=f"v{cgroups.version}", cpus=cpus, python=platform.python_version())
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fcg-end-to-end-") as directory:
        node = Node(options.root, options.cgroup_root, Path(directory))
        try:
            _run(options, node, cgroups, checks)
        finally:
            node.down()
    checks.tell(seconds=round(time.monotonic() - start, 1))


def _run(options: argparse.Namespace, node: Node, cgroups: Cgroups, checks: Checks) -> None:
    checks.part = "apply"
    checks.equal("apply: exit code", node.apply().code, 0)
    checks.equal("files and cgroups that differ after it", len(node.differing()), 0)
    values.check_values(node, cgroups, checks)
    checks.equal("a second apply: nothing to do", "nothing to do" in node.apply().out, True)
    if options.shares:
        cgroups.file(options.cgroup_root, "cpu.shares").write_text(options.shares)
    window, tolerance = options.window, options.tolerance / 100
    checks.part = "exec"
    exec_and_attach.check_exec_and_attach(node, cgroups, checks)
    checks.part = "cpu"
    cpu.check_weights(node, cgroups, checks, window, tolerance)
    cpu.check_quotas(node, cgroups, checks, window / 2, tolerance)
    checks.part = "memory"
    memory.check_limit(node, cgroups, checks)
    checks.part = "pids"
    pids.check_limit(node, cgroups, checks)
    checks.part = "drift"
    drift.check_apply(node, cgroups, checks)
    checks.part = "run"
    keeper.check_run(node, cgroups, checks)
    checks.part = "pod gone"
    removal.check_pod(node, cgroups, checks)
    checks.part = "down"
    removal.check_down(node, cgroups, checks)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scenario")
    parser.add_argument("--root", type=Path, default=Path("/sys/fs/cgroup"))
    parser.add_argument("--cgroup-root", default="", metavar="NAME", help="kubepods goes below it (default: the root)")
    parser.add_argument("--shares", help="cpu.shares of cgroupRoot, so that what else runs leaves it some CPU")
    parser.add_argument("--window", type=float, default=10, metavar="SECONDS", help="for which CPU is measured")
    parser.add_argument("--tolerance", type=float, default=10, metavar="PERCENT", help="of a CPU figure")
    return parser


main()
