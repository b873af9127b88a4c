"""What the parts of a cluster prove themselves with: certificates, and kubeconfigs that hold them."""

from __future__ import annotations

import shutil
from pathlib import Path

from . import kubeconfig, network
from .certificates import Authority

SERVER = f"https://{network.API_SERVICE}"
"""The API server's address inside."""
API_SERVER, KUBELET_CLIENT, TOKENS = "kube-apiserver", "kubelet-client", "service-accounts"
ADMINISTRATOR, SCHEDULER, CONTROLLERS = "administrator", "kube-scheduler", "kube-controller-manager"
_NAMES = ("localhost", *(f"kubernetes{rest}" for rest in ("", ".default", ".default.svc")))
_ADDRESSES = ("127.0.0.1", network.CONTROL_PLANE, network.API_SERVICE)


def begin(authority: Authority) -> None:
    """Those that stay when others are renewed: the authority, and the key of the service accounts' tokens.

    Raises ClusterError.
    """
    authority.begin()
    authority.issue(TOKENS, TOKENS)


def issue(directory: Path, authority: Authority) -> None:
    """Those of the control plane, and its kubeconfigs. Raises ClusterError."""
    named = [*(f"DNS:{name}" for name in _NAMES), *(f"IP:{address}" for address in _ADDRESSES)]
    authority.issue(API_SERVER, "kube-apiserver", addresses=named)
    authority.issue(KUBELET_CLIENT, "kube-apiserver", "system:masters")
    authority.issue(ADMINISTRATOR, "administrator", "system:masters")
    authority.issue(SCHEDULER, "system:kube-scheduler")
    authority.issue(CONTROLLERS, "system:kube-controller-manager")
    for client in (ADMINISTRATOR, SCHEDULER, CONTROLLERS):
        file = kubeconfig_of(directory, client)
        kubeconfig.write(file, SERVER, authority.certificate, *authority.files(client))


def kubeconfig_of(directory: Path, client: str) -> Path:
    """With which a client asks the API server from inside."""
    return directory / f"{client}.kubeconfig"


def issue_for_machine(directory: Path, authority: Authority, server: str) -> None:
    """The administrator's kubeconfig for programs outside; `server` is the address there."""
    kubeconfig.write(directory / "kubeconfig", server, authority.certificate, *authority.files(ADMINISTRATOR))


def issue_for_node(node: Path, authority: Authority) -> None:
    """Those of the kubelet whose node has that directory. Raises ClusterError."""
    name = node.name
    files = authority.issue(name, f"system:node:{name}", "system:nodes")
    kubeconfig.write(node / "kubeconfig", SERVER, authority.certificate, *files)
    shutil.copy(authority.certificate, node / "ca.crt")
