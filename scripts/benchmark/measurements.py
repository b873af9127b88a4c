"""What `scripts/bench` measures beside the operations of a mounted tree. A row for each; a row has its own option."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from . import (
    applying,
    calls,
    clusters,
    enforcing,
    growing,
    idling,
    limiting,
    memory,
    planning,
    procs,
    running,
    simulating,
    starting,
    tracing,
    waking,
)

Measured = dict[str, Any]


class Measurement(NamedTuple):
    """Its option is `--name`, with a value of the kind `takes`, shown as `metavar`; None for an option without one.

    `rounds` is how many it makes unless told otherwise, 0 where it makes none. `pinned`: all of it runs on one CPU.
    `text` explains it below the options.
    """

    name: str
    help: str
    text: str
    measure: Callable[[argparse.Namespace, int, Path], Measured]
    table: Callable[[Measured], str]
    takes: Callable[[str], Any] | None = None
    metavar: str | None = None
    rounds: int = 0
    pinned: bool = False

    def asked(self, options: argparse.Namespace) -> bool:
        """Does a command line ask for it?"""
        return bool(getattr(options, self.name))


def positive(text: str) -> int:
    """A number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of at least 1")
    return int(text)


def counts(text: str) -> list[int]:
    """Such numbers, separated by commas."""
    return [positive(word) for word in text.split(",")]


def _enforce(options: argparse.Namespace, rounds: int, directory: Path) -> Measured:
    return enforcing.measure(options.enforce, options.seconds or 10, 0 if options.seconds else rounds, directory)


MEASUREMENTS = (
    Measurement(
        "pods",
        "cgroup-engine plan of so many pods instead",
        """\
--pods N,... measures something else: cgroup-engine plan -o json of so many pods in one call, beside only parsing the
same file with PyYAML's C loader. A ratio is CPU time divided by that of parsing in the same round.""",
        lambda options, rounds, directory: planning.measure(options.pods, rounds, directory),
        planning.table,
        takes=counts,
        metavar="N,...",
        rounds=5,
        pinned=True,
    ),
    Measurement(
        "memory",
        "the engine's peak memory for N pods instead",
        """\
--memory N,... measures the peak memory of cgroup-engine plan, status and explain, with so many pods as kubectl get pods
-A -o json and -o yaml write them. A ratio is that memory divided by that of json.load of the JSON file, both without
what Python takes to start.""",
        lambda options, _rounds, directory: memory.measure(options.memory, directory),
        memory.table,
        takes=counts,
        metavar="N,...",
        pinned=True,
    ),
    Measurement(
        "apply",
        "cgroup-engine apply of N pods instead",
        """\
--apply N measures cgroup-engine apply of N pods, from looking at the root to the last value read back: the first time,
beside a bare loop of the mkdirs and of open, write and close that are needed; and a second time, which changes nothing,
beside the listing of the same directories and open, read and close of the same files. On the fake, v1 and v2, and as
root on this machine's own v1. A ratio is CPU time (with the daemon's) or system calls (with strace) divided by those of
the loop.""",
        lambda options, rounds, directory: applying.measure(options.apply, rounds, directory),
        applying.table,
        takes=positive,
        metavar="N",
        rounds=3,
        pinned=True,
    ),
    Measurement(
        "fleet",
        "cgroup-engine fleet of N nodes with 30 pods each instead",
        """\
--fleet N measures cgroup-engine fleet of N nodes with 30 pods each, compared with another kubelet, in one process and
in two: pods per second by the clock, and the peak memory of the process that reads. A ratio is that time divided by
the time of json.load of the same dump in the same round.""",
        lambda options, rounds, directory: clusters.measure(options.fleet, rounds, directory),
        clusters.table,
        takes=positive,
        metavar="N",
        rounds=1,
    ),
    Measurement(
        "start",
        "the start of commands instead",
        """\
--start measures the start of commands: cgroup-engine --help, a plan of three pods, and fakecgroup --help, beside Python
that imports PyYAML and argparse. A ratio is CPU time divided by that of the latter in the same round.""",
        lambda _options, rounds, directory: starting.measure(rounds, directory),
        starting.table,
        rounds=21,
        pinned=True,
    ),
    Measurement(
        "wakes",
        "N wakes by the end of a process instead",
        """\
--wakes N measures from the kill of a cgroup's last process until poll(2) on cgroup.events, or inotify(7), tells of it:
on the fake, and as root in this machine's own cgroup2. A ratio is the median time divided by the machine's.""",
        lambda options, _rounds, directory: waking.measure(options.wakes, directory),
        waking.table,
        takes=positive,
        metavar="N",
        pinned=True,
    ),
    Measurement(
        "run",
        "fakecgroup run and mount: their start, and a job under run, instead",
        """\
--run measures fakecgroup run: until `true` has run under it, beside a bare user and mount namespace and a kernel that
scripts/oracle boots; until fakecgroup mount has mounted a tree; and the time by the clock of a compile job under run,
without the start, beside the same job without it.""",
        lambda _options, rounds, directory: running.measure(rounds, directory),
        running.table,
        rounds=11,
    ),
    Measurement(
        "calls",
        "calls that fakecgroup run traps instead",
        """\
--calls measures calls that fakecgroup run traps: an open of a path that is not there, a fork, and a fork under a
pids.max: the µs that each takes more than bare, beside a seccomp supervisor in C that lets the call go and does nothing
else, and one that reads the path first. No supervisor can cost less.""",
        lambda _options, rounds, directory: calls.measure(rounds, directory),
        calls.table,
        rounds=7,
        pinned=True,
    ),
    Measurement(
        "idle",
        "the daemon with N sleeping processes instead",
        """\
--idle N measures what the daemon spends in ten seconds (or --seconds) in which nothing happens: with no process in its
cgroups, and with N that sleep. The ratio is its CPU time divided by that of a bare loop that reads their clocks once a
second.""",
        lambda options, _rounds, directory: idling.measure(options.idle, options.seconds or 10, directory),
        idling.table,
        takes=positive,
        metavar="N",
    ),
    Measurement(
        "enforce",
        "limits on N real processes instead",
        """\
--enforce N measures limits on N real processes: the CPU time of a daemon that enforces them, in ten seconds (or
--seconds) in which the processes sleep and in which they are busy, beside a daemon that enforces nothing; and a compile
job in a limited cgroup under fakecgroup run, beside the same job where nothing is enforced (not with --seconds).""",
        _enforce,
        enforcing.table,
        takes=positive,
        metavar="N",
        rounds=5,
    ),
    Measurement(
        "limits",
        "how exactly limits act on real processes instead",
        """\
--limits measures how exactly limits act under fakecgroup run: the CPU time of one and of four busy processes under
quotas, for ten seconds each (or --seconds), divided by what the quota allows; that of three groups that compete for one
CPU, divided by their shares; and how far so many processes as there are rounds get over memory.max, after how many ms
they are dead, and how many are within 16 MiB and 50 ms. Let nothing else run beside it.""",
        lambda options, rounds, _directory: limiting.measure(options.seconds or 10, 1 if options.seconds else rounds),
        limiting.table,
        rounds=20,
    ),
    Measurement(
        "procs",
        "cgroups with so many processes instead",
        """\
--procs N,... measures a cgroup with so many processes: a read of cgroup.procs, from open to close, beside one of
cgroup.stat (a ratio is how many of the first are done while one of the second is); and 5,000 forks (50 times --ops),
one after the other, in a cgroup and outside (a ratio is time inside divided by time outside). The same in a cgroup of
this machine.""",
        lambda options, rounds, directory: procs.measure(options.procs, rounds, options.ops, directory),
        procs.table,
        takes=counts,
        metavar="N,...",
        rounds=3,
    ),
    Measurement(
        "cgroups",
        "so many cgroups in one tree instead",
        """\
--cgroups N,... measures so many cgroups in one tree of depth 4: the daemon's memory (PSS), what it keeps of that when
all are removed, and the CPU time of client and daemon for mkdir, rmdir, stat, a read, and a read of the root's
cgroup.stat. A ratio is that time divided by the time in a tree of 1,000 cgroups in the same round. Then the memory of
up to 100,000 cgroups that have every controller, and the listing of one directory with as many: per entry, beside the
machine's own with 2,000.""",
        lambda options, rounds, directory: growing.measure(options.cgroups, rounds, directory),
        growing.table,
        takes=counts,
        metavar="N,...",
        rounds=11,
        pinned=True,
    ),
    Measurement(
        "simulate",
        "simulated processes on virtual time instead",
        """\
--simulate measures how fast virtual time passes for the simulated processes of 110 pods: seconds of virtual time in a
second of CPU time, for phases of 10 s to 40 s, for cycles of work and sleep of 200 ms, and for processes that sleep;
and the CPU time that a virtual second takes with 10, 100 and 1,000 cgroups.""",
        lambda _options, rounds, _directory: simulating.measure(rounds),
        simulating.table,
        rounds=5,
        pinned=True,
    ),
    Measurement(
        "trace",
        "N calls on a traced tree instead",
        """\
--trace N measures N calls on a tree that is traced to a file, the writing thread's work included, beside as many on one
that is not. A ratio is time divided by time in the same round.""",
        lambda options, rounds, directory: tracing.measure(options.trace, rounds, directory),
        tracing.table,
        takes=positive,
        metavar="N",
        rounds=5,
        pinned=True,
    ),
)
