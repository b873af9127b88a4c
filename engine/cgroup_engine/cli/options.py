"""The options that several commands share, and how their values are read."""

from __future__ import annotations

import argparse
import re

from cgroup_engine.errors import ConfigError, InputError, QuantityError
from cgroup_engine.kubelet.cpu_weight import Formula, parse_formulas
from cgroup_engine.kubelet.oci_runtime import OciRuntime, parse_oci_runtime
from cgroup_engine.model import kubelet_version
from cgroup_engine.model.kubelet_version import ASSUMED, NEWEST, OLDEST, KubeletVersion
from cgroup_engine.model.names import Runtime
from cgroup_engine.model.quantity import parse as parse_quantity


def add_root(command: argparse.ArgumentParser, *, required: bool = True) -> None:
    """--root and --systemd-names-only."""
    command.add_argument(
        "--root", required=required, metavar="DIR", help="cgroup root, v1 or v2, such as /sys/fs/cgroup"
    )
    command.add_argument(
        "--systemd-names-only",
        action="store_true",
        help="on /sys/fs/cgroup with the systemd driver: make directories with systemd's names, without systemd",
    )


def add_output(command: argparse.ArgumentParser) -> None:
    """-o for the commands that print data."""
    command.add_argument(
        "-o", dest="output", choices=("table", "json", "yaml"), default="table", help="output (default: table)"
    )


def add_pods(command: argparse.ArgumentParser, metavar: str = "PODS") -> None:
    """PODS, or --pods apiserver with --kubeconfig; add it after all other options."""
    command.add_argument(
        "--pods",
        dest="pods_from",
        choices=("apiserver",),
        help="instead of PODS: the pods that an API server has bound to the node --node-name",
    )
    command.add_argument(
        "--kubeconfig",
        metavar="FILE",
        help="server and credentials for --pods apiserver (default: the service account of this pod)",
    )
    command.add_argument(
        "pods",
        nargs="*",
        metavar=metavar,
        help="files or directories with Pod, PodList or List, YAML or JSON; - is standard input",
    )
    command.set_defaults(wrong=command.error)


def add_node_options(command: argparse.ArgumentParser) -> None:
    """The options that describe a node."""
    node = command.add_argument_group("node")
    node.add_argument("--config", metavar="KUBELET.yaml", help="a KubeletConfiguration, kubelet.config.k8s.io/v1beta1")
    node.add_argument(
        "--accept-invalid",
        action="store_true",
        help="where a kubelet would not start with this configuration, warn and go on; so it is without --config",
    )
    node.add_argument(
        "--kubelet-version",
        type=version,
        default=KubeletVersion(),
        metavar=f"1.{OLDEST}..1.{NEWEST}",
        help=f"the kubelet whose rules to use (default: 1.{ASSUMED})",
    )
    node.add_argument(
        "--node-name",
        type=_node_name,
        metavar="NAME",
        help="the node whose pods count; it is also part of the UID of static pods without metadata.uid (default: this "
        "machine's, and for PODS the only one that they name)",
    )
    node.add_argument("--cpus", type=count, metavar="N", help="number of CPUs (default: this machine's)")
    node.add_argument("--memory", type=size, metavar="SIZE", help="bytes, or such as 8Gi (default: this machine's)")
    node.add_argument("--swap", type=_bytes_or_none, metavar="SIZE", help="bytes of swap (default: this machine's)")
    node.add_argument(
        "--hugepages",
        type=_huge_pages,
        metavar="SIZE=N,...",
        help="number of pages by size, such as 2Mi=64,1Gi=0 (default: this machine's for its own root, else none)",
    )
    node.add_argument("--max-pids", type=count, metavar="N", help="most tasks on the node (default: this machine's)")
    node.add_argument("--driver", choices=("cgroupfs", "systemd"), help="overrides cgroupDriver (default: cgroupfs)")
    node.add_argument(
        "--runtime",
        choices=("containerd", "crio", "docker"),
        default="containerd",
        help="the container runtime, which names the containers' cgroups (default: containerd)",
    )
    node.add_argument(
        "--runtime-version",
        metavar="VERSION",
        help="the OCI runtime, which turns CPU shares into the containers' cpu.weight: runc-1.3.3, crun-1.23, or "
        "containerd-2.1.5 for the runc that it brings; a bare number is runc's, with --runtime crio crun's "
        "(default: that of the kubelet's release date)",
    )
    node.add_argument(
        "--runtime-driver",
        choices=("cgroupfs", "systemd"),
        help="the runtime's cgroup driver (default: the kubelet's, as it should be)",
    )
    for manager, what in (("cpu", "CPUs"), ("memory", "NUMA nodes")):
        node.add_argument(
            f"--{manager}-manager-state",
            metavar="FILE",
            help=f"the kubelet's {manager}_manager_state (in its --root-dir, /var/lib/kubelet), which says what {what} "
            f"the policy static has given to containers",
        )
    node.add_argument(
        "--sandboxes",
        action="store_true",
        help="show the pods' sandboxes too, whose values the runtime chooses",
    )
    node.add_argument(
        "--cpu-weight",
        type=_formulas,
        default={},
        metavar="LEVEL=FORMULA,...",
        help="formula of cpu.weight, linear or quadratic, by level: node, reserved, qos, pod, container "
        "(default: by kubelet version and runtime)",
    )


def version(text: str) -> KubeletVersion:
    try:
        return kubelet_version.parse(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _node_name(text: str) -> str:
    name = text.strip().lower()  # as the kubelet does with --hostname-override
    if re.fullmatch(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?", name, re.ASCII):
        return name
    raise argparse.ArgumentTypeError(f"{text!r} is not a node name: use a-z, 0-9, - and .")


def count(text: str) -> int:
    if text.isascii() and text.isdigit() and 0 < int(text[:10]) <= 1 << 22 and len(text) <= 10:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to {1 << 22}")


def _huge_pages(text: str) -> dict[int, int]:
    """Bytes of a page -> bytes of such pages, of ``SIZE=N,...``; "" is no size."""
    pages: dict[int, int] = {}
    for pair in text.split(",") if text else ():
        name, equals, number = pair.partition("=")
        if not equals or not number.isascii() or not number.isdigit() or len(number) > 10:
            raise argparse.ArgumentTypeError(f"{pair!r} is not SIZE=N, such as 2Mi=64")
        bytes_of_page = size(name)
        if bytes_of_page & (bytes_of_page - 1) or bytes_of_page < 1 << 16:
            raise argparse.ArgumentTypeError(f"{name!r} is no size of huge pages, such as 2Mi")
        pages[bytes_of_page] = bytes_of_page * int(number)
    return pages


def _formulas(text: str) -> dict[str, Formula]:
    try:
        return parse_formulas(text)
    except ValueError as refused:
        raise argparse.ArgumentTypeError(str(refused)) from None


def oci_runtime(text: str | None, runtime: Runtime) -> OciRuntime | None:
    """--runtime-version, read with --runtime.

    :raises ConfigError: no version of a runtime.
    """
    if text is None:
        return None
    try:
        return parse_oci_runtime(text, runtime)
    except ValueError as refused:
        raise ConfigError(f"--runtime-version: {refused}", value=text) from None


def _bytes_or_none(text: str) -> int:
    return 0 if text == "0" else size(text)


def size(text: str) -> int:
    try:
        quantity = parse_quantity(text)
    except QuantityError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if quantity.sign() <= 0 or not quantity.fits():
        raise argparse.ArgumentTypeError(f"{text!r} is not a size from 1 byte to 2^63-1 bytes")
    return quantity.value()
