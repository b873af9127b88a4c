"""The command ``scripts/systemd``."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from fakecgroup_mount.vm.errors import MachineError
from fakecgroup_mount.vm.kernels import Kernel, number_and_architecture
from vm import kernels, programs, root

from . import machine, snapshots

#: Kernel series whose Debian suite has a Python that the engine runs on.
SERIES = ("6.1", "6.12", "7.2", "6.12/arm64")


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code: the script's; 1 if it could not be run (one line on stderr), 2 if the command line is wrong."""
    options = _parser().parse_args(argv)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that no virtual machine is left behind
    try:
        return int(options.run(options))
    except MachineError as error:
        print(f"systemd: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"systemd: {error.strerror}: {error.filename}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="systemd", description="Run a shell script beside a real systemd.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    fetch = commands.add_parser("fetch", help="download and unpack Debian's systemd and the kernel that goes with it")
    fetch.add_argument("kernels", nargs="*", metavar="KERNEL", help="|".join(SERIES) + " (default: 6.1)")
    fetch.set_defaults(run=_fetch)
    run = commands.add_parser("run", help="boot, run a bash script with cgroup-engine on its PATH, print its output")
    _add_machine(run, machine.SECONDS)
    run.add_argument("script", metavar="FILE|-")
    run.set_defaults(run=_run)
    snapshot = commands.add_parser(
        "snapshot", help="boot, let services, a user's session and pods work, take snapshots of the node's cgroups"
    )
    _add_machine(snapshot, 2 * machine.SECONDS)
    snapshot.add_argument(
        "-o", dest="directory", metavar="DIR", type=Path, default=snapshots.NODES, help="default: that of the tests"
    )
    snapshot.add_argument(
        "--kubelet", metavar="FILE", type=Path, help="the pods are those of this kubelet, not of cgroup-engine (amd64)"
    )
    snapshot.set_defaults(run=_snapshot)
    return parser


def _add_machine(parser: argparse.ArgumentParser, seconds: float) -> None:
    parser.add_argument("--kernel", choices=SERIES, default="6.1", help="and the systemd of its Debian (default: 6.1)")
    parser.add_argument("--layout", choices=machine.LAYOUTS, default="v2", help="default: v2")
    parser.add_argument(
        "--seconds",
        type=float,
        default=seconds,
        help=f"after so many the machine is given up (default: {seconds:.0f})",
    )


def _fetch(options: argparse.Namespace) -> int:
    for series in options.kernels or ["6.1"]:
        if series not in SERIES:
            raise MachineError(f"no root for kernel {series!r}; there are {', '.join(SERIES)}")
        programs.provide("systemd", number_and_architecture(series)[1])
        kernel = kernels.needed(series, _report)
        image = root.fetch(series)
        print(f"{series}\t{kernel.package}\t{image.stat().st_size} bytes", flush=True)
    return 0


def _kernel(options: argparse.Namespace) -> Kernel:
    programs.provide("systemd", number_and_architecture(options.kernel)[1])
    return kernels.needed(options.kernel, _report)


def _snapshot(options: argparse.Namespace) -> int:
    taken = snapshots.take(
        _kernel(options), options.layout, options.kubelet, options.directory, _report, seconds=options.seconds
    )
    for file, said in taken:
        print(f"{file}\n{said}", flush=True)
    return 0


def _run(options: argparse.Namespace) -> int:
    script = sys.stdin.read() if options.script == "-" else Path(options.script).read_text()
    kernel = _kernel(options)
    printed, code = machine.run(kernel, options.layout, script, _report, seconds=options.seconds)
    print(printed, end="")
    return code


def _report(text: str) -> None:
    print(f"systemd: {text}", file=sys.stderr, flush=True)
