"""``cgroup-engine fleet``: a whole cluster's nodes and pods."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from cgroup_engine.cli.messages import complain
from cgroup_engine.cli.options import oci_runtime, version
from cgroup_engine.cli.written_file import write_file
from cgroup_engine.errors import InputError
from cgroup_engine.model.kubelet_version import NEWEST, OLDEST

if TYPE_CHECKING:  # --help looks at no cluster
    from cgroup_engine.fleet.change import Change

EPILOG = (
    "DUMP is what kubectl get nodes,pods -A -o json writes: JSON or YAML, perhaps gzipped, in several files; - is\n"
    "standard input. Nodes and pods come in any order. A pod that cannot be used is one line.\n"
    "Without --diff-...: what does not fit, would not start, or is not as the configuration says. With: what changes.\n"
    "Exit status 0 where nothing was found, 1 where something was, 2 for a dump or an option that cannot be used.\n\n"
    "examples:\n"
    "  kubectl get nodes,pods -A -o json | cgroup-engine fleet -\n"
    "  cgroup-engine fleet --live --configz --diff-kubelet-version 1.37\n"
    "  cgroup-engine fleet dump.json.gz --configs kubelets/ --diff-kubelet-version 1.37\n"
    "  cgroup-engine fleet dump.json.gz --diff-config featureGates.MemoryQoS=true --usage top.txt --html fleet.html"
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    command.add_argument("dumps", nargs="*", metavar="DUMP", help="nodes and pods of a cluster")
    live = command.add_argument_group("a cluster that runs, instead of DUMP")
    live.add_argument("--live", action="store_true", help="ask the API server for its nodes and pods, page by page")
    live.add_argument(
        "--kubeconfig", metavar="FILE", help="server and credentials (default: $KUBECONFIG, ~/.kube/config, or a pod's)"
    )
    live.add_argument("--context", metavar="NAME", help="a context of the kubeconfig (default: its current one)")
    live.add_argument(
        "--configz", action="store_true", help="ask each kubelet for its configuration, through the API server"
    )
    command.add_argument(
        "--configs",
        metavar="DIR",
        help="kubelet configurations, or answers of /configz: NODE.yaml, POOL.yaml, default.yaml (default: none)",
    )
    command.add_argument(
        "--pool-label",
        action="append",
        default=[],
        metavar="LABEL",
        help="the label of a node that names its pool (default: those of EKS, GKE, AKS and Karpenter)",
    )
    command.add_argument(
        "--usage",
        metavar="FILE",
        help="what containers use: kubectl top pods -A --containers, or JSON of a Prometheus query",
    )
    for number in (1, 2):
        command.add_argument(
            f"--cgroup-v{number}",
            action="append",
            default=[],
            metavar="NODE|LABEL=VALUE",
            help=f"nodes with cgroup v{number} (default: by osImage)",
        )
    change = command.add_argument_group("what changes")
    change.add_argument(
        "--diff-kubelet-version", type=version, metavar=f"1.{OLDEST}..1.{NEWEST}", help="another kubelet"
    )
    change.add_argument(
        "--diff-config", action="append", default=[], metavar="FILE|KEY=VALUE", help="another configuration, or field"
    )
    change.add_argument("--diff-runtime-version", metavar="VERSION", help="another OCI runtime")
    change.add_argument("--diff-cgroup-version", type=int, choices=(1, 2), help="another cgroup version")
    running = command.add_argument_group("where it runs")
    running.add_argument("--workers", type=_workers, metavar="N", help="local processes (default: the CPUs)")
    running.add_argument("--dask", metavar="ADDRESS", help="a Dask scheduler; needs pip install 'fakecgroup[fleet]'")
    command.add_argument("-o", dest="output", choices=("table", "json"), default="table", help="default: table")
    command.add_argument("--html", metavar="FILE", help="also write a page with a heat map of the nodes")
    command.set_defaults(wrong=command.error)


def run_command(options: argparse.Namespace) -> int:
    """Runs the command; returns its exit code. Raises EngineError."""
    try:
        return _run(options)
    except InputError as error:
        complain(str(error))
        return 2


def _run(options: argparse.Namespace) -> int:
    from cgroup_engine.cli.live_cluster import cluster_of
    from cgroup_engine.fleet.configs import of_kubelets, read_configs
    from cgroup_engine.fleet.dump import read_dump, read_live
    from cgroup_engine.fleet.merge import Fleet
    from cgroup_engine.fleet.progress import Progress
    from cgroup_engine.fleet.report import print_report
    from cgroup_engine.fleet.tasks import Question, Versions
    from cgroup_engine.fleet.usage import read_usage
    from cgroup_engine.fleet.workers import look
    from cgroup_engine.views.render import Printer

    if options.dask is not None and options.workers is not None:
        options.wrong("--workers and --dask exclude each other")
    if options.live == bool(options.dumps):
        options.wrong("give DUMP, or --live" if not options.live else "DUMP and --live exclude each other")
    if not options.live and (options.kubeconfig or options.context or options.configz):
        options.wrong("--kubeconfig, --context and --configz go with --live")
    if list(options.dumps).count("-") + (options.usage == "-") > 1:
        options.wrong("standard input can be read once")
    change = _change(options)
    usage = read_usage(Path(options.usage)) if options.usage is not None else {}
    configs = read_configs(Path(options.configs) if options.configs is not None else None, options.pool_label)
    versions = Versions(frozenset(options.cgroup_v1), frozenset(options.cgroup_v2))
    fleet = Fleet()
    if options.live:
        dump, where = read_live(api := cluster_of(options)), [api.host]
        if options.configz:
            configs, fleet.notes = of_kubelets(configs, dump.nodes, api)
    else:
        dump, where = read_dump([Path(path) for path in options.dumps]), options.dumps
    if not dump.nodes:
        raise InputError(f"{', '.join(where)}: has no Node", todo="give what kubectl get nodes,pods -A -o json writes")
    question = Question(configs, change, usage, versions)
    for line in dump.errors:
        fleet.tell(line)
    fleet.more_errors += dump.more_errors
    fleet.notes += _notes(dump.homeless, dump.unscheduled)
    progress = Progress(len(dump.nodes))
    if options.dask is not None:
        from cgroup_engine.fleet.on_dask import look_on_dask

        found = look_on_dask(dump, question, options.dask)
    else:
        found = look(dump, question, options.workers or os.cpu_count() or 1)
    try:
        for results in found:
            for result in results:
                fleet.add(result)
            progress.add(len(results))
    finally:
        progress.end()
    printer = Printer(sys.stdout)
    if options.html is not None:
        from cgroup_engine.fleet.page import page

        write_file(options.html, page(fleet, where, changed=bool(change)))
    if options.output == "json":
        printer.rows(fleet.data(), "json")
    else:
        print_report(printer, fleet, changed=bool(change))
    return 1 if fleet.findings or any(node.error for node in fleet.nodes) else 0


def _change(options: argparse.Namespace) -> Change:
    """The change of the --diff options. Raises ConfigError."""
    from cgroup_engine.fleet.change import Change
    from cgroup_engine.inputs.config import read_config

    files = [text for text in options.diff_config if os.path.lexists(text) or "=" not in text]
    if len(files) > 1:
        options.wrong("--diff-config takes one file, and fields as KEY=VALUE")
    oci_runtime(options.diff_runtime_version, "containerd")  # refuses what is none
    return Change(
        minor=None if options.diff_kubelet_version is None else options.diff_kubelet_version.minor,
        config=read_config(Path(files[0])) if files else None,
        overrides=tuple(text for text in options.diff_config if text not in files),
        runtime_version=options.diff_runtime_version,
        cgroup_version=options.diff_cgroup_version,
    )


def _notes(homeless: Mapping[str, int], unscheduled: int) -> list[str]:
    notes = []
    if homeless:
        pods = sum(homeless.values())
        notes.append(f"{pods:,} pods of {len(homeless):,} nodes that are not in the dump, such as {min(homeless)}")
    if unscheduled:
        notes.append(f"{unscheduled:,} pods that are on no node")
    return notes


def _workers(text: str) -> int:
    if text.isascii() and text.isdigit() and 0 < int(text[:5]) <= 1024:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to 1024")
