"""`fakecgroup trace FILE`: what was recorded, for people and for programs."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from fakecgroup.trace.call import Call, line_of
from fakecgroup.trace.chosen import Wanted
from fakecgroup.trace.strace_line import strace_line
from fakecgroup.trace.summary import Summary, summary_json, summary_lines
from fakecgroup.trace.trace_file import TraceError, TraceReader
from fakecgroup_mount.errors import MountError
from fakecgroup_mount.hints import shown

_QUIET_NOTES = ("trace", "process", "reap")  # that people need not see


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `trace`."""
    parser.add_argument("file", metavar="FILE", help="a trace; - is standard input")
    parser.add_argument("--summary", action="store_true", help="leave the calls out")
    parser.add_argument(
        "-o",
        "--output",
        choices=("text", "json", "jsonl"),
        default="text",
        help="text: as strace shows calls, and a summary (default); json: one object with both; jsonl: a trace again",
    )
    group = parser.add_argument_group("which calls")
    group.add_argument("--path", action="append", default=[], metavar="GLOB", help="of files such as '*/memory.*'")
    group.add_argument("--pid", action="append", default=[], type=_pid, metavar="N", help="of this process or thread")
    group.add_argument("--comm", action="append", default=[], metavar="NAME", help="of processes of this name")
    group.add_argument("--op", action="append", default=[], metavar="OP,...", help="such as open,write")
    group.add_argument("--errors", action="store_true", help="that were refused")


def run(options: argparse.Namespace) -> int:
    """Returns 0, or 1 for a file that is no trace. Raises MountError for one that cannot be read."""
    wanted = Wanted(
        tuple(options.path),
        frozenset(options.pid),
        tuple(options.comm),
        frozenset(one for word in options.op for one in word.split(",")),
        options.errors,
    )
    try:
        with open_reader(options.file) as reader:
            _print(options, reader, wanted)
    except TraceError as error:
        print(f"fakecgroup trace: {error}", file=sys.stderr)
        return 1
    return 0


def _print(options: argparse.Namespace, reader: TraceReader, wanted: Wanted) -> None:
    summary = Summary(reader.head)
    kept: list[Call] = []
    if options.output == "jsonl":
        print(line_of(reader.head.as_call()), end="")
    for call in reader:
        if options.output == "jsonl":
            if call.is_note or wanted.has(call):
                print(line_of(call), end="")
            continue
        summary.feed(call, wanted=wanted.has(call))
        if options.summary or not wanted.has(call) or call.op in _QUIET_NOTES or call.more.get("assumed"):
            continue
        if options.output == "text":
            print(strace_line(call))
        else:
            kept.append(call)
    if reader.cut_off:
        print(f"fakecgroup trace: {reader.name}: its last line is cut off and left out", file=sys.stderr)
    if options.output == "json":
        found = {
            "version": 1,
            "trace": reader.head.as_call().result,
            "calls": [json.loads(line_of(one)) for one in kept],
        }
        print(json.dumps({**found, "summary": summary_json(summary)}, indent=2))
    elif options.output == "text":
        lines = summary_lines(summary)
        print("\n".join(lines if options.summary else ["", *lines]))


@contextmanager
def open_reader(name: str) -> Iterator[TraceReader]:
    """A trace's file; - is standard input. Raises MountError, TraceError."""
    file: IO[bytes]
    try:
        file = sys.stdin.buffer if name == "-" else open(name, "rb")  # noqa: SIM115 - closed below
    except OSError as error:
        raise MountError(f"{shown(name)}: {error.strerror}") from None
    try:
        yield TraceReader(file, "standard input" if name == "-" else shown(name))
    finally:
        if name != "-":
            file.close()


def _pid(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > 10:
        raise argparse.ArgumentTypeError(f"{text!r} is no process number")
    return int(text)
