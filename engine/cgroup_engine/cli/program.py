"""The program: its commands, and what holds for all of them.

Exit codes: 0 done, 1 it failed (one line per failure on stderr), 2 the command line is wrong.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence
from typing import Protocol

from cgroup_engine.cli import apply, attach, down, exec, explain, plan, run, status
from cgroup_engine.cli.messages import PROGRAM, complain
from cgroup_engine.errors import EngineError, RootError
from cgroup_engine.gc_pause import gc_paused
from cgroup_engine.tree.fs import CgroupFs, OsFs

_EPILOG = """\
Paths in the output are relative to the root; on cgroup v1 they start with the hierarchy (cpu,cpuacct, memory, ...).
Exit codes: 0 done, 1 it failed, 2 the command line is wrong.
"""


class _Command(Protocol):
    """A module of one command."""

    SUMMARY: str
    EPILOG: str

    def add_options(self, command: argparse.ArgumentParser) -> None: ...

    def run(self, options: argparse.Namespace) -> int: ...


_COMMANDS: dict[str, _Command] = {
    "plan": plan,
    "apply": apply,
    "run": run,
    "status": status,
    "explain": explain,
    "exec": exec,
    "attach": attach,
    "down": down,
}


def main(arguments: Sequence[str] | None = None, *, open_root: Callable[[str], CgroupFs] | None = None) -> int:
    """Runs one command; returns the exit code. `open_root` gives the files behind --root (default: the system's)."""
    try:
        return _run(arguments, open_root or _open_root)
    except BrokenPipeError:
        # the reader is gone; keep the interpreter from complaining when it flushes
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130


def _run(arguments: Sequence[str] | None, open_root: Callable[[str], CgroupFs]) -> int:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # for µ and × in locales without them
    command_line = parser()
    try:
        options = command_line.parse_args(arguments)
        options.open_root = open_root
        with gc_paused():
            return _COMMANDS[options.command].run(options)
    except SystemExit as done:  # argparse has said what is wrong
        return done.code if isinstance(done.code, int) else 2
    except EngineError as error:
        complain(str(error))
        return 1


def _open_root(path: str) -> CgroupFs:
    if not os.path.isdir(path):
        raise RootError(f"{path}: is no directory", path=path, todo="give a cgroup tree's mount point")
    return OsFs(path)


def parser() -> argparse.ArgumentParser:
    """The command line, all commands with their options."""
    program = argparse.ArgumentParser(
        prog=PROGRAM,
        description="The kubelet's cgroup hierarchy, computed from pods and node configuration, planned, applied and "
        "read back.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = program.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, module in _COMMANDS.items():
        command = commands.add_parser(
            name,
            help=module.SUMMARY,
            description=module.SUMMARY[0].upper() + module.SUMMARY[1:] + ".",
            epilog=module.EPILOG,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_options(command)
    return program
