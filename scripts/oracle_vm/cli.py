"""The command ``scripts/oracle``."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from fakecgroup import personalities
from fakecgroup.conformance import recording
from fakecgroup.conformance.case import LAYOUTS, CaseError, load_cases
from fakecgroup.conformance.cases import all_cases
from fakecgroup.conformance.fuzz import subjects
from fakecgroup.conformance.report import OUTPUTS, print_tallies
from fakecgroup.conformance.tally import chosen
from fakecgroup_mount.conformance.target_vm import verify
from fakecgroup_mount.errors import MountError
from fakecgroup_mount.vm.asking import ask
from fakecgroup_mount.vm.errors import MachineError
from fakecgroup_mount.vm.guest_build import guest
from fakecgroup_mount.vm.kernels import Kernel
from vm import kernels, programs
from vm.kernels import SUITES

from .fuzz import FuzzOutcome, fuzz
from .hunt.finding import FindingError
from .nightly import nightly, turns
from .record import record
from .record_host import record_host

_ASK_HELP = """\
Operations are JSON, one per line or as a list, or whole cases; FILE - is standard input:

  echo '["mkdir", "a"]
  ["write", "cgroup.subtree_control", "+cpu"]
  ["write", "a/cpu.max", "500"]
  ["read", "a/cpu.max"]' | scripts/oracle ask --kernel 6.12 --layout v2 -
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code: 0 done, 1 it failed (one line on stderr), 2 the command line is wrong."""
    options = _parser().parse_args(argv)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that no virtual machine is left behind
    try:
        return int(options.run(options))
    except (MachineError, MountError, CaseError, FindingError, recording.RecordingError) as error:
        print(f"oracle: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader has gone; nothing more to say
        return 1
    except OSError as error:
        print(f"oracle: {error.strerror}: {error.filename}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="oracle", description="Ask real kernels how their cgroup files answer.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    fetch = commands.add_parser("fetch", help="download and unpack Debian's kernels")
    fetch.add_argument("kernels", nargs="*", metavar="KERNEL", help="|".join(SUITES) + " (default: all)")
    fetch.set_defaults(run=_fetch)
    ask = commands.add_parser(
        "ask",
        help="run a case file and print each operation with its answer",
        epilog=_ASK_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    ask.add_argument("--kernel", choices=list(SUITES), default="6.12")
    ask.add_argument("--layout", choices=LAYOUTS, default=None, help="default: what the case says, else v2")
    _add_machine(ask)
    ask.add_argument("--raw", action="store_true", help="show counters and times too, instead of #")
    ask.add_argument("file", metavar="FILE|-")
    ask.set_defaults(run=_ask)
    rec = commands.add_parser("record", help="ask all cases and write fakecgroup/conformance/recordings")
    rec.add_argument("--kernel", choices=list(SUITES), action="append", help="default: all")
    rec.add_argument("--layout", choices=LAYOUTS, action="append", help="default: all")
    rec.add_argument("--machine", choices=recording.MACHINES, action="append", help="default: all")
    rec.add_argument("--changed", action="store_true", help="ask only cases that are new or have changed")
    rec.set_defaults(run=_record)
    host = commands.add_parser("record-host", help="ask this machine's own v1 hierarchies, as root, and write that")
    host.set_defaults(run=_record_host)
    random = commands.add_parser("fuzz", help="ask random operations and compare the model's answers")
    random.add_argument("--kernel", choices=list(SUITES), default="6.12")
    random.add_argument("--layout", choices=LAYOUTS, default="v2")
    _add_machine(random)
    random.add_argument("--operations", type=int, default=20000, metavar="N", help="about so many (default: 20000)")
    random.add_argument("--seed", type=int, default=1, metavar="S", help="another seed gives other cases (default: 1)")
    random.add_argument(
        "--about",
        metavar="SUBJECT",
        default="",
        help="all cases are about partitions, cpus, threads, capabilities or notifications",
    )
    random.add_argument("-o", dest="output", choices=("table", "json"), default="table", help="default: table")
    random.set_defaults(run=_fuzz)
    night = commands.add_parser(
        "nightly",
        help="random operations for a given time, on all kernels and layouts in turn",
        description="Prints a case file: each difference in its shortest form, which `oracle ask` takes, and comments.",
    )
    night.add_argument("--minutes", type=float, required=True, metavar="N", help="a turn that has begun is finished")
    night.add_argument("--kernel", choices=list(SUITES), action="append", help="default: all")
    night.add_argument("--layout", choices=LAYOUTS, action="append", help="default: all")
    night.add_argument("--about", metavar="SUBJECT", help="only cases about this; default: anything, and each subject")
    night.set_defaults(run=_nightly)
    planned = commands.add_parser("plans", help="the engine's plans between random trees: is a step refused?")
    planned.add_argument("--kernel", choices=list(SUITES), default="6.12")
    planned.add_argument("--layout", choices=("v1", "v2"), default="v2")
    planned.add_argument("--trees", type=int, default=300, metavar="N", help="at least so many (default: 300)")
    planned.add_argument("--seed", type=int, default=1, metavar="S", help="another seed gives other trees (default: 1)")
    planned.add_argument("-o", dest="output", choices=("table", "json"), default="table", help="default: table")
    planned.set_defaults(run=_plans)
    again = commands.add_parser("verify", help="ask recorded cases again and compare with the recording")
    again.add_argument("--kernel", choices=list(SUITES), default="6.12")
    again.add_argument("--layout", choices=LAYOUTS, default="v2")
    _add_machine(again)
    again.add_argument("--family", action="append", default=[], metavar="NAME", help="only this one; default: all")
    again.add_argument("-o", dest="output", choices=OUTPUTS, default="table", help="default: table")
    again.add_argument("--show", type=int, default=10, metavar="N", help="print the first N differences (default: 10)")
    again.set_defaults(run=_verify)
    effects = commands.add_parser(
        "effects",
        help="play scenarios with real processes and record what limits did to them",
        description="Writes tests/fakecgroup/effects/recorded, of which scripts/effects makes the page. The name "
        "averages stands for pressure-KERNEL.jsonl beside it: the averages of pressure and their totals.",
    )
    effects.add_argument("--kernel", choices=list(SUITES), action="append", help="default: all")
    effects.add_argument("--cpus", type=int, help="only scenarios for a machine of so many; default: all")
    effects.add_argument("names", nargs="*", metavar="NAME", help="only scenarios whose name begins so; default: all")
    effects.set_defaults(run=_effects)
    hunt = commands.add_parser(
        "hunt",
        help="ask the kernels the cases of findings in programs and keep their answers",
        description="Writes answers.jsonl beside each finding; scripts/hunt makes the page from them.",
    )
    hunt.add_argument("names", nargs="*", metavar="NAME", help="only findings whose name begins so; default: all")
    hunt.set_defaults(run=_hunt)
    enforced = commands.add_parser(
        "enforced",
        help="play recorded scenarios with real processes of this machine, and compare with the kernel",
        description="Each number beside the mean of the kernel's runs. It takes a machine with nothing else to do.",
    )
    enforced.add_argument("--kernel", choices=list(SUITES), default="6.12")
    enforced.add_argument("--enforce", default="cpu", metavar="LIST", help="as of fakecgroup run (default: cpu)")
    enforced.add_argument("names", nargs="+", metavar="NAME", help="scenarios whose name begins so")
    enforced.set_defaults(run=_enforced)
    show = commands.add_parser("show", help="print recorded cases: each operation with its answer")
    show.add_argument("--kernel", choices=list(SUITES), default="6.12")
    show.add_argument("--layout", choices=LAYOUTS, default="v2")
    _add_machine(show)
    show.add_argument("text", nargs="*", help="only cases whose family or name has one of these texts in it")
    show.set_defaults(run=_show)
    return parser


def _add_machine(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--machine", choices=recording.MACHINES, default=recording.PLAIN, help="swap: with a swap device of 64 MiB"
    )


def _fetch(options: argparse.Namespace) -> int:
    programs.provide("oracle", compiler=True)
    for series in options.kernels or SUITES:
        if series not in SUITES:
            raise MachineError(f"no kernel {series!r}; there are {', '.join(SUITES)}")
        kernel = kernels.fetch(series)
        print(f"{series}\t{kernel.package}\t{kernel.version}\t{kernel.vmlinuz}", flush=True)
    guest("amd64")
    return 0


def _ask(options: argparse.Namespace) -> int:
    text = sys.stdin.read() if options.file == "-" else Path(options.file).read_text()
    cases = load_cases(text, options.layout)
    kernel = _kernel(options.kernel)
    for layout in LAYOUTS:
        part = [case for case in cases if case.layout == layout]
        if not part:
            continue
        for answered in ask(kernel.image, layout, part, _report, options.machine):
            if len(cases) > 1:
                print(f"# {answered.case.name}")
            for op, answer in zip(answered.case.ops, answered.answers(options.raw), strict=False):
                print(json.dumps(list(op)), " ", json.dumps(list(answer)), flush=True)
            if answered.verdict != "ok":
                print(f"# {answered.verdict}")
    return 0


def _record(options: argparse.Namespace) -> int:
    for series in options.kernel or SUITES:
        kernel = _kernel(series)
        for one in options.machine or recording.MACHINES:
            for layout in options.layout or LAYOUTS:
                if any(all_cases(layout, one).values()):
                    path = record(kernel, layout, one, options.changed, _report)
                    print(f"{path.name}\t{path.stat().st_size} bytes", flush=True)
    return 0


def _record_host(options: argparse.Namespace) -> int:
    path = record_host(_report)
    print(f"{path.name}\t{path.stat().st_size} bytes")
    return 0


def _fuzz(options: argparse.Namespace) -> int:
    if options.operations < 1:
        raise MachineError(f"--operations {options.operations}: random operations are counted from 1")
    _check_subject(options.about, [(options.layout, options.kernel)])
    kernel = _kernel(options.kernel)
    outcome = fuzz(kernel, options.layout, options.operations, options.seed, _progress, options.machine, options.about)
    print_tallies([outcome.tally], options.layout, options.kernel, "model", options.output, 0, _shortest(outcome))
    if options.output == "table":
        _print_cases(outcome)
    return 1 if outcome.shortest else 0


def _nightly(options: argparse.Namespace) -> int:
    if not options.minutes > 0:
        raise MachineError(f"--minutes {options.minutes:g}: the time is more than 0 minutes")
    pairs = [
        (layout, version)
        for layout, version in personalities()
        if version in (options.kernel or SUITES) and layout in (options.layout or LAYOUTS)
    ]
    if not pairs:
        raise MachineError("no such kernel has such a layout")
    _check_subject(options.about, pairs)
    loaded = {version: _kernel(version) for _, version in pairs}
    every = turns([(layout, loaded[version]) for layout, version in pairs])
    if options.about:
        every = [turn for turn in every if turn.about == options.about]
    night = nightly(every, options.minutes, lambda line: print(line, flush=True), _progress)
    print(f"# {night.turns} turns, {night.operations} operations, {night.differing} cases differ")
    return 1 if night.differing else 0


def _check_subject(about: str | None, pairs: Sequence[tuple[str, str]]) -> None:
    """Raises MachineError where no kernel of these has cases about this."""
    known = dict.fromkeys(name for layout, version in pairs for name in subjects(layout, version))
    if about and about not in known:
        raise MachineError(f"--about {about}: there is {', '.join(known) or 'nothing of the kind'}")


def _plans(options: argparse.Namespace) -> int:
    if options.trees < 1:
        raise MachineError(f"--trees {options.trees}: random trees are counted from 1")
    from .plans import plans  # the engine is slow to import

    kernel = _kernel(options.kernel)
    outcome = plans(kernel, options.layout, options.trees, options.seed, _progress)
    if options.output == "json":
        about = {"layout": options.layout, "kernel": options.kernel, "seed": options.seed}
        print(json.dumps(about | asdict(outcome), indent=2))
        return 0 if outcome.ok else 1
    heads = ("LAYOUT", "KERNEL", "TREES", "STEPS", "REFUSED", "IN THE WAY", "VALUES", "DIFFERING")
    refused, differing = len(outcome.refused), len(outcome.differing)
    counts = (outcome.trees, outcome.steps, refused, outcome.obstacles, outcome.values, differing)
    row = (options.layout, options.kernel, *map(str, counts))
    widths = [max(map(len, cells)) for cells in zip(heads, row, strict=True)]
    for cells in (heads, row):
        print("  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip())
    for line in (*outcome.refused, *outcome.differing, *outcome.others):
        print(line)
    if outcome.stopped:
        print(f"stopped the machine: {', '.join(outcome.stopped)}")
    return 0 if outcome.ok else 1


def _print_cases(outcome: FuzzOutcome) -> None:
    for result in outcome.shortest:
        print(f"\n{result.differences[0]}\n{json.dumps(result.case.as_json())}")
    if outcome.unsteady:
        print(f"\nanswered otherwise when asked again, not counted: {', '.join(outcome.unsteady)}")
    if outcome.stopped:
        print(f"\nstopped the machine, compared so far: {', '.join(outcome.stopped)}")


def _shortest(outcome: FuzzOutcome) -> dict[str, object]:
    cases = [result.case.as_json() for result in outcome.shortest]
    return {"shortest": cases, "unsteady": outcome.unsteady, "stopped": outcome.stopped}


def _verify(options: argparse.Namespace) -> int:
    recorded = recording.load(options.layout, options.kernel, options.machine)
    unknown = set(options.family) - set(recorded.families)
    if unknown:
        raise MachineError(f"no family {', '.join(sorted(unknown))}; there is {', '.join(recorded.families)}")
    tallies = verify(_kernel(options.kernel).image, recorded, chosen(recorded, options.family), _progress).tallies
    print_tallies(tallies, options.layout, options.kernel, "vm", options.output, options.show)
    return 1 if any(tally.differences for tally in tallies) else 0


def _effects(options: argparse.Namespace) -> int:
    from .effects import averages
    from .effects.catalogue import catalogue  # random trees are made by playing them
    from .effects.record import record

    begins = tuple(options.names) or ("",)
    entries = [one for one in catalogue() if one.name.startswith(begins)]
    with_averages = averages.ENTRY.name.startswith(begins)
    if not entries and not with_averages:
        raise MachineError(f"no scenario's name begins with {' or '.join(options.names)}")
    entries = [one for one in entries if options.cpus in (None, one.cpus)]
    with_averages = with_averages and options.cpus in (None, averages.ENTRY.cpus)
    if not entries and not with_averages:
        raise MachineError(f"--cpus {options.cpus}: no such scenario is for so many")
    everything = not options.names and options.cpus is None
    for series in options.kernel or SUITES:
        kernel = _kernel(series)
        paths = [record(kernel, entries, everything=everything, report=_report)] if entries else []
        paths += [averages.record(kernel, _report)] if with_averages else []
        for path in paths:
            print(f"{path.name}\t{path.stat().st_size} bytes", flush=True)
    return 0


def _hunt(options: argparse.Namespace) -> int:
    from .hunt.finding import findings
    from .hunt.record import record

    chosen = [one for one in findings() if not options.names or one.name.startswith(tuple(options.names))]
    if not chosen:
        raise MachineError(f"no finding's name begins with {' or '.join(options.names)}")
    for path in record(chosen, _kernel, _report):
        print(f"{path.parent.name}\t{path.stat().st_size} bytes", flush=True)
    return 0


def _enforced(options: argparse.Namespace) -> int:
    from .effects.enforced import enforced
    from .effects.recording import load

    recorded = [one for one in load(options.kernel) if one.entry.name.startswith(tuple(options.names))]
    if not recorded:
        raise MachineError(f"{options.kernel} has no scenario whose name begins with {' or '.join(options.names)}")
    print(f"{'SCENARIO':<14} {'NUMBER':<34} {'AT':>5} {options.kernel:>14} {'HERE':>14} {'ERROR':>8}")
    for scenario in recorded:
        try:
            for one in enforced(scenario, options.kernel, options.enforce):
                print(
                    f"{one.name:<14} {one.what:<34} {one.seconds:>3.0f} s {one.kernel:>14,.0f} {one.here:>14,.0f} "
                    f"{one.error:>8.1%}",
                    flush=True,
                )
        except MachineError as error:
            _report(str(error))
    return 0


def _show(options: argparse.Namespace) -> int:
    for one in recording.load(options.layout, options.kernel, options.machine).cases:
        if options.text and not any(text in f"{one.family}: {one.case.name}" for text in options.text):
            continue
        print(f"# {one.family}: {one.case.name}")
        for op, answer in zip(one.case.ops, one.answers, strict=False):
            print(json.dumps(list(op)), " ", json.dumps(list(answer)))
        if one.verdict != "ok":
            print(f"# {one.verdict}")
    return 0


def _kernel(series: str) -> Kernel:
    """The kernel, and all that it takes to boot it; what is missing is fetched. Raises MachineError."""
    programs.provide("oracle", compiler=True)
    return kernels.needed(series, _report)


def _report(text: str) -> None:
    print(f"oracle: {text}", file=sys.stderr, flush=True)


def _progress(text: str) -> None:
    """What is only worth knowing while one waits: on a terminal."""
    if sys.stderr.isatty():
        _report(text)
