"""``cgroup-engine explain``: QoS class, each value and the rule that gives it, CPU under load."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from cgroup_engine.cli.node_and_pods import node_and_pods
from cgroup_engine.cli.options import add_node_options, add_output, add_pods, oci_runtime, version
from cgroup_engine.errors import InputError
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.model.kubelet_version import NEWEST, OLDEST
from cgroup_engine.model.pod import Pod
from cgroup_engine.views.difference import difference
from cgroup_engine.views.explain import explanation
from cgroup_engine.views.picture import picture
from cgroup_engine.views.render import Printer, print_difference, print_explanation

EPILOG = (
    "If the last argument is no file, it names one pod: NAME or NAMESPACE/NAME.\n"
    "The kubelet's function (named as in 1.36) and its inputs follow each value.\n\n"
    "example:\n"
    "  cgroup-engine explain --cpus 3 --memory 8Gi pods.yaml pod-burstable-1\n"
    "  cgroup-engine explain --config now.yaml --diff new.yaml --diff-kubelet-version 1.36 pods/\n"
    "  cgroup-engine explain --cpus 3 --memory 8Gi --svg node.svg pods.yaml"
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    add_output(command)
    command.add_argument("--diff", metavar="OTHER.yaml", help="show only what this KubeletConfiguration would change")
    command.add_argument(
        "--diff-kubelet-version",
        type=version,
        metavar=f"1.{OLDEST}..1.{NEWEST}",
        help="show only what this kubelet would change, with the same configuration or that of --diff",
    )
    command.add_argument(
        "--diff-runtime-version",
        metavar="VERSION",
        help="show only what this OCI runtime would change, written as for --runtime-version",
    )
    command.add_argument("--svg", metavar="FILE", help="write a picture of CPU and memory under load instead")
    add_node_options(command)
    add_pods(command, "PODS|POD")


def run_command(options: argparse.Namespace) -> int:
    """Runs the command; returns its exit code. Raises EngineError."""
    paths, name = list(options.pods), None
    if paths and (options.pods_from or len(paths) > 1) and paths[-1] != "-" and not os.path.lexists(paths[-1]):
        name = paths.pop()
    node, pods = node_and_pods(options, paths)
    pod = _named(pods, name) if name is not None else None
    wanted, printer = wanted_tree(node, pods), Printer(sys.stdout)
    if (options.diff, options.diff_kubelet_version, options.diff_runtime_version) != (None, None, None):
        other = argparse.Namespace(**vars(options))
        other.config = options.diff if options.diff is not None else options.config
        other.kubelet_version = options.diff_kubelet_version or options.kubelet_version
        other_node, other_pods = node_and_pods(other, paths)
        # another kubelet does not bring another runtime
        runtime = oci_runtime(options.diff_runtime_version, options.runtime) or node.used_oci_runtime
        other_node = replace(other_node, oci_runtime=runtime)
        there = (other_node, wanted_tree(other_node, other_pods))
        print_difference(printer, difference((node, wanted), there, str(pod) if pod else None), options.output)
    elif options.svg is not None:
        _write_picture(options.svg, picture(node, wanted, pod))
    else:
        print_explanation(printer, explanation(node, wanted, pod), options.output)
    return 0


def _write_picture(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as failed:
        raise InputError(f"{path}: cannot be written: {failed.strerror}", path=path, errno=failed.errno) from None


def _named(pods: Sequence[Pod], name: str) -> Pod:
    matching = [pod for pod in pods if name in (pod.name, str(pod))]
    if len(matching) == 1 and matching[0].ended:
        raise InputError(f"{name}: this pod has ended (status.phase), so it has no cgroup", value=name)
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise InputError(f"{name}: {len(matching)} pods have this name", value=name, todo="write NAMESPACE/NAME")
    raise InputError(f"{name}: is neither a file nor a pod in the given files", value=name)
