"""The command ``scripts/bench``."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

from . import (
    applying,
    enforcing,
    idling,
    interruption,
    memory,
    operations,
    planning,
    procs,
    report,
    running,
    simulating,
    starting,
    tracing,
    waking,
)
from .columns import COLUMNS, Bench, Column
from .errors import BenchmarkError, StoppedError, UnavailableError
from .operations import OPERATIONS, Workload

_EPILOG = f"""\
Columns, as far as this machine has what they need:
  null    a FUSE file system in C (libfuse 3, low-level, one thread) that does nothing: the others are compared with it
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
   "operations": {{OPERATION: {{COLUMN: {{"us", "per_second", "ratio"}}}}}}}}
ratio is null without the null column; client_us is the client's empty loop.

--pods N,... measures something else: cgroup-engine plan -o json of so many pods in one call, beside only parsing the
same file with PyYAML's C loader. A ratio is CPU time divided by that of parsing in the same round.

--memory N,... measures the peak memory of cgroup-engine plan, status and explain, with so many pods as kubectl get pods
-A -o json and -o yaml write them. A ratio is that memory divided by that of json.load of the JSON file, both without
what Python takes to start.

--apply N measures cgroup-engine apply of N pods, from looking at the root to the last value read back: the first time,
beside a bare loop of the mkdirs and of open, write and close that are needed; and a second time, which changes nothing,
beside the listing of the same directories and open, read and close of the same files. On the fake, v1 and v2, and as
root on this machine's own v1. A ratio is CPU time (with the daemon's) or system calls (with strace) divided by those of
the loop.

--start measures the start of commands: cgroup-engine --help, a plan of three pods, and fakecgroup --help, beside Python
that imports PyYAML and argparse. A ratio is CPU time divided by that of the latter in the same round.

--wakes N measures from the kill of a cgroup's last process until poll(2) on cgroup.events, or inotify(7), tells of it:
on the fake, and as root in this machine's own cgroup2. A ratio is the median time divided by the machine's.

--run measures fakecgroup run: until `true` has run under it, beside a bare user and mount namespace and a kernel that
scripts/oracle boots; and the time by the clock of a compile job under it, without the
start, beside the same job without it.

--idle N measures what the daemon spends in ten seconds (or --seconds) in which nothing happens: with no process in its
cgroups, and with N that sleep. The ratio is its CPU time divided by that of a bare loop that reads their clocks once a
second.

--enforce N measures limits on N real processes: the CPU time of a daemon that enforces them, in ten seconds (or
--seconds) in which the processes sleep and in which they are busy, beside a daemon that enforces nothing; and a compile
job in a limited cgroup under fakecgroup run, beside the same job where nothing is enforced (not with --seconds).

--procs N,... measures a cgroup with so many processes: a read of cgroup.procs, from open to close, beside one of
cgroup.stat (a ratio is how many of the first are done while one of the second is); and 5,000 forks (50 times --ops),
one after the other, in a cgroup and outside (a ratio is time inside divided by time outside). The same in a cgroup of
this machine.

--simulate measures how fast virtual time passes for the simulated processes of 110 pods: seconds of virtual time in a
second of CPU time, for phases of 10 s to 40 s, for cycles of work and sleep of 200 ms, and for processes that sleep;
and the CPU time that a virtual second takes with 10, 100 and 1,000 cgroups.

--trace N measures N calls on a tree that is traced to a file, the writing thread's work included, beside as many on one
that is not. A ratio is time divided by time in the same round.

Exit status: 0 done, 1 it failed, 2 the command line is wrong. Nothing is left behind.
"""


class Parser(argparse.ArgumentParser):
    """An argparse parser whose complaint is one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code: 0 done, 1 it failed (one line on stderr), 2 the command line is wrong."""
    options = _parser().parse_args(argv)
    interruption.watch()
    try:
        if options.apply:
            result, table = _apply(options), applying.table
        elif options.wakes:
            result, table = _wakes(options), waking.table
        elif options.run:
            result, table = _run(options), running.table
        elif options.start:
            result, table = _start(options), starting.table
        elif options.procs:
            result, table = _procs(options), procs.table
        elif options.memory:
            result, table = _memory(options), memory.table
        elif options.idle:
            result, table = _idle(options), idling.table
        elif options.enforce:
            result, table = _enforce(options), enforcing.table
        elif options.trace:
            result, table = _trace(options), tracing.table
        elif options.simulate:
            result, table = _simulate(options), simulating.table
        else:
            result, table = (_bench(options), report.table) if not options.pods else (_plan(options), planning.table)
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


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="bench",
        description="Measures a mounted fake beside a file system that does nothing, or many pods on the engine.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--ops", type=_positive, default=100, metavar="N", help="operations in one go (default 100)")
    length = parser.add_mutually_exclusive_group()
    length.add_argument(
        "--rounds",
        type=_positive,
        metavar="N",
        help="rounds (default 41; with --pods, --simulate, --enforce and --trace 5, --apply and --procs 3, --run 11, "
        "--start 21)",
    )
    length.add_argument("--seconds", type=float, metavar="S", help="as many rounds as begin in S seconds, at least one")
    parser.add_argument("--only", type=_names(OPERATIONS), default=list(OPERATIONS), metavar="OPERATION,...")
    parser.add_argument("--columns", type=_names(COLUMNS), default=list(COLUMNS), metavar="COLUMN,...")
    other = parser.add_mutually_exclusive_group()
    other.add_argument("--pods", type=_counts, metavar="N,...", help="cgroup-engine plan of so many pods instead")
    other.add_argument("--memory", type=_counts, metavar="N,...", help="the engine's peak memory for N pods instead")
    other.add_argument("--apply", type=_positive, metavar="N", help="cgroup-engine apply of N pods instead")
    other.add_argument("--wakes", type=_positive, metavar="N", help="N wakes by the end of a process instead")
    other.add_argument("--run", action="store_true", help="fakecgroup run: its start, and a job under it, instead")
    other.add_argument("--start", action="store_true", help="the start of commands instead")
    other.add_argument("--idle", type=_positive, metavar="N", help="the daemon with N sleeping processes instead")
    other.add_argument("--enforce", type=_positive, metavar="N", help="limits on N real processes instead")
    other.add_argument("--simulate", action="store_true", help="simulated processes on virtual time instead")
    other.add_argument("--trace", type=_positive, metavar="N", help="N calls on a traced tree instead")
    other.add_argument("--procs", type=_counts, metavar="N,...", help="cgroups with so many processes instead")
    parser.add_argument("--cpu", type=int, help="the CPU for all of it (default: the last one it may use)")
    parser.add_argument("-o", dest="output", choices=["table", "json"], default="table", help="default: table")
    return parser


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of at least 1")
    return int(text)


def _counts(text: str) -> list[int]:
    return [_positive(word) for word in text.split(",")]


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
    if bench.client_missing:
        missing["client"] = f"{bench.client_missing}; Python issued the system calls, and is slow at it"
    return report.document(
        times,
        workload.operations,
        {name: (column.what, column.entries) for name, column in columns.items()},
        missing,
        cpu=cpu,
        rounds=rounds,
        ops=workload.ops,
        machine=f"Linux {platform.release()}, {platform.python_implementation()} {platform.python_version()}",
    )


def _plan(options: argparse.Namespace) -> dict[str, Any]:
    _pin(options.cpu)
    with TemporaryDirectory(prefix="fcg-bench-") as directory:
        return planning.measure(options.pods, options.rounds or 5, Path(directory))


def _memory(options: argparse.Namespace) -> dict[str, Any]:
    _pin(options.cpu)
    with TemporaryDirectory(prefix="fcg-bench-") as directory:
        return memory.measure(options.memory, Path(directory))


def _apply(options: argparse.Namespace) -> dict[str, Any]:
    _pin(options.cpu)
    with TemporaryDirectory(prefix="fcg-bench-") as directory:
        return applying.measure(options.apply, options.rounds or 3, Path(directory))


def _wakes(options: argparse.Namespace) -> dict[str, Any]:
    _pin(options.cpu)
    with TemporaryDirectory(prefix="fcg-bench-") as directory:
        return waking.measure(options.wakes, Path(directory))


def _run(options: argparse.Namespace) -> dict[str, Any]:
    with TemporaryDirectory(prefix="fcg-bench-") as directory:
        return running.measure(options.rounds or 11, Path(directory))


def _start(options: argparse.Namespace) -> dict[str, Any]:
    _pin(options.cpu)
    with TemporaryDirectory(prefix="fcg-bench-") as directory:
        return starting.measure(options.rounds or 21, Path(directory))


def _idle(options: argparse.Namespace) -> dict[str, Any]:
    with TemporaryDirectory(prefix="fcg-bench-") as directory:
        return idling.measure(options.idle, options.seconds or 10, Path(directory))


def _enforce(options: argparse.Namespace) -> dict[str, Any]:
    with TemporaryDirectory(prefix="fcg-bench-") as directory:
        rounds = 0 if options.seconds else options.rounds or 5
        return enforcing.measure(options.enforce, options.seconds or 10, rounds, Path(directory))


def _simulate(options: argparse.Namespace) -> dict[str, Any]:
    _pin(options.cpu)
    return simulating.measure(options.rounds or 5)


def _trace(options: argparse.Namespace) -> dict[str, Any]:
    _pin(options.cpu)
    with TemporaryDirectory(prefix="fcg-bench-") as directory:
        return tracing.measure(options.trace, options.rounds or 5, Path(directory))


def _procs(options: argparse.Namespace) -> dict[str, Any]:
    with TemporaryDirectory(prefix="fcg-bench-") as directory:
        return procs.measure(options.procs, options.rounds or 3, options.ops, Path(directory))


def _pin(cpu: int | None) -> int:
    """Puts this process, and so all that it starts, on one CPU; returns which."""
    allowed = os.sched_getaffinity(0)
    chosen = max(allowed) if cpu is None else cpu
    if chosen not in allowed:
        known = ", ".join(map(str, sorted(allowed)))
        raise BenchmarkError(f"CPU {chosen} may not be used here, but {known} may (--cpu)")
    os.sched_setaffinity(0, {chosen})
    return chosen
