"""``cgroup-engine exec``: a command inside a container's cgroup, from its first instruction on."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from errno import ENOENT

from cgroup_engine.change.migration import migrate
from cgroup_engine.change.oom_score import set_oom_score_adj
from cgroup_engine.cli.messages import complain, warn_of
from cgroup_engine.cli.target_container import add_container, target_of

EPILOG = (
    "This process itself enters the cgroup, in every hierarchy, takes the container's oom_score_adj, and becomes\n"
    "CMD: its exit code, signals and terminal are CMD's. If a hierarchy refuses it, it goes back where it was, and\n"
    "CMD does not run (exit code 1). If CMD is not found, the exit code is 127; if it cannot be run, 126, as in a\n"
    "shell. Only the cgroup is the container's, not its namespaces, root directory or user.\n\n"
    "example:\n"
    "  cgroup-engine exec --root /sys/fs/cgroup default/web/nginx -- stress --cpu 2"
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    add_container(command)
    command.add_argument("arguments", nargs=argparse.REMAINDER, metavar="-- CMD [ARG...]", help="what to run")
    command.set_defaults(wrong=command.error)


def run_command(options: argparse.Namespace) -> int:
    """Becomes the command; returns an exit code only if that fails. Raises EngineError."""
    arguments = options.arguments[1:] if options.arguments[:1] == ["--"] else options.arguments
    if not arguments:
        options.wrong("CMD is required")
    target = target_of(options)
    migrate(target.fs, target.layout, target.container.path, os.getpid())
    warning = set_oom_score_adj(os.getpid(), target.container.oom_score_adj)
    warn_of([warning] if warning else [])
    sys.stdout.flush()
    sys.stderr.flush()
    for ignored_by_python in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(ignored_by_python, signal.SIG_DFL)
    try:
        os.execvp(arguments[0], arguments)
    except OSError as failed:
        complain(f"{arguments[0]}: {failed.strerror}")
        return 127 if failed.errno == ENOENT else 126
    except ValueError as failed:
        complain(f"{arguments[0]!r}: {failed}")
        return 127
