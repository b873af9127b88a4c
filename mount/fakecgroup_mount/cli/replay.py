"""`fakecgroup replay FILE`: the calls of a trace on other kernels."""

from __future__ import annotations

import argparse
import sys

from fakecgroup.machine.learnt import LearntError, LearntKernel
from fakecgroup.machine.learnt_files import names_a_file, read_learnt
from fakecgroup.trace.matrix import matrix_json, matrix_lines
from fakecgroup.trace.replay import Replay, all_kernels
from fakecgroup.trace.trace_file import LAYOUTS, TraceError
from fakecgroup_mount.cli.trace import open_reader


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `replay`."""
    parser.add_argument("file", metavar="FILE", help="a trace; - is standard input")
    parser.add_argument(
        "--kernel",
        default="all",
        metavar="K,...|all",
        help=f"versions, and files of learnt kernels; all (default): {', '.join(all_kernels())}",
    )
    parser.add_argument(
        "--layout",
        type=_layouts,
        metavar="L,...",
        help=f"of {', '.join(LAYOUTS)} (default: the trace's). Calls of the other cgroup version are not applicable: "
        "no path is translated between v1 and v2",
    )
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table", help="default: table")


def run(options: argparse.Namespace) -> int:
    """Returns 0 if all kernels answer as recorded, else 1; 2 for a kernel that is unknown. Raises MountError."""
    try:
        with open_reader(options.file) as reader:
            layouts = options.layout or [reader.head.layout]
            try:
                replay = Replay(reader.head, layouts, _kernels(options.kernel))
            except (ValueError, LearntError) as error:
                print(f"fakecgroup replay: {error}", file=sys.stderr)
                return 2
            for call in reader:
                replay.feed(reader.number, call)
            replay.end()
    except TraceError as error:
        print(f"fakecgroup replay: {error}", file=sys.stderr)
        return 1
    if reader.cut_off:
        print(f"fakecgroup replay: {reader.name}: its last line is cut off and left out", file=sys.stderr)
    print(matrix_json(replay) if options.output == "json" else "\n".join(matrix_lines(replay)))
    return 1 if replay.differs() else 0


def _kernels(text: str) -> list[str | LearntKernel]:
    """Raises ValueError, LearntError."""
    if text == "all":
        return list(all_kernels())
    names = list(dict.fromkeys(filter(None, text.split(","))))
    if not names:
        raise ValueError("--kernel: no kernel is named")
    return [read_learnt(name) if names_a_file(name) else name for name in names]


def _layouts(text: str) -> list[str]:
    names = list(dict.fromkeys(filter(None, text.split(","))))
    for name in names:
        if name not in LAYOUTS:
            raise argparse.ArgumentTypeError(f"{name!r} is no layout: there are {', '.join(LAYOUTS)}")
    if not names:
        raise argparse.ArgumentTypeError("no layout is named")
    return names
