"""Fields that decoding a manifest fills in or moves, besides amounts (SetObjectDefaults_Pod, conversions from v1).

Source: ``pkg/apis/core/v1`` (defaults.go, zz_generated.defaults.go, conversion.go) of 1.24 to 1.36.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cgroup_engine.errors import quoted
from cgroup_engine.inputs.static_pods.image import pull_policy
from cgroup_engine.inputs.static_pods.not_covered import NotCoveredError

Object = Mapping[str, Any]

_CONTAINER = {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}
_MODE = {"defaultMode": 0o644}

# type -> key -> default of a missing field, or of a zero in a field that is no pointer
_VALUES: dict[str, dict[str, Any]] = {
    "core.AzureDiskVolumeSource": {
        "cachingMode": "ReadWrite",
        "kind": "Shared",
        "fsType": "ext4",
        "readOnly": False,
    },
    "core.ConfigMapVolumeSource": _MODE,
    "core.Container": _CONTAINER,
    "core.ContainerPort": {"protocol": "TCP"},
    "core.DownwardAPIVolumeSource": _MODE,
    "core.EphemeralContainerCommon": _CONTAINER,
    "core.FileKeySelector": {"optional": False},
    "core.GRPCAction": {"service": ""},
    "core.HTTPGetAction": {"path": "/", "scheme": "HTTP"},
    "core.HostPathVolumeSource": {"type": ""},
    "core.ISCSIVolumeSource": {"iscsiInterface": "default"},
    "core.ObjectFieldSelector": {"apiVersion": "v1"},
    "core.PersistentVolumeClaimSpec": {"volumeMode": "Filesystem"},
    "core.PodSpec": {
        "dnsPolicy": "ClusterFirst",
        "restartPolicy": "Always",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
        "schedulerName": "default-scheduler",
        "enableServiceLinks": True,
    },
    "core.Probe": {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3},
    "core.ProjectedVolumeSource": _MODE,
    "core.RBDVolumeSource": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "core.ScaleIOVolumeSource": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
    "core.SecretVolumeSource": _MODE,
    "core.ServiceAccountTokenProjection": {"expirationSeconds": 3600},
}
_OF_THE_SPEC = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")
_OLD_INIT_CONTAINERS = {
    f"pod.{stage}.kubernetes.io/init-container{what}" for stage in ("alpha", "beta") for what in ("s", "-statuses")
}


def value_if_missing(type_: str, key: str) -> Any:
    """The default of a field, or None."""
    return _VALUES.get(type_, {}).get(key)


def converted(type_: str, item: Object, spot: str) -> Object:
    """An object of a manifest with the keys of the kubelet's own type, and with defaults from several fields.

    :raises NotCoveredError: ``spot`` is a container whose imagePullPolicy depends on an unusual image name.
    """
    if type_ == "v1.ObjectMeta":
        annotations = item.get("annotations")
        if isinstance(annotations, dict) and _OLD_INIT_CONTAINERS & annotations.keys():
            kept = {key: value for key, value in annotations.items() if key not in _OLD_INIT_CONTAINERS}
            return {**item, "annotations": kept}
    elif type_ == "core.PodSpec":
        return _spec(item)
    elif type_ in ("core.Container", "core.EphemeralContainerCommon"):
        image = item.get("image") or ""
        if not item.get("imagePullPolicy") and isinstance(image, str):
            policy = pull_policy(image)
            if policy is None:
                raise NotCoveredError(f"{spot}.imagePullPolicy", f"is missing, for the image {quoted(image)}")
            return {**item, "imagePullPolicy": policy}
    return item


def _spec(item: Object) -> Object:
    context = item.get("securityContext")
    changed: dict[str, Any] = {}
    if context is None or isinstance(context, dict):
        changed["securityContext"] = {**(context or {}), **{key: item.get(key) for key in _OF_THE_SPEC}}
    if not item.get("serviceAccountName"):
        changed["serviceAccountName"] = item.get("serviceAccount")
    if item.get("hostNetwork") is True:
        for key in ("containers", "initContainers"):
            if isinstance(item.get(key), list):
                changed[key] = [_with_host_ports(container) for container in item[key]]
    return {**item, **changed}


def _with_host_ports(container: Any) -> Any:
    """defaultHostNetworkPorts."""
    if not isinstance(container, dict) or not isinstance(container.get("ports"), list):
        return container
    return {
        **container,
        "ports": [
            {**port, "hostPort": port.get("hostPort") or port.get("containerPort")} if isinstance(port, dict) else port
            for port in container["ports"]
        ],
    }
