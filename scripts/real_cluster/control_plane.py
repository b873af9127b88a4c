"""The control plane's programs and their command lines."""

from __future__ import annotations

from pathlib import Path

from . import kubeconfig, network
from .certificates import Authority

API_SERVER = f"https://{network.API_SERVICE}"
_ETCD = "http://127.0.0.1:2379"
ETCD_HEALTH = f"{_ETCD}/health"


def etcd(directory: Path) -> list[str]:
    """Without fsync, as the cluster does not outlive the machine."""
    peer = "http://127.0.0.1:2380"
    return [
        "etcd",
        f"--data-dir={directory / 'etcd'}",
        "--unsafe-no-fsync",
        f"--listen-client-urls={_ETCD}",
        f"--advertise-client-urls={_ETCD}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
    ]


def api_server(directory: Path, authority: Authority) -> list[str]:
    """It has the address and the port of the service `kubernetes`, so that pods reach it without a kube-proxy."""
    names = ["localhost", *(f"kubernetes{rest}" for rest in ("", ".default", ".default.svc"))]
    addresses = ["127.0.0.1", network.CONTROL_PLANE, network.API_SERVICE]
    certificate, key = authority.issue(
        "kube-apiserver",
        "kube-apiserver",
        addresses=[*(f"DNS:{name}" for name in names), *(f"IP:{address}" for address in addresses)],
    )
    kubelet_certificate, kubelet_key = authority.issue("kubelet-client", "kube-apiserver", "system:masters")
    tokens_certificate, tokens_key = authority.issue("service-accounts", "service-accounts")
    return [
        "kube-apiserver",
        f"--etcd-servers={_ETCD}",
        "--bind-address=0.0.0.0",
        "--secure-port=443",
        f"--advertise-address={network.CONTROL_PLANE}",
        f"--service-cluster-ip-range={network.SERVICES}",
        f"--tls-cert-file={certificate}",
        f"--tls-private-key-file={key}",
        f"--client-ca-file={authority.certificate}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={tokens_certificate}",
        f"--service-account-signing-key-file={tokens_key}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--allow-privileged=true",
        f"--kubelet-client-certificate={kubelet_certificate}",
        f"--kubelet-client-key={kubelet_key}",
        "--kubelet-preferred-address-types=InternalIP",
    ]


def scheduler(directory: Path, authority: Authority) -> list[str]:
    config = _client(directory, authority, "kube-scheduler")
    return ["kube-scheduler", f"--kubeconfig={config}", "--leader-elect=false", "--bind-address=127.0.0.1"]


def controller_manager(directory: Path, authority: Authority) -> list[str]:
    """It can sign the certificates of kubelets."""
    config = _client(directory, authority, "kube-controller-manager")
    return [
        "kube-controller-manager",
        f"--kubeconfig={config}",
        "--leader-elect=false",
        "--bind-address=127.0.0.1",
        "--use-service-account-credentials",
        f"--service-account-private-key-file={directory / 'pki' / 'service-accounts.key'}",
        f"--root-ca-file={authority.certificate}",
        f"--cluster-signing-cert-file={authority.certificate}",
        f"--cluster-signing-key-file={authority.key}",
    ]


def _client(directory: Path, authority: Authority, name: str) -> Path:
    file = directory / f"{name}.kubeconfig"
    kubeconfig.write(file, API_SERVER, authority.certificate, *authority.issue(name, f"system:{name}"))
    return file
