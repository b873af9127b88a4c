"""The program and its commands.

Exit codes: 0 done, 1 it failed (one line per failure on stderr), 2 the command line is wrong.
"""

from __future__ import annotations

import argparse
import atexit
import gc
import io
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from errno import EDQUOT, EFBIG, EIO, ENOSPC
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from cgroup_engine.cli.messages import PROGRAM, complain
from cgroup_engine.errors import EngineError, RootError
from cgroup_engine.gc_pause import gc_paused

if TYPE_CHECKING:  # --help opens no root
    from cgroup_engine.tree.fs import CgroupFs

_FULL = (ENOSPC, EDQUOT, EFBIG, EIO)  # what write(2) says of a file that takes no more
_EPILOG = """\
Paths in the output are relative to the root; on cgroup v1 they start with the hierarchy (cpu,cpuacct, memory, ...).
Exit codes: 0 done, 1 it failed, 2 the command line is wrong.
"""


class _Command(Protocol):
    """A module of one command."""

    EPILOG: str

    def add_options(self, command: argparse.ArgumentParser) -> None: ...

    def run_command(self, options: argparse.Namespace) -> int: ...


_COMMANDS = {
    "plan": "what would be written, in order, and why; changes nothing",
    "apply": "carry out the plan and read every write back",
    "run": "keep the hierarchy: follow the pods and repair drift, until a signal ends it",
    "status": "wanted against found, drift marked",
    "explain": "QoS class, every value with its rule, and CPU under load",
    "fleet": "a whole cluster: what is wrong on which node, and what a change would do where",
    "simulate": "the pods over hours of virtual time: who is throttled, killed, evicted",
    "exec": "run a command in a container's cgroup",
    "attach": "move running processes into a container's cgroup",
    "down": "remove the hierarchy, and nothing else",
}


def _module(command: str) -> _Command:
    """Imports the module of one command; others may need libraries that this machine lacks."""
    return cast(_Command, import_module(f"cgroup_engine.cli.{command}"))


def main(arguments: Sequence[str] | None = None, *, open_root: Callable[[str], CgroupFs] | None = None) -> int:
    """Runs one command; returns the exit code. ``open_root``: path -> the files at --root (default: the system's)."""
    atexit.register(gc.freeze)  # at its end Python need not search all modules for cycles
    try:
        with gc_paused():
            status = _run(arguments, open_root or _open_root)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        _drop_output()
        return 1
    except OSError as error:
        if error.filename is not None or error.errno not in _FULL:
            raise
        _drop_output()
        complain(f"standard output: {error.strerror}")
        return 1
    except KeyboardInterrupt:
        return 130


def _drop_output() -> None:
    """What is still to be written goes nowhere: the interpreter flushes once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(arguments: Sequence[str] | None, open_root: Callable[[str], CgroupFs]) -> int:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # for µ and × in locales without them
    arguments = sys.argv[1:] if arguments is None else arguments
    command_line = parser([word for word in arguments if word in _COMMANDS][:1])
    try:
        options = command_line.parse_args(arguments)
        options.open_root = open_root
        return _module(options.command).run_command(options)
    except SystemExit as done:  # argparse has printed the error
        return done.code if isinstance(done.code, int) else 2
    except EngineError as error:
        complain(str(error))
        return 1


def _open_root(path: str) -> CgroupFs:
    if not os.path.isdir(path):
        raise RootError(f"{path}: is no directory", path=path, todo="give a cgroup tree's mount point")
    from cgroup_engine.tree.fs import OsFs

    return OsFs(path)


class _Version(argparse.Action):
    """Prints the version of the installed package, which takes a while to look up."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        print(f"{PROGRAM} {version('fakecgroup')}")
        parser.exit()


def parser(commands: Iterable[str] = tuple(_COMMANDS)) -> argparse.ArgumentParser:
    """The command line; ``commands``: those with their options, all others only have names."""
    program = argparse.ArgumentParser(
        prog=PROGRAM,
        description="The kubelet's cgroup hierarchy, computed from pods and node configuration, planned, applied and "
        "read back.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    program.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    parsers = program.add_subparsers(dest="command", required=True, metavar="COMMAND", prog=PROGRAM)
    for name, summary in _COMMANDS.items():
        command = parsers.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if name in commands:
            module = _module(name)
            command.epilog = module.EPILOG
            module.add_options(command)
    return program
