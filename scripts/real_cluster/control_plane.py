"""The control plane's programs and their command lines."""

from __future__ import annotations

from pathlib import Path

from . import credentials, network
from .certificates import Authority

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


def api_server(authority: Authority) -> list[str]:
    """It has the address and the port of the service `kubernetes`, so that pods reach it without a kube-proxy."""
    certificate, key = authority.files(credentials.API_SERVER)
    kubelet_certificate, kubelet_key = authority.files(credentials.KUBELET_CLIENT)
    tokens_certificate, tokens_key = authority.files(credentials.TOKENS)
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


def scheduler(directory: Path) -> list[str]:
    config = credentials.kubeconfig_of(directory, credentials.SCHEDULER)
    return ["kube-scheduler", f"--kubeconfig={config}", "--leader-elect=false", "--bind-address=127.0.0.1"]


def controller_manager(directory: Path, authority: Authority) -> list[str]:
    """It can sign the certificates of kubelets."""
    return [
        "kube-controller-manager",
        f"--kubeconfig={credentials.kubeconfig_of(directory, credentials.CONTROLLERS)}",
        "--leader-elect=false",
        "--bind-address=127.0.0.1",
        "--use-service-account-credentials",
        f"--service-account-private-key-file={authority.files(credentials.TOKENS)[1]}",
        f"--root-ca-file={authority.certificate}",
        f"--cluster-signing-cert-file={authority.certificate}",
        f"--cluster-signing-key-file={authority.key}",
    ]


def prometheus(directory: Path) -> list[str]:
    """Of the kubeconfig beside its configuration."""
    return [
        "prometheus",
        f"--config.file={directory / 'prometheus.yaml'}",
        f"--storage.tsdb.path={directory / 'prometheus'}",
        "--web.listen-address=127.0.0.1:9090",
    ]
