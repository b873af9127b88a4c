"""``cgroup-engine attach``: moves running processes into a container's cgroup."""

from __future__ import annotations

import argparse

from cgroup_engine.change.migration import check_process, migrate
from cgroup_engine.change.oom_score import set_oom_score_adj
from cgroup_engine.cli.messages import complain, warn_of
from cgroup_engine.cli.target_container import add_container, target_of
from cgroup_engine.errors import EngineError

EPILOG = (
    "A process moves with its threads, in every hierarchy, and gets the container's oom_score_adj. Its children\n"
    "stay where they are. If a hierarchy refuses it, it goes back where it was.\n\n"
    "example:\n"
    "  cgroup-engine attach --root /sys/fs/cgroup default/web/nginx 4711 4712"
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    add_container(command)
    command.add_argument("pids", nargs="+", type=_pid, metavar="PID", help="processes, as seen from here")


def run_command(options: argparse.Namespace) -> int:
    """Runs the command; returns its exit code. Raises EngineError."""
    target = target_of(options)
    failed = 0
    for pid in options.pids:
        try:
            check_process(pid)
            migrate(target.fs, target.layout, target.container.path, pid)
        except EngineError as error:
            complain(str(error))
            failed += 1
            continue
        warning = set_oom_score_adj(pid, target.container.oom_score_adj)
        warn_of([warning] if warning else [])
        print(f"process {pid} is in {target}")
    return 1 if failed else 0


def _pid(text: str) -> int:
    if text.isascii() and text.isdigit() and 0 < int(text[:10]) <= 1 << 22 and len(text) <= 10:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is no process id")
