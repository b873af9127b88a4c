"""``cgroup-engine explain``: QoS class, each value and the rule that gives it, CPU under load."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from cgroup_engine.cli.messages import warn_of
from cgroup_engine.cli.node_and_pods import asks_apiserver, node_and_pods, node_of, pods_of_versions
from cgroup_engine.cli.options import add_node_options, add_output, add_pods, count, oci_runtime, size, version
from cgroup_engine.cli.written_file import write_file
from cgroup_engine.errors import InputError
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.model.kubelet_version import NEWEST, OLDEST
from cgroup_engine.model.pod import Pod
from cgroup_engine.views.difference import difference
from cgroup_engine.views.explain import explained
from cgroup_engine.views.fit import misfits
from cgroup_engine.views.picture import picture
from cgroup_engine.views.render import Printer, print_difference, print_explanation

EPILOG = (
    "If the last argument is no file, it names one pod: NAME or NAMESPACE/NAME.\n"
    "The kubelet's function (named as in 1.36) and its inputs follow each value.\n"
    "With --diff-... the changes are grouped, with the time when each takes effect: at the kubelet's restart, within\n"
    "a minute, for new pods, or for new containers, which takes a drain. -v and JSON have each value too.\n\n"
    "examples:\n"
    "  cgroup-engine explain --cpus 3 --memory 8Gi pods.yaml pod-burstable-1\n"
    "  cgroup-engine explain --config now.yaml --diff-config new.yaml --diff-kubelet-version 1.36 pods/\n"
    "  cgroup-engine explain --config now.yaml --diff-config featureGates.MemoryQoS=true pods/\n"
    "  cgroup-engine explain --cpus 3 --memory 8Gi --svg node.svg pods.yaml\n"
    "  cgroup-engine explain --cpus 3 --memory 8Gi --html tree.html pods.yaml"
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    add_output(command)
    command.add_argument(
        "--diff",
        "--diff-config",
        dest="diff",
        action="append",
        metavar="FILE|KEY=VALUE",
        help="show what this KubeletConfiguration, or this field in the given one, would change; can be repeated",
    )
    command.add_argument(
        "--diff-kubelet-version",
        type=version,
        metavar=f"1.{OLDEST}..1.{NEWEST}",
        help="show what this kubelet would change; the runtime stays the same",
    )
    command.add_argument(
        "--diff-runtime-version",
        metavar="VERSION",
        help="show what this OCI runtime would change, written as for --runtime-version",
    )
    command.add_argument(
        "--diff-cgroup-version", type=int, choices=(1, 2), help="show what this cgroup version would change"
    )
    command.add_argument("--diff-cpus", type=count, metavar="N", help="show what this number of CPUs would change")
    command.add_argument("--diff-memory", type=size, metavar="SIZE", help="show what this memory would change")
    command.add_argument("-v", "--verbose", action="store_true", help="with --diff-...: every changed value too")
    command.add_argument("--svg", metavar="FILE", help="write a picture of CPU and memory under load instead")
    command.add_argument("--html", metavar="FILE", help="write a page with the tree and each value's reason instead")
    add_node_options(command)
    add_pods(command, "PODS|POD")


def run_command(options: argparse.Namespace) -> int:
    """Runs the command; returns its exit code. Raises EngineError."""
    paths, name = list(options.pods), None
    if paths and (options.pods_from or len(paths) > 1) and paths[-1] != "-" and not os.path.lexists(paths[-1]):
        name = paths.pop()
    printer = Printer(sys.stdout)
    if _is_diff(options):
        data = _difference(options, paths, name)
        print_difference(printer, data, options.output, verbose=options.verbose)
        return 0
    node, pods = node_and_pods(options, paths)
    pod = _named(pods, name) if name is not None else None
    wanted = wanted_tree(node, pods)
    if options.svg is not None:
        write_file(options.svg, picture(node, wanted, pod))
    elif options.html is not None:
        from cgroup_engine.views.tree_page import wanted_page

        write_file(options.html, wanted_page(node, wanted))
    else:
        unfit = misfits(node, pods, wanted)
        print_explanation(printer, explained(node, wanted, pod, unfit), options.output)
        warn_of([misfit.text for misfit in unfit])
    return 0


def _is_diff(options: argparse.Namespace) -> bool:
    return any(value is not None for name, value in vars(options).items() if name.split("_")[0] == "diff")


def _difference(options: argparse.Namespace, paths: Sequence[str], name: str | None) -> dict[str, Any]:
    """The differences to the node of the --diff options, which differs in nothing else; ``name``: of that pod."""
    asks_apiserver(options, paths)
    node, manifests = node_of(options)
    there = argparse.Namespace(**vars(options))
    files = [text for text in options.diff or () if os.path.lexists(text) or "=" not in text]
    if len(files) > 1:
        options.wrong("--diff takes one file, and fields as KEY=VALUE")
    there.overrides = [text for text in options.diff or () if text not in files]
    there.config = files[0] if files else options.config
    there.kubelet_version = options.diff_kubelet_version or options.kubelet_version
    there.cpus, there.memory = options.diff_cpus or node.cpus, options.diff_memory or node.memory
    other, _ = node_of(there, like=node)
    # another kubelet does not bring another runtime
    runtime = oci_runtime(options.diff_runtime_version, options.runtime) or node.used_oci_runtime
    other = replace(other, oci_runtime=runtime)
    if options.diff_cgroup_version is not None:
        other = replace(other, cgroup_version=options.diff_cgroup_version)
        node = replace(node, cgroup_version=1 if options.diff_cgroup_version == 2 else 2)
    # the API's fields and defaults depend on the release and its gates
    versions = [node.version] if other.version == node.version else [node.version, other.version]
    pods = pods_of_versions(options, paths, versions, manifests)
    pod = _named(pods[0], name) if name is not None else None
    sides = (node, wanted_tree(node, pods[0])), (other, wanted_tree(other, pods[-1]))
    return difference(*sides, str(pod) if pod else None)


def _named(pods: Sequence[Pod], name: str) -> Pod:
    matching = [pod for pod in pods if name in (pod.name, str(pod))]
    if len(matching) == 1 and matching[0].ended:
        raise InputError(f"{name}: this pod has ended (status.phase), so it has no cgroup", value=name)
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise InputError(f"{name}: {len(matching)} pods have this name", value=name, todo="write NAMESPACE/NAME")
    raise InputError(f"{name}: is neither a file nor a pod in the given files", value=name)
