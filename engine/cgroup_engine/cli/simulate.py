"""``cgroup-engine simulate``: a node's pods over hours of virtual time."""

from __future__ import annotations

import argparse
import sys

from cgroup_engine.cli.node_and_pods import node_and_pods
from cgroup_engine.cli.options import add_node_options, add_pods
from cgroup_engine.cli.written_file import write_file
from cgroup_engine.errors import InputError

EPILOG = (
    "--usage takes a scenario as fakecgroup simulate does, whose workloads have `pod: NAMESPACE/NAME` and\n"
    "`container: NAME` instead of cgroup, or kwok's ResourceUsage and ClusterResourceUsage. Nothing real runs.\n"
    "Exit status 1 where an expectation does not hold.\n\n"
    "examples:\n"
    "  cgroup-engine simulate --cpus 2 --memory 2Gi pods.yaml --usage usage.yaml\n"
    "  cgroup-engine simulate --config kubelet.yaml --cpus 8 --memory 32Gi pods/ --usage kwok.yaml --until 6h -o csv"
)
_BIGGEST = 4 << 20  # bytes
_POINTS = 600  # of a line in a page


def add_options(command: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    command.add_argument(
        "--usage", required=True, metavar="FILE", help="what the containers would use; - is standard input"
    )
    command.add_argument(
        "--until", metavar="TIME", help="such as 10m or 6h (default: the last `at` or `expect` of FILE)"
    )
    command.add_argument(
        "--every",
        metavar="TIME",
        help="between two samples (default: a 60th, with --html a 600th, at least 1s)",
    )
    command.add_argument("--seed", type=int, metavar="N", help="of what is random (default: the file's, else 0)")
    command.add_argument("-o", dest="output", choices=("table", "json", "csv"), default="table", help="default: table")
    command.add_argument(
        "--html", metavar="FILE", help="also write a page with timelines; this needs pip install 'fakecgroup[html]'"
    )
    add_node_options(command)
    add_pods(command)


def run_command(options: argparse.Namespace) -> int:
    """Runs the command; returns its exit code. Raises EngineError."""
    from cgroup_engine.simulate.page import check_library, page_of
    from cgroup_engine.simulate.play import play_node
    from cgroup_engine.simulate.report import as_csv, as_json, failures, table
    from cgroup_engine.simulate.times import read_time

    until, every = read_time("--until", options.until), read_time("--every", options.every)
    if options.usage == "-" and "-" in options.pods:
        options.wrong("PODS and --usage cannot both be standard input")
    if options.html is not None:
        check_library()
    node, pods = node_and_pods(options, options.pods)
    name = "standard input" if options.usage == "-" else options.usage
    points = _POINTS if options.html is not None else 60
    played = play_node(
        node, pods, _text(options.usage), name, until=until, every=every, points=points, seed=options.seed
    )
    if options.html is not None:
        write_file(options.html, page_of(played))
    if options.output == "table":
        print("\n".join(table(played)))
    else:
        print(as_json(played) if options.output == "json" else as_csv(played).rstrip("\n"))
        for line in failures(played):
            print(f"cgroup-engine: {line}", file=sys.stderr)
    return 0 if played.holds else 1


def _text(name: str) -> str:
    try:
        if name == "-":
            data = sys.stdin.buffer.read(_BIGGEST + 1)
        else:
            with open(name, "rb") as file:
                data = file.read(_BIGGEST + 1)
        return data.decode()
    except OSError as failed:
        raise InputError(f"{name}: cannot be read: {failed.strerror}", path=name, errno=failed.errno) from None
    except UnicodeDecodeError:
        raise InputError(f"{name}: is no text in UTF-8", path=name) from None
