"""--trace and --trace-limit of the command line: where calls are recorded, and how many."""

from __future__ import annotations

import argparse
import os

from fakecgroup.machine.size import parse_size
from fakecgroup.named_tuple import NamedTuple
from fakecgroup_mount.errors import MountError
from fakecgroup_mount.hints import shown

DEFAULT_LIMIT = "256Mi"
_LEAST = 4096  # bytes: a head, some calls and an end


class TraceFile(NamedTuple):
    """An open file for a trace, its name in messages, and how many bytes it may get."""

    fd: int
    name: str
    limit: int


def add_trace_options(parser: argparse.ArgumentParser) -> None:
    """Adds --trace and --trace-limit."""
    group = parser.add_argument_group("what programs do")
    group.add_argument(
        "--trace",
        metavar="FILE",
        help="record each call on the tree, one line of JSON each; see fakecgroup trace and fakecgroup replay",
    )
    add_limit_option(group)


def add_limit_option(parser: argparse._ActionsContainer) -> None:
    """Adds --trace-limit."""
    parser.add_argument(
        "--trace-limit",
        type=_limit,
        default=DEFAULT_LIMIT,
        metavar="SIZE",
        help=f"the longest trace (default: {DEFAULT_LIMIT}); where it is reached the trace ends, and the tree goes on",
    )


def open_trace(options: argparse.Namespace) -> TraceFile | None:
    """Opens the file of --trace, with the rights of whoever asks; None without. Raises MountError."""
    return None if options.trace is None else open_file(options.trace, options.trace_limit)


def open_file(name: str, limit: int, called: str = "--trace ") -> TraceFile:
    """Makes the file, or empties the one that is there. Raises MountError, whose text has what it is `called`."""
    try:
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOCTTY, 0o666)
    except OSError as error:
        raise MountError(f"{called}{shown(name)}: {error.strerror}") from None
    return TraceFile(fd, shown(os.path.abspath(name)), limit)


def parse_limit(text: str) -> int:
    """The bytes of a limit such as 256Mi. Raises ValueError."""
    size = parse_size(text)
    if size < _LEAST:
        raise ValueError(f"{text}: a trace has at least {_LEAST} bytes")
    return size


def _limit(text: str) -> int:
    try:
        return parse_limit(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
