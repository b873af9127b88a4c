"""``kubectl cgroups``: a pod's cgroups, explained and looked at, by the pod's name in a cluster."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cgroup_engine.cli.live_cluster import cluster_of, kubectls_config
from cgroup_engine.cli.messages import complain
from cgroup_engine.cli.options import add_output
from cgroup_engine.errors import ApiServerError, EngineError, InputError, PodError
from cgroup_engine.fleet.change import configured
from cgroup_engine.fleet.node_object import SeenNode, node_of_object
from cgroup_engine.inputs.config import read_config
from cgroup_engine.inputs.pod_object import pod_from_object
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.model.pod import Pod
from cgroup_engine.sources.cluster_api import ClusterApi
from cgroup_engine.sources.kubeconfig import namespace_of
from cgroup_engine.views.explain import explained
from cgroup_engine.views.fit import misfits
from cgroup_engine.views.render import Printer, print_explanation, print_status_of_pod

PROGRAM = "kubectl cgroups"
_EPILOG = """\
explain takes the node's size from its Node, and its kubelet's configuration through the API server, which needs the
right to get nodes/proxy; without it the configuration has the release's defaults, or is --config's.
status asks the engine on the pod's node (deploy/kubernetes), which needs the right to get pods/proxy.

examples:
  kubectl cgroups explain -n shop web-7d4b9c
  kubectl cgroups status -n shop web-7d4b9c
"""
_FIELDS = ("path", "state", "wanted", "found", "unit", "for")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the plugin; returns its exit code: 0 done, 1 it failed, 2 the command line is wrong."""
    try:
        options = parser().parse_args(arguments)
        return int(options.run(options))
    except SystemExit as done:  # argparse has printed the error
        return done.code if isinstance(done.code, int) else 2
    except EngineError as error:
        complain(str(error), PROGRAM)
        return 1
    except BrokenPipeError:
        return 1
    except KeyboardInterrupt:
        return 130


def parser() -> argparse.ArgumentParser:
    """The command line of the plugin."""
    program = argparse.ArgumentParser(
        prog=PROGRAM,
        description="A pod's cgroups: each value with its rule, and what is there.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = program.add_subparsers(required=True, metavar="COMMAND", prog=PROGRAM)
    explain = commands.add_parser("explain", help="QoS class, every value with its rule, and CPU under load")
    explain.add_argument("--config", metavar="KUBELET.yaml", help="the configuration of the node's kubelet")
    explain.set_defaults(run=_explain)
    status = commands.add_parser("status", help="wanted against found, as the engine on the pod's node sees it")
    status.add_argument("--check", action="store_true", help="exit with 1 if anything differs")
    status.set_defaults(run=_status)
    for command in (explain, status):
        command.add_argument("pod", metavar="POD", help="its name, or NAMESPACE/NAME")
        command.add_argument("-n", "--namespace", metavar="NAMESPACE", help="its namespace (default: the context's)")
        command.add_argument(
            "--kubeconfig", metavar="FILE", help="server and credentials (default: as kubectl's, and in a pod its own)"
        )
        command.add_argument("--context", metavar="NAME", help="a context of the kubeconfig")
        add_output(command)
    return program


def _explain(options: argparse.Namespace) -> int:
    api = cluster_of(options)
    namespace, name, node_name = _found(api, options)
    seen = node_of_object(api.node(node_name))
    node = _node(api, seen, options)
    pods = _pods(api, node_name, node)
    pod = next((each for each in pods if (each.namespace, each.name) == (namespace, name)), None)
    if pod is None:
        raise InputError(f"pod {namespace}/{name}: it cannot be explained, as it cannot be used or is gone")
    wanted = wanted_tree(node, pods)
    printer = Printer(sys.stdout)
    print_explanation(printer, explained(node, wanted, pod, misfits(node, pods, wanted)), options.output)
    return 0


def _status(options: argparse.Namespace) -> int:
    api = cluster_of(options)
    namespace, name, node_name = _found(api, options)
    data = api.status_of(f"{namespace}/{name}", node_name)
    if data is None:
        raise InputError(f"node {node_name} runs no engine that could tell", todo="kubectl apply -k deploy/kubernetes")
    if not _is_status(data):
        raise ApiServerError(f"{api.host}: the engine on node {node_name} answers no status")
    print_status_of_pod(Printer(sys.stdout), data, options.output)
    return 1 if options.check and data["drift"] else 0


def _found(api: ClusterApi, options: argparse.Namespace) -> tuple[str, str, str]:
    """Namespace, name and node of the pod that was asked for."""
    namespace, _, name = options.pod.rpartition("/")
    namespace = namespace or options.namespace or namespace_of(kubectls_config(options), options.context)
    pod = api.pod(namespace, name)
    spec, status = (pod.get(key) if isinstance(pod, dict) else None for key in ("spec", "status"))
    node = spec.get("nodeName") if isinstance(spec, dict) else None
    phase = status.get("phase") if isinstance(status, dict) else None
    if phase in ("Succeeded", "Failed"):
        raise InputError(f"pod {namespace}/{name}: it has ended ({phase}), so it has no cgroup")
    if not isinstance(node, str) or not node:
        raise InputError(f"pod {namespace}/{name}: it is on no node yet, so it has no cgroup")
    return namespace, name, node


def _node(api: ClusterApi, seen: SeenNode, options: argparse.Namespace) -> NodeConfig:
    fields: Mapping[str, Any]
    if options.config is not None:
        fields, where = read_config(Path(options.config))
    else:
        try:
            fields, where = api.kubelet_configuration(seen.name), f"configz of {seen.name}"
        except ApiServerError as failed:
            complain(f"warning: {failed}; the configuration is taken to be kubelet {seen.version}'s default", PROGRAM)
            fields, where = {}, ""
    return configured(seen, fields, where)


def _pods(api: ClusterApi, node_name: str, node: NodeConfig) -> list[Pod]:
    """The pods of the node, of which the CPU under load depends; one that cannot be used is a warning."""
    pods: list[Pod] = []
    for item in api.pods_of(node_name):
        try:
            pods.append(pod_from_object(item, api.host, node.version))
        except PodError as wrong:
            complain(f"warning: {wrong}", PROGRAM)
    return pods


def _is_status(data: Any) -> bool:
    if not isinstance(data, dict) or not isinstance(data.get("layout"), str) or "drift" not in data:
        return False
    files = data.get("files")
    return isinstance(files, list) and all(
        isinstance(file, dict) and all(isinstance(file.get(name), str) for name in _FIELDS) for file in files
    )
