"""The manifests in deploy/kubernetes: fields that Kubernetes knows, no right too many, arguments that are accepted."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from cgroup_engine.cli.program import parser

HERE = Path(__file__).parents[2] / "deploy" / "kubernetes"
PARTS = yaml.safe_load((HERE / "kustomization.yaml").read_text())["resources"]
OBJECTS = [each for part in PARTS for each in yaml.safe_load_all((HERE / part).read_text())]


def _one(kind: str) -> dict[str, Any]:
    [found] = [each for each in OBJECTS if each["kind"] == kind]
    return dict(found)


@pytest.fixture
def pod() -> dict[str, Any]:
    return dict(_one("DaemonSet")["spec"]["template"]["spec"])


@pytest.fixture
def container(pod: dict[str, Any]) -> dict[str, Any]:
    [found] = pod["containers"]
    return dict(found)


def test_every_manifest_is_in_the_kustomization() -> None:
    assert {path.name for path in HERE.glob("*.yaml")} == {"kustomization.yaml", *PARTS}


def test_every_field_is_one_that_kubernetes_knows() -> None:
    models = pytest.importorskip("kubernetes.client.models")
    for each in OBJECTS:
        group, _, version = each["apiVersion"].rpartition("/")
        assert group in ("", "apps", "rbac.authorization.k8s.io")
        _check(models, f"{version.capitalize()}{each['kind']}", each, each["kind"])


def _check(models: ModuleType, name: str, value: Any, where: str) -> None:
    """Does a value have the type that the API gives it, all the way down? ``name``: as the client names types."""
    if inner := re.fullmatch(r"list\[(.*)\]", name, re.IGNORECASE):
        assert isinstance(value, list), where
        for n, one in enumerate(value):
            _check(models, inner[1], one, f"{where}[{n}]")
    elif inner := re.fullmatch(r"dict[\[(]str, (.*)[\])]", name, re.IGNORECASE):
        for key, one in value.items():
            _check(models, inner[1], one, f"{where}.{key}")
    elif name in ("str", "int", "bool"):
        assert type(value).__name__ == name, where
    elif name != "object":
        model = getattr(models, name)
        fields = {json_name: model.openapi_types[field] for field, json_name in model.attribute_map.items()}
        for key, one in value.items():
            assert key in fields, f"{where}: {name} has no {key}"
            _check(models, fields[key], one, f"{where}.{key}")


def test_it_may_look_at_pods_and_nothing_else() -> None:
    assert _one("ClusterRole")["rules"] == [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}
    ]
    assert _one("ClusterRoleBinding")["roleRef"]["name"] == _one("ClusterRole")["metadata"]["name"]
    [subject] = _one("ClusterRoleBinding")["subjects"]
    account = _one("ServiceAccount")["metadata"]
    assert (subject["name"], subject["namespace"]) == (account["name"], account["namespace"])
    assert not [each for each in OBJECTS if each["kind"] in ("Role", "RoleBinding")]


def test_beside_a_kubelet_it_only_looks(pod: dict[str, Any], container: dict[str, Any]) -> None:
    assert "--dry-run" in container["args"]
    assert "--take-over" not in container["args"]
    [mount] = [mount for mount in container["volumeMounts"] if mount["mountPath"] == "/sys/fs/cgroup"]
    assert mount["readOnly"] is True


def test_it_has_no_privilege(pod: dict[str, Any], container: dict[str, Any]) -> None:
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert not {"hostPID", "hostNetwork", "hostIPC"} & set(pod)


def test_every_path_of_the_node_is_read_only(pod: dict[str, Any], container: dict[str, Any]) -> None:
    of_node = {volume["name"] for volume in pod["volumes"] if "hostPath" in volume}
    assert of_node == {mount["name"] for mount in container["volumeMounts"] if mount.get("readOnly")}


@pytest.mark.parametrize("ip", ["10.1.2.3", "fd00::1"])
def test_its_arguments_are_accepted(container: dict[str, Any], ip: str) -> None:
    values = {"NODE_NAME": "node-1", "POD_IP": ip}
    assert {each["name"] for each in container["env"]} == set(values)
    arguments = [re.sub(r"\$\((\w+)\)", lambda found: values[found[1]], each) for each in container["args"]]
    options = parser().parse_args(arguments)
    assert options.dry_run
    assert options.pods_from == "apiserver"
    assert (options.listen.host, options.listen.port) == (ip, 9753)


def test_probes_ask_where_it_listens(container: dict[str, Any]) -> None:
    [port] = container["ports"]
    assert f":{port['containerPort']}" in next(each for each in container["args"] if each.startswith("--listen"))
    probes = {name: container[name]["httpGet"] for name in ("startupProbe", "livenessProbe", "readinessProbe")}
    assert {name: probe["path"] for name, probe in probes.items()} == {
        "startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz",
    }  # fmt: skip
    assert all(probe["port"] == port["name"] for probe in probes.values())
