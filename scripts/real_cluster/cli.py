"""The command ``scripts/cluster``."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from fakecgroup.machine.options import READERS
from fakecgroup_mount.enforce.options import LIST_HELP, read_enforced
from program_matrix.release import SUITES

from . import build, churn, node_commands, overview, renewal, start
from .errors import ClusterError
from .network import MOST_NODES
from .settings import Settings
from .state import CONTROL_PLANE, State

MOST_PODS = 100_000
"""Of one churn."""


class Parser(argparse.ArgumentParser):
    """An argparse parser whose complaint is one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code: 0 done, 1 it could not be done (one line on stderr), 2 the command line is wrong; the command's for
    `exec` and `kubectl`.
    """
    words, kubectls = _split(list(sys.argv[1:] if argv is None else argv))
    options = _parser().parse_args(words)
    options.arguments = kubectls
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that nothing half-made is left behind
    try:
        return int(options.run(options))
    except ClusterError as error:
        print(f"cluster: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print(f"cluster: {where}{error.strerror or error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="cluster",
        description="A Kubernetes cluster on this machine: etcd, API server, scheduler and controller manager, and "
        "nodes that are a kubelet with containerd under `fakecgroup run`. The machine's own cgroups and network are "
        "left alone.",
    )
    parser.add_argument("--name", default="cluster", help="of the cluster, so that there can be several")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    making = commands.add_parser("build", help="build Kubernetes' programs from its source; they are kept")
    making.add_argument("source", type=Path, help="a directory with Kubernetes' source and its vendor directory")
    making.add_argument("--kubernetes-version", default="", metavar="V", help="such as v1.36.2 (default: the source's)")
    making.set_defaults(run=_build)
    up = commands.add_parser("up", help="start a cluster, and wait until its nodes are ready")
    up.add_argument(
        "--nodes", type=_from_one_to(MOST_NODES), default=3, metavar="N", help=f"1 to {MOST_NODES} (default: 3)"
    )
    up.add_argument("--layout", choices=("v2", "v1"), default="v2", help="of each node's cgroups (default: v2)")
    up.add_argument("--cpus", type=_vetted("cpus"), default="16", metavar="N", help="of each node (default: 16)")
    up.add_argument(
        "--memory", type=_vetted("memory"), default="64Gi", metavar="SIZE", help="of each node (default: 64Gi)"
    )
    up.add_argument(
        "--enforce",
        type=_limits,
        default="none",
        metavar="LIST",
        help=f"limits that act on the processes of each node: {LIST_HELP} (default: none)",
    )
    up.add_argument("--kubelet-config", type=Path, metavar="FILE", help="default: examples/cluster/kubelet.yaml")
    up.add_argument("--port", type=int, default=0, help="of the API server at 127.0.0.1 (default: a free one)")
    up.add_argument("--release", choices=SUITES, default="", help="with the containerd, runc and etcd of this release")
    up.add_argument("--install", action="store_true", help="get the Debian packages first, with apt-get, as root")
    up.add_argument("--prometheus", action="store_true", help="with Debian's Prometheus beside the control plane")
    up.set_defaults(run=_up)
    renew = commands.add_parser("renew", help="give it new certificates, and start again who reads them")
    renew.add_argument("--authority", action="store_true", help="by a new authority; the old one counts no more")
    renew.set_defaults(run=_renew)
    down = commands.add_parser("down", help="end the cluster; nothing of it is left")
    down.set_defaults(run=_down)
    status = commands.add_parser("status", help="the nodes, and whether their cgroups are as computed")
    status.set_defaults(run=lambda options: overview.show(State(options.name)))
    churning = commands.add_parser(
        "churn",
        help="make and delete many pods, and see that nothing of them is left",
        description="Makes and deletes pods of six kinds in batches, and resizes a third in place. Meanwhile the last "
        "node is drained, the API server killed, and all certificates renewed. At the end no pod and no cgroup of them "
        "may be left, all cgroups must be as computed, and no other pod may have gone or been started again. "
        "The pods are in the namespace `churn`.",
    )
    churning.add_argument("--pods", type=_from_one_to(MOST_PODS), default=100, metavar="N", help="default: 100")
    churning.add_argument(
        "--at-once", type=_from_one_to(MOST_PODS), default=20, metavar="N", help="pods in a batch (default: 20)"
    )
    churning.set_defaults(run=_churn)
    executing = commands.add_parser("exec", help="run a command in a node or beside the control plane")
    executing.add_argument("where", help=f"such as node-1, or {CONTROL_PLANE}")
    executing.add_argument("command", nargs=argparse.REMAINDER, help="default: sh")
    executing.set_defaults(run=_exec)
    load = commands.add_parser("load", help="give an image to all nodes")
    load.add_argument("archive", type=Path, help="as `podman save`, `buildah push` or `docker save` write it")
    load.set_defaults(run=_load)
    kubectl = commands.add_parser("kubectl", help="run kubectl with the cluster's kubeconfig", add_help=False)
    kubectl.set_defaults(run=_kubectl)
    return parser


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    """Our words, and those that are kubectl's: argparse would take options that come first for ours."""
    at = 2 if words[:1] == ["--name"] else int(words[:1] != [] and words[0].startswith("--name="))
    return (words[: at + 1], words[at + 1 :]) if words[at : at + 1] == ["kubectl"] else (words, [])


def _from_one_to(most: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        value = int(text) if text.isascii() and text.isdecimal() else 0
        if not 1 <= value <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to {most}")
        return value

    return number


def _vetted(option: str) -> Callable[[str], str]:
    """The text of an option of `fakecgroup run`, if that would take it."""

    def vetted(text: str) -> str:
        try:
            READERS[option](text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
        return text

    return vetted


def _limits(text: str) -> str:
    read_enforced(text)
    return text


def _build(options: argparse.Namespace) -> int:
    build.build(options.source.resolve(), options.kubernetes_version, _say)
    return 0


def _up(options: argparse.Namespace) -> int:
    config = options.kubelet_config
    if config and not config.is_file():
        raise ClusterError(f"--kubelet-config {config}: no such file")
    settings = Settings(
        options.nodes,
        options.layout,
        options.cpus,
        options.memory,
        options.enforce,
        options.release,
        str(config.resolve()) if config else "",
        options.prometheus,
    )
    state = State(options.name)
    start.start(state, settings, options.port, install=options.install, say=_say)
    print(f"export KUBECONFIG={state.kubeconfig}")
    return 0


def _renew(options: argparse.Namespace) -> int:
    renewal.renew(State(options.name), authority=options.authority)
    return 0


def _churn(options: argparse.Namespace) -> int:
    churn.churn(State(options.name), options.pods, options.at_once, _say)
    return 0


def _down(options: argparse.Namespace) -> int:
    if not State(options.name).remove():
        _say("there was no cluster")
    return 0


def _exec(options: argparse.Namespace) -> int:
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    state = State(options.name)
    state.check_running()
    return node_commands.ask(state.commands(options.where), command or ["sh"])


def _load(options: argparse.Namespace) -> int:
    for node in State(options.name).nodes():
        with options.archive.open("rb") as archive:
            command = ["ctr", "--namespace", "k8s.io", "images", "import", "-"]
            if node_commands.ask(node / "commands", command, [archive.fileno(), 1, 2]):
                raise ClusterError(f"{node.name} does not take {options.archive}")
    return 0


def _kubectl(options: argparse.Namespace) -> int:
    state = State(options.name)
    state.check_running()
    kubectl = build.directory() / "kubectl"
    os.execve(kubectl, ["kubectl", *options.arguments], {**os.environ, "KUBECONFIG": str(state.kubeconfig)})


def _say(text: str) -> None:
    print(f"cluster: {text}", file=sys.stderr, flush=True)
