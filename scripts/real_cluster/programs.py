"""The programs that a cluster is made of."""

from __future__ import annotations

import shutil
from collections.abc import Mapping

from .settings import Settings

BUILT = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kubelet")
"""Those of Kubernetes, which `build` makes."""
_NEEDED = {
    "etcd": "etcd-server",
    "containerd": "containerd",
    "ctr": "containerd",
    "runc": "runc",
    "busybox": "busybox-static",
    "ip": "iproute2",
    "openssl": "openssl",
    "curl": "curl",
    "/usr/lib/cni/ptp": "containernetworking-plugins",
}


def needed(settings: Settings) -> dict[str, str]:
    """Debian's package of each of the others."""
    return {**_NEEDED, **({"prometheus": "prometheus"} if settings.prometheus else {})}


def missing(packages_of: Mapping[str, str], path: str | None = None) -> dict[str, str]:
    """Those of the programs that are not in `path` (default: PATH), with their packages."""
    return {name: package for name, package in packages_of.items() if shutil.which(name, path=path) is None}


def install_command(packages_of: Mapping[str, str]) -> str:
    """With which root gets them."""
    return f"apt-get install {' '.join(dict.fromkeys(packages_of.values()))}"
