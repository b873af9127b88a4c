"""The command ``scripts/oracle``."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from mount.conformance import recording
from mount.conformance.case import CaseError, load_cases
from mount.conformance.fuzz import random_case
from mount.conformance.recording import RecordedCase
from mount.conformance.replay import replay
from mount.conformance.target_model import ModelTarget

from . import kernels, machine
from .kernels import SUITES, OracleError
from .record import normalised, record

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
    except (OracleError, CaseError, recording.RecordingError) as error:
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
    ask.add_argument("--layout", choices=["v2", "v1"], default=None, help="default: what the case says, else v2")
    ask.add_argument("--raw", action="store_true", help="show counters and times too, instead of #")
    ask.add_argument("file", metavar="FILE|-")
    ask.set_defaults(run=_ask)
    rec = commands.add_parser("record", help="ask all cases and write mount/conformance/recordings")
    rec.add_argument("--kernel", choices=list(SUITES), action="append", help="default: all")
    rec.add_argument("--layout", choices=["v2", "v1"], action="append", help="default: both")
    rec.add_argument("--changed", action="store_true", help="ask only cases that are new or have changed")
    rec.set_defaults(run=_record)
    fuzz = commands.add_parser("fuzz", help="ask random cases and compare the model's answers")
    fuzz.add_argument("--kernel", choices=list(SUITES), default="6.12")
    fuzz.add_argument("--layout", choices=["v2", "v1"], default="v2")
    fuzz.add_argument("--seed", type=int, default=0, help="of the first case; the next one has the next number")
    fuzz.add_argument("--cases", type=int, default=100)
    fuzz.set_defaults(run=_fuzz)
    show = commands.add_parser("show", help="print recorded cases: each operation with its answer")
    show.add_argument("--kernel", choices=list(SUITES), default="6.12")
    show.add_argument("--layout", choices=["v2", "v1"], default="v2")
    show.add_argument("text", nargs="*", help="only cases whose family or name has one of these texts in it")
    show.set_defaults(run=_show)
    return parser


def _fetch(options: argparse.Namespace) -> int:
    kernels.check_programs()
    for series in options.kernels or SUITES:
        if series not in SUITES:
            raise OracleError(f"no kernel {series!r}; there are {', '.join(SUITES)}")
        kernel = kernels.fetch(series)
        print(f"{series}\t{kernel.package}\t{kernel.version}\t{kernel.vmlinuz}", flush=True)
    machine.guest()
    return 0


def _ask(options: argparse.Namespace) -> int:
    text = sys.stdin.read() if options.file == "-" else Path(options.file).read_text()
    cases = load_cases(text, options.layout)
    kernel = kernels.load(options.kernel)
    for layout in ("v2", "v1"):
        part = [case for case in cases if case.layout == layout]
        if not part:
            continue
        for answered in machine.ask(kernel, layout, part, _report):
            if len(cases) > 1:
                print(f"# {answered.case.name}")
            for op, answer in zip(answered.case.ops, normalised(answered, options.raw), strict=False):
                print(json.dumps(list(op)), " ", json.dumps(list(answer)), flush=True)
            if answered.verdict != "ok":
                print(f"# {answered.verdict}")
    return 0


def _record(options: argparse.Namespace) -> int:
    for series in options.kernel or SUITES:
        kernel = kernels.load(series)
        for layout in options.layout or ("v2", "v1"):
            path = record(kernel, layout, options.changed, _report)
            print(f"{path.name}\t{path.stat().st_size} bytes", flush=True)
    return 0


def _fuzz(options: argparse.Namespace) -> int:
    cases = [random_case(options.seed + number, options.layout) for number in range(options.cases)]
    target = ModelTarget(options.layout, options.kernel)
    compared = differing = 0
    for answered in machine.ask(kernels.load(options.kernel), options.layout, cases, _report):
        recorded = RecordedCase("random", answered.case, tuple(normalised(answered)), answered.verdict)
        result = replay(recorded, target)
        compared += result.compared
        differing += bool(result.differences)
        for difference in result.differences[:1]:  # what follows the first may follow from it
            print(difference)
    print(f"{len(cases)} cases, {compared} answers compared, {differing} cases differ")
    return 1 if differing else 0


def _show(options: argparse.Namespace) -> int:
    for one in recording.load(options.layout, options.kernel).cases:
        if options.text and not any(text in f"{one.family}: {one.case.name}" for text in options.text):
            continue
        print(f"# {one.family}: {one.case.name}")
        for op, answer in zip(one.case.ops, one.answers, strict=False):
            print(json.dumps(list(op)), " ", json.dumps(list(answer)))
        if one.verdict != "ok":
            print(f"# {one.verdict}")
    return 0


def _report(text: str) -> None:
    print(f"oracle: {text}", file=sys.stderr, flush=True)
