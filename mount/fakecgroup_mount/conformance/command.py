"""`fakecgroup conformance`: runs recorded or random cases on a target and prints what differs."""

from __future__ import annotations

import argparse
import signal

from fakecgroup.conformance import known_gaps
from fakecgroup.conformance.recording import PLAIN
from fakecgroup.conformance.report import print_tallies
from fakecgroup.conformance.tally import Tally, chosen, compare
from fakecgroup_mount.conformance.booted import compare_booted, say
from fakecgroup_mount.conformance.git_bisect import judged
from fakecgroup_mount.conformance.open_target import open_target
from fakecgroup_mount.conformance.oracle import oracle
from fakecgroup_mount.conformance.progress import Progress
from fakecgroup_mount.conformance.question import Question, question_of
from fakecgroup_mount.conformance.unknown_host import compare_unknown_host, is_unknown_host
from fakecgroup_mount.conformance.vm_options import check_vm_options, read_baseline, take_nearest_kernel
from fakecgroup_mount.errors import MountError


def run(options: argparse.Namespace) -> int:
    """Returns 0 if all answers are the same except known gaps, else 1. Raises MountError, but not with --baseline."""
    check_vm_options(options)
    return _run(options) if options.baseline is None else judged(lambda: _run(options))


def _run(options: argparse.Namespace) -> int:
    read_baseline(options)
    take_nearest_kernel(options, say)
    if is_unknown_host(options):
        return compare_unknown_host(options)
    asked = question_of(options)
    words = (f"-o{options.output}", f"--machine={asked.machine or PLAIN}")
    if options.fuzz is not None:
        if options.output not in ("table", "json") or asked.shard:
            raise MountError("--fuzz makes its own cases: take -o table or json, and leave --shard out")
        return oracle("fuzz", asked, f"--operations={options.fuzz}", f"--seed={options.seed}", *words)
    if asked.target == "vm":
        return compare_booted(options, asked)
    tallies = _compared(asked)
    learnt = asked.learnt
    print_tallies(tallies, asked.layout, asked.kernel, asked.target, options.output, options.show, learnt=learnt)
    gaps = known_gaps.of(asked.target, asked.layout, learnt)
    return 1 if any(d.case.name not in gaps for tally in tallies for d in tally.differences) else 0


def _compared(asked: Question) -> list[Tally]:
    """What became of the cases. A case that SIGTERM ends removes its cgroups first."""
    tallies = []
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        for recorded in asked.recordings():
            cases = chosen(recorded, asked.families, asked.shard)
            with open_target(asked.target, recorded, [one.case for one in cases], asked.learnt) as target:
                tallies += compare(target, recorded.machine, cases, Progress())
    finally:
        signal.signal(signal.SIGTERM, before)
    return tallies
