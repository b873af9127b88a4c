"""`fakecgroup trace FILE`: what was recorded, for people and for programs."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import IO, Any

from fakecgroup.trace.call import Call, line_of
from fakecgroup.trace.chosen import Wanted
from fakecgroup.trace.imported import Import
from fakecgroup.trace.redact import Redactor
from fakecgroup.trace.replay import all_kernels
from fakecgroup.trace.strace_line import strace_line
from fakecgroup.trace.strace_text import StraceReader
from fakecgroup.trace.summary import Summary, summary_json, summary_lines
from fakecgroup.trace.trace_file import LAYOUTS, MOST_LINE, Head, TraceError, TraceReader
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
        help="text: as strace shows calls, and a summary (default); json: one object with both; jsonl: a trace again "
        "(default with --redact)",
    )
    parser.add_argument(
        "--redact",
        action="store_true",
        help="replace names of cgroups and processes, and pids, equal ones by equal ones; kubepods, .slice and the "
        "shape of uids stay",
    )
    importing = parser.add_argument_group("what strace has printed on a real node")
    importing.add_argument(
        "--import",
        dest="imported",
        action="store_true",
        help="FILE is what `strace -f -Y -y -ttt -s 65536 -e trace=%%file,%%desc,clone,clone3,fork,vfork,umask` "
        "has printed; a trace is made of it (-o jsonl)",
    )
    importing.add_argument("--root", default="/sys/fs/cgroup", metavar="DIR", help="the tree (default: /sys/fs/cgroup)")
    importing.add_argument("--layout", choices=LAYOUTS, default="v2", help="the node's (default: v2)")
    importing.add_argument(
        "--kernel", choices=all_kernels(), help="the node's, if it is one of these (default: unknown)"
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
    output = options.output or ("jsonl" if options.redact or options.imported else "text")
    printed = _print_jsonl if output == "jsonl" else _print_json if output == "json" else _print_text
    try:
        if options.imported:
            head, made = _imported(options)
            if options.redact:
                redactor = Redactor(os.urandom(16))
                redactor.learn(made)
                made = list(redactor.redact(made))
            printed(head, made, wanted, options.summary)
            return 0
        with open_reader(options.file, twice=options.redact) as reader:
            calls: Iterable[Call] = reader
            if options.redact:
                redactor = Redactor(os.urandom(16))
                redactor.learn(reader)
                reader.rewind()
                calls = redactor.redact(reader)
            printed(reader.head, calls, wanted, options.summary)
            if reader.cut_off:
                print(f"fakecgroup trace: {reader.name}: its last line is cut off and left out", file=sys.stderr)
    except TraceError as error:
        print(f"fakecgroup trace: {error}", file=sys.stderr)
        return 1
    return 0


def _imported(options: argparse.Namespace) -> tuple[Head, list[Call]]:
    """The calls in what strace has printed. Raises MountError, TraceError."""
    name = called(options.file)
    with open_input(options.file) as file:
        lines = StraceReader(iter(partial(file.readline, MOST_LINE), b""))
        try:
            calls = list(Import(lines, options.layout, options.root))
        except OSError as error:
            raise TraceError(f"{name}: {error.strerror}") from None
    if lines.not_read:
        print(f"fakecgroup trace: {name}: {lines.not_read:,} lines are no calls as strace shows them", file=sys.stderr)
    if all(call.is_note for call in calls):
        raise TraceError(f"{name}: no call is about {shown(options.root)} (--root), or strace had neither -y nor -ttt")
    return Head(options.layout, options.kernel, {}, "strace"), calls


def _print_jsonl(head: Head, calls: Iterable[Call], wanted: Wanted, short: bool) -> None:
    print(line_of(head.as_call()), end="")
    for call in calls:
        if call.is_note or wanted.has(call):
            print(line_of(call), end="")


def _print_text(head: Head, calls: Iterable[Call], wanted: Wanted, short: bool) -> None:
    summary = Summary(head)
    for call in calls:
        shows = wanted.has(call)
        summary.feed(call, wanted=shows)
        if shows and not short and _is_shown(call):
            print(strace_line(call))
    lines = summary_lines(summary)
    print("\n".join(lines if short else ["", *lines]))


def _print_json(head: Head, calls: Iterable[Call], wanted: Wanted, short: bool) -> None:
    summary = Summary(head)
    kept: list[Any] = []
    for call in calls:
        shows = wanted.has(call)
        summary.feed(call, wanted=shows)
        if shows and not short and _is_shown(call):
            kept.append(json.loads(line_of(call)))
    found = {"version": 1, "trace": head.as_call().result, "calls": kept, "summary": summary_json(summary)}
    print(json.dumps(found, indent=2))


def _is_shown(call: Call) -> bool:
    return call.op not in _QUIET_NOTES and not call.more.get("assumed")


@contextmanager
def open_reader(name: str, *, twice: bool = False) -> Iterator[TraceReader]:
    """A trace's file; - is standard input. `twice`: it will be read again. Raises MountError, TraceError."""
    with open_input(name) as file:
        if twice and not file.seekable():
            with TemporaryFile() as copy:
                copyfileobj(file, copy)
                copy.seek(0)
                yield TraceReader(copy, called(name))
        else:
            yield TraceReader(file, called(name))


@contextmanager
def open_input(name: str) -> Iterator[IO[bytes]]:
    """A file; - is standard input. Raises MountError."""
    file: IO[bytes]
    try:
        file = sys.stdin.buffer if name == "-" else open(name, "rb")  # noqa: SIM115 - closed below
    except OSError as error:
        raise MountError(f"{shown(name)}: {error.strerror}") from None
    try:
        yield file
    finally:
        if name != "-":
            file.close()


def called(name: str) -> str:
    """What a file is called in messages."""
    return "standard input" if name == "-" else shown(name)


def _pid(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > 10:
        raise argparse.ArgumentTypeError(f"{text!r} is no process number")
    return int(text)
