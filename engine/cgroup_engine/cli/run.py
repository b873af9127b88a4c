"""``cgroup-engine run``: keeps the tree as the pods want it, until a signal ends it."""

from __future__ import annotations

import argparse
import gc
import re
import time
from contextlib import closing

from cgroup_engine.change.ownership import kubepods_path
from cgroup_engine.cli.kept_root import KeptRoot
from cgroup_engine.cli.monitoring import add_monitoring_options, monitored
from cgroup_engine.cli.node_and_pods import asks_apiserver, node_of
from cgroup_engine.cli.options import add_node_options, add_pods, add_root
from cgroup_engine.cli.ownership import add_ownership_options
from cgroup_engine.cli.pod_source import pod_source_of
from cgroup_engine.cli.root import found_tree
from cgroup_engine.run.control import Control
from cgroup_engine.run.events import Started
from cgroup_engine.run.keeper import Keeper
from cgroup_engine.run.loop import Loop
from cgroup_engine.run.signals import Signals

EPILOG = (
    "PODS are followed: cgroups of new pods are made, those of pods that are gone are removed with their processes.\n"
    "Changes by others are repaired and logged. SIGTERM and SIGINT end it, and the tree stays in force; SIGHUP\n"
    "makes it look at once. With --dry-run it only logs what it would do. Metrics and health: see --listen; the log\n"
    "goes to standard error.\n\n"
    "example:\n"
    "  cgroup-engine run --root /sys/fs/cgroup --config kubelet.yaml --dry-run pods/"
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    add_root(command)
    command.add_argument(
        "--interval",
        type=_seconds,
        default=60.0,
        metavar="TIME",
        help="longest time between two looks, such as 90, 60s or 5m (default: 60s, as a kubelet)",
    )
    command.add_argument(
        "--dry-run", action="store_true", help="write nothing, only log what would be done and what differs"
    )
    add_node_options(command)
    add_pods(command)
    add_ownership_options(command)
    add_monitoring_options(command)


def run_command(options: argparse.Namespace) -> int:
    """Runs the command; returns its exit code. Raises EngineError."""
    gc.enable()  # paused only for commands that end
    asks_apiserver(options, options.pods)  # checks the options before anything is opened
    node, manifests = node_of(options)
    layout = found_tree(options, node).layout
    with Signals() as signals, closing(KeptRoot(options, node)) as root:
        root.take()
        with closing(pod_source_of(options, node, manifests)) as source, monitored(options) as listener:
            control = Control(time.monotonic, time.sleep, signals.reading, lambda: bool(signals.ending))
            keeper = Keeper(
                root.opened,
                control,
                options.interval,
                known=root.known,
                taken_over=root.taken_over,
                dry_run=options.dry_run,
            )
            listener.hear(Started(options.root, layout.name, kubepods_path(node), options.dry_run))
            Loop(keeper, source, listener, signals, options.interval, root.foreign_writes).run()
    return 0


def _seconds(text: str) -> float:
    match = re.fullmatch(r"([0-9]{1,6})(s|m|h)?", text, re.ASCII)
    seconds = int(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2] or "s"] if match else 0
    if 1 <= seconds <= 86400:
        return float(seconds)
    raise argparse.ArgumentTypeError(f"{text!r} is not a time from 1s to 24h, such as 60s")
