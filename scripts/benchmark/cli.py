"""The command ``scripts/bench``."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

from . import interruption, operations, page, python_share, report
from .columns import COLUMNS, Bench, Column
from .errors import BenchmarkError, StoppedError, UnavailableError
from .measurements import MEASUREMENTS, Measurement, positive
from .operations import OPERATIONS, Workload

_OTHERS = "\n\n".join(one.text for one in MEASUREMENTS)
_EPILOG = f"""\
Columns, as far as this machine has what they need:
  null    a FUSE file system in C (libfuse 3, low-level, one thread) that does nothing: the others are compared with it
  cached  the same one, and the kernel keeps its names, attributes and lists of directories for ever
  native  fakecgroup mount --transport native, a v2 tree of kernel 6.12
  fusepy  fakecgroup mount --transport fusepy, the same tree
  model   fakecgroup.Kernel in the client's own process, without a mount and without system calls
  host    a cgroup of its own in this machine's cgroup2, or v1 cpu hierarchy

Operations (names for --only):
  {", ".join(name if name == what else f"{name} ({what})" for name, what in OPERATIONS.items())}
They are system calls on absolute paths, MOUNT/DIRECTORY/FILE, as programs make them. One write or read is a whole
value; listdir is one directory with the files of a cgroup that has every controller, under the same names in null.

How to read it: a ratio is operations per second divided by those of null in the same round, so 1.00 is as fast as
FUSE lets anyone be and 0.50 takes twice as long. Daemon and client share one CPU, as one waits for the other
anyway; so a time is what the operation costs, not what two CPUs can hide. Every round measures every operation on
every column in turn, so that a machine that slows down does so for all. Many short rounds stand a busy machine
better than a few long ones: judge by the median, and by how it repeats, as one interruption makes a minimum or maximum.

-o json, times in µs per operation, each as {{"min", "median", "max"}} over the rounds:
  {{"run": {{"cpu", "rounds", "ops", "machine"}},
   "columns": {{COLUMN: {{"what", "entries", "client_us"}}}}, "missing": {{COLUMN: REASON}},
   "operations": {{OPERATION: {{COLUMN: {{"us", "per_second", "ratio"}}}}}}, "python": {{OPERATION: PERCENT}}}}
ratio is null without the null column; client_us is the client's empty loop; python is how much of the CPU time of
client and daemon is user time of the daemon of native.

{_OTHERS}

Exit status: 0 done, 1 it failed, 2 the command line is wrong. Nothing is left behind.
"""


#: The parts of the page, each with its command line.
_PARTS: dict[str, list[str]] = {
    "operations": [],
    "cgroups": ["--cgroups", "100,1000,10000,100000,1000000", "--rounds", "7"],
    "run": ["--run", "--rounds", "7"],
    "calls": ["--calls"],
    "start": ["--start", "--rounds", "11"],
    "apply": ["--apply", "500"],
    "pods": ["--pods", "1000,10000", "--rounds", "3"],
}


class Parser(argparse.ArgumentParser):
    """An argparse parser whose complaint is one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code: 0 done, 1 it failed (one line on stderr), 2 the command line is wrong."""
    options = _parser().parse_args(argv)
    interruption.watch()
    try:
        if options.page is not None:
            return _page(options.page)
        other, result = _result(options)
        table = report.table if other is None else other.table
    except BenchmarkError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    except StoppedError as interrupted:
        return 128 + interrupted.number
    try:
        print(json.dumps(result, indent=2) if options.output == "json" else table(result), flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # who read it has seen enough
    return 0


def _result(options: argparse.Namespace) -> tuple[Measurement | None, dict[str, Any]]:
    """What is asked for, None for operations, and its result."""
    other = next((one for one in MEASUREMENTS if one.asked(options)), None)
    return other, _bench(options) if other is None else _measured(other, options)


def _page(what: str) -> int:
    """Does --page. Returns the exit status."""
    if what == "check":
        if page.is_current():
            return 0
        raise BenchmarkError(f"{page.PAGE.name} is not what the recording says: run scripts/bench --page text")
    if what == "text":
        page.write(page.read())
        return 0
    began, allowed = time.monotonic(), os.sched_getaffinity(0)
    machine = f"{len(allowed)} CPUs, Linux {platform.release()}, Python {platform.python_version()}"
    before = page.read()
    if what != "measure" and before["machine"] != machine:
        raise BenchmarkError(f"the other parts were measured on another machine ({before['machine']}): measure all")
    parts = {}
    for name in _PARTS if what == "measure" else [what]:
        arguments = _PARTS[name]
        print(f"bench: {' '.join(arguments) or name}", file=sys.stderr)
        _, parts[name] = _result(_parser().parse_args(arguments))
        os.sched_setaffinity(0, allowed)
    minutes = max(1, round((time.monotonic() - began) / 60)) if what == "measure" else before["minutes"]
    page.write({"minutes": minutes, "machine": machine, "parts": before["parts"] | parts})
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="bench",
        description="Measures a mounted fake beside a file system that does nothing, or many pods on the engine.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--ops", type=positive, default=100, metavar="N", help="operations in one go (default 100)")
    length = parser.add_mutually_exclusive_group()
    length.add_argument(
        "--rounds",
        type=positive,
        metavar="N",
        help=f"rounds (default 41; {', '.join(f'--{one.name} {one.rounds}' for one in MEASUREMENTS if one.rounds)})",
    )
    length.add_argument("--seconds", type=float, metavar="S", help="as many rounds as begin in S seconds, at least one")
    parser.add_argument("--only", type=_names(OPERATIONS), default=list(OPERATIONS), metavar="OPERATION,...")
    parser.add_argument("--columns", type=_names(COLUMNS), default=list(COLUMNS), metavar="COLUMN,...")
    other = parser.add_mutually_exclusive_group()
    for one in MEASUREMENTS:
        if one.takes is None:
            other.add_argument(f"--{one.name}", action="store_true", help=one.help)
        else:
            other.add_argument(f"--{one.name}", type=one.takes, metavar=one.metavar, help=one.help)
    other.add_argument(
        "--page",
        nargs="?",
        const="measure",
        choices=["measure", "text", "check", *_PARTS],
        help="measure what the page of benchmarks says, and write it with its recording; a part's name: measure that "
        "part anew, on the same machine; text: write it from the recording; check: exit 1 if it is not what the "
        "recording says",
    )
    parser.add_argument("--cpu", type=int, help="the CPU for all of it (default: the last one it may use)")
    parser.add_argument("-o", dest="output", choices=["table", "json"], default="table", help="default: table")
    return parser


class _names:  # noqa: N801
    """An argparse type: names out of `known`, in its order, separated by commas."""

    def __init__(self, known: Sequence[str] | dict[str, Any]) -> None:
        self._known = list(known)

    def __call__(self, text: str) -> list[str]:
        wanted = text.split(",")
        for name in wanted:
            if name not in self._known:
                raise argparse.ArgumentTypeError(f"no {name!r}: there is {', '.join(self._known)}")
        return [name for name in self._known if name in wanted]


def _bench(options: argparse.Namespace) -> dict[str, Any]:
    cpu = _pin(options.cpu)
    workload = Workload(options.only, options.ops, options.rounds or 41, options.seconds)
    columns: dict[str, Column] = {}
    missing: dict[str, str] = {}
    with ExitStack() as stack:
        bench = Bench(Path(stack.enter_context(TemporaryDirectory(prefix="fcg-bench-"))))
        for name in options.columns:
            try:
                columns[name] = stack.enter_context(COLUMNS[name](bench))
            except UnavailableError as reason:
                missing[name] = str(reason)
            interruption.check()
        if not columns:
            raise BenchmarkError("; ".join(f"no {name}: {reason}" for name, reason in missing.items()))
        times, rounds = operations.measure(workload, {name: column.client for name, column in columns.items()})
        python = python_share.measure(workload.operations, columns, rounds)
    if bench.client_missing:
        missing["client"] = f"{bench.client_missing}; Python issued the system calls, and is slow at it"
    return report.document(
        times,
        workload.operations,
        {name: (column.what, column.entries) for name, column in columns.items()},
        missing,
        python,
        cpu=cpu,
        rounds=rounds,
        ops=workload.ops,
        machine=f"Linux {platform.release()}, {platform.python_implementation()} {platform.python_version()}",
    )


def _measured(one: Measurement, options: argparse.Namespace) -> dict[str, Any]:
    if one.pinned:
        _pin(options.cpu)
    with TemporaryDirectory(prefix="fcg-bench-") as directory:
        return one.measure(options, options.rounds or one.rounds, Path(directory))


def _pin(cpu: int | None) -> int:
    """Puts this process, and so all that it starts, on one CPU; returns which."""
    allowed = os.sched_getaffinity(0)
    chosen = max(allowed) if cpu is None else cpu
    if chosen not in allowed:
        known = ", ".join(map(str, sorted(allowed)))
        raise BenchmarkError(f"CPU {chosen} may not be used here, but {known} may (--cpu)")
    os.sched_setaffinity(0, {chosen})
    return chosen
