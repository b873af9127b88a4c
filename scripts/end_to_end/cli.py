"""The command ``scripts/endtoend``."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence

from fakecgroup_mount.vm.errors import MachineError
from vm import kernels, programs

from . import host, machine, report
from .report import TargetRun

_HOST = "host"


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code: 0 everything held, 1 something did not or could not be run, 2 the command line is wrong."""
    options = _parser().parse_args(argv)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that no virtual machine is left behind
    runs = []
    try:
        for target in dict.fromkeys(options.targets or machine.LAYOUTS):
            runs.append(_run(target, options))
            if options.output == "table":
                print(report.as_text(runs[-1]), flush=True)
    except MachineError as error:
        print(f"endtoend: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    if options.output == "json":
        print(report.as_json(runs))
    elif options.output == "markdown":
        print(report.as_markdown(runs))
    return 0 if all(run.held for run in runs) else 1


def _run(target: str, options: argparse.Namespace) -> TargetRun:
    if target == _HOST:
        return report.read(target, *host.run(options.window, options.tolerance))
    programs.provide("endtoend")
    return report.read(target, *machine.run(kernels.needed(target, _tell), _tell))


def _tell(text: str) -> None:
    print(f"endtoend: {text}", file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="endtoend",
        description="Have cgroup-engine keep a node's cgroups on real kernels while processes use what their pods may "
        "use, and exceed it.",
        epilog="Kernels and their root are fetched where they are not here. host needs root and cgroup v1, and uses a "
        "cgroupRoot of its own, which it removes.",
    )
    parser.add_argument(
        "targets",
        nargs="*",
        choices=(*machine.LAYOUTS, _HOST),
        metavar="TARGET",
        help="|".join((*machine.LAYOUTS, _HOST)) + " (default: the kernels; 5.10 has cgroup v1, the others v2)",
    )
    parser.add_argument("-o", dest="output", choices=("table", "json", "markdown"), default="table")
    parser.add_argument("--window", type=float, default=10, metavar="SECONDS", help="of CPU on the host (default: 10)")
    parser.add_argument(
        "--tolerance", type=float, default=10, metavar="PERCENT", help="of a CPU figure on the host (default: 10)"
    )
    return parser
