"""The cluster's network: a namespace for the control plane and one for each node, joined by veth pairs and routes.

The addresses are those that are kept for documentation (RFC 5737), which no machine has; for pods these are too few.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from .errors import ClusterError

CONTROL_PLANE = "192.0.2.1"
SERVICES = "198.51.100.0/24"
API_SERVICE = "198.51.100.1"
"""The address of the service `kubernetes`, SERVICES' first. The API server itself has it, as there is no kube-proxy."""
MOST_NODES = 100


def node_address(number: int) -> str:
    return f"192.0.2.{10 + number}"


def pod_addresses(number: int) -> str:
    """Of a node's pods."""
    return f"10.244.{number}.0/24"


def prepare() -> None:
    """In the control plane's namespace. Raises ClusterError."""
    _ip("link", "set", "lo", "up")
    for address in (CONTROL_PLANE, API_SERVICE):
        _ip("address", "add", f"{address}/32", "dev", "lo")
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")  # from node to node


def join(number: int, process: int) -> None:
    """Joins the network namespace of a process: address, and a route to all others. Raises ClusterError."""
    here, address = f"node-{number}", node_address(number)
    _ip("link", "add", "name", here, "type", "veth", "peer", "name", "eth0", "netns", str(process))
    _ip("link", "set", here, "up")
    _ip("address", "add", f"{CONTROL_PLANE}/32", "dev", here)
    _ip("route", "add", f"{address}/32", "dev", here)
    _ip("route", "add", pod_addresses(number), "via", address, "dev", here)
    inside = ["nsenter", f"--net=/proc/{process}/ns/net", "--"]
    for words in (
        ["link", "set", "lo", "up"],
        ["address", "add", f"{address}/32", "dev", "eth0"],
        ["link", "set", "eth0", "up"],
        ["route", "add", f"{CONTROL_PLANE}/32", "dev", "eth0"],
        ["route", "add", "default", "via", CONTROL_PLANE, "src", address],
    ):
        _ip(*words, prefix=inside)


def _ip(*words: str, prefix: list[str] | None = None) -> None:
    done = subprocess.run([*(prefix or []), "ip", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ClusterError(f"ip {' '.join(words)}: {done.stderr.strip()}")
