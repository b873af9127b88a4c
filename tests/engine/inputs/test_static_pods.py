"""UIDs of static pods without metadata.uid, against those that compiled kubelets give for the same manifests."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cgroup_engine.cli import main
from cgroup_engine.errors import ConfigError, PodError
from cgroup_engine.inputs.config import static_pod_path
from cgroup_engine.inputs.pods import read_pods
from cgroup_engine.inputs.static_pods.image import pull_policy
from cgroup_engine.inputs.static_pods.manifest import Manifests
from cgroup_engine.inputs.static_pods.type_table import type_table
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.pod import Pod

from ..kubelet_tables import OUTSIDE, SAMPLES, outside_directory, rows_of

NEW = KubeletVersion()
ON_NODE = Manifests("n1", "/etc/kubernetes/manifests")
RECORDED = rows_of(SAMPLES / "static_uids.jsonl.gz")
FULL = {"1.32.10": 32, "1.36.2": 36}


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Pod]:
    """Reads one manifest, given as an object, from a file."""

    def read(
        item: dict[str, Any], name: str = "a.json", version: KubeletVersion = NEW, manifests: Manifests = ON_NODE
    ) -> Pod:
        path = tmp_path / name
        path.write_text(json.dumps(item), encoding="utf-8")
        return read_pods([path], version, manifests)[0]

    return read


@pytest.fixture
def make_manifest(make_object: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """An object without metadata.uid."""

    def make(**spec: int | dict[str, Any] | list[dict[str, Any]]) -> dict[str, Any]:
        item = copy.deepcopy(make_object())
        item["metadata"].pop("uid")
        item["spec"].update(spec)
        return item

    return make


@pytest.mark.parametrize("release", RECORDED[0]["uids"])
def test_the_uid_is_that_of_every_kubelet(read: Callable[..., Pod], release: str) -> None:
    version = KubeletVersion(int(release.partition(".")[2]))
    for row in RECORDED:
        directory, name = row["path"].rsplit("/", 1)
        assert read(row["pod"], name, version, Manifests(row["node"], directory)).uid == row["uids"][release]


@pytest.mark.skipif(outside_directory() is None, reason=f"{OUTSIDE} names no directory with the full tables")
@pytest.mark.parametrize("tag", FULL)
def test_all_recorded_static_pods_without_a_uid_have_the_kubelets(read: Callable[..., Pod], tag: str) -> None:
    directory = outside_directory()
    assert directory is not None
    pods = {row["id"]: row["pod"] for row in rows_of(directory / "pods.jsonl.gz")}
    rows = [row for row in rows_of(directory / f"tableA_static_{tag}.jsonl.gz") if row.get("uid_removed")]
    rows = [row for row in rows if "uid" in row]
    assert len(rows) > 50
    for row in rows:
        item = pods[row["id"]]
        item["metadata"].pop("uid", None)
        annotations = item["metadata"].get("annotations") or {}
        if "kubernetes.io/config.mirror" in annotations:
            continue  # shows a static pod whose UID is in the annotation
        source = Path(row["source"])
        pod = read(item, source.name, KubeletVersion(FULL[tag]), Manifests(row["node"], str(source.parent)))
        assert (pod.uid, pod.name) == (row["uid"], row["name"]), row["id"]


def test_the_pod_is_static_and_named_after_its_node(
    read: Callable[..., Pod], make_manifest: Callable[..., dict[str, Any]]
) -> None:
    pod = read(make_manifest())
    assert pod.name.endswith("-n1")
    assert pod.annotations["kubernetes.io/config.source"] == "file"
    assert pod.annotations["kubernetes.io/config.hash"] == pod.uid


def test_a_manifest_whose_mirror_pod_is_listed_too_counts_once(
    read: Callable[..., Pod], make_manifest: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    uid = read(make_manifest()).uid
    mirror = make_manifest()
    mirror["metadata"] |= {"uid": "of-the-mirror", "annotations": {"kubernetes.io/config.mirror": uid}}
    mirror["status"] = {"containerStatuses": [{"name": "c", "containerID": "containerd://ab12"}]}
    (tmp_path / "listed.json").write_text(json.dumps({"kind": "List", "items": [mirror]}))
    [pod] = read_pods([tmp_path], NEW, ON_NODE)
    assert (pod.uid, pod.containers[0].id) == (uid, "ab12")


def test_node_path_and_manifest_make_the_uid(
    read: Callable[..., Pod], make_manifest: Callable[..., dict[str, Any]]
) -> None:
    first = read(make_manifest()).uid
    assert read(make_manifest()).uid == first
    assert read(make_manifest(), name="b.json").uid != first
    assert read(make_manifest(), manifests=Manifests("n2", ON_NODE.directory)).uid != first
    assert read(make_manifest(hostNetwork=True)).uid != first


def test_without_a_static_pod_path_the_files_own_path_counts(tmp_path: Path) -> None:
    assert Manifests("n1").path(tmp_path / "x" / ".." / "a.yaml") == str(tmp_path / "a.yaml")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"overhead": {"cpu": 0.5}}, 'spec.overhead.cpu: "0.5" is not a text or a whole number'),
        ({"hostname": 5}, 'spec.hostname: "5" is not of the type string'),
        ({"volumes": {}}, "spec.volumes: is not a list"),
        ({"terminationGracePeriodSeconds": -1}, "spec.terminationGracePeriodSeconds: is below zero"),
        ({"containers": [{"name": "c", "image": "UPPER"}]}, "spec.containers[0].imagePullPolicy: is missing"),
        ({"volumes": [{"name": "v", "image": {"reference": "i"}}]}, "spec.volumes[0].image.pullPolicy: is missing"),
    ],
)
def test_a_manifest_that_is_not_covered_is_refused(
    read: Callable[..., Pod], make_manifest: Callable[..., dict[str, Any]], spec: dict[str, Any], message: str
) -> None:
    with pytest.raises(PodError) as caught:
        read(make_manifest(**spec))
    assert f"the kubelet's hash is not known: {message}" in str(caught.value)


def test_a_release_whose_types_are_not_known_is_refused(
    read: Callable[..., Pod], make_manifest: Callable[..., dict[str, Any]]
) -> None:
    with pytest.raises(PodError, match=r"is for kubelet 1\.37, whose types are not known"):
        read(make_manifest(), version=KubeletVersion(37))


def test_in_yaml_a_number_that_may_have_had_quotes_is_refused(
    read: Callable[..., Pod], make_manifest: Callable[..., dict[str, Any]]
) -> None:
    assert read(make_manifest(overhead={"cpu": "1e3"})).uid
    with pytest.raises(PodError, match="depending on quotes"):
        read(make_manifest(overhead={"cpu": "1e3"}), name="a.yaml")


def test_aliases_that_repeat_one_object_very_often_are_refused(tmp_path: Path) -> None:
    levels = [f"x{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 30)]
    path = tmp_path / "a.yaml"
    path.write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, image: i}]}\nx0: &l0 [x]\n"
        + "\n".join(levels)
    )
    assert read_pods([path], NEW, ON_NODE)[0].uid  # unknown fields do not count
    sources = "\n".join(["      - *s"] * 3000)
    volumes = "\n".join(["  - *v"] * 3000)
    path.write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers: [{name: c, image: i}]\n  volumes:\n"
        "  - &v\n    name: v\n    projected:\n      sources:\n      - &s {secret: {name: x}}\n"
        + sources
        + "\n"
        + volumes
    )
    with pytest.raises(PodError, match="Mi characters"):
        read_pods([path], NEW, ON_NODE)


def test_a_pod_among_others_needs_its_uid(tmp_path: Path, make_manifest: Callable[..., dict[str, Any]]) -> None:
    path = tmp_path / "list.json"
    path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": [make_manifest()]}))
    with pytest.raises(PodError, match=r"metadata\.uid: is missing"):
        read_pods([path], NEW, ON_NODE)


def test_a_relative_static_pod_path_is_beside_the_configuration() -> None:
    assert static_pod_path({"staticPodPath": "manifests"}, "/etc/kubelet/config.yaml") == "/etc/kubelet/manifests"
    assert static_pod_path({}, "kubelet configuration") is None
    with pytest.raises(ConfigError, match="staticPodPath"):
        static_pod_path({"staticPodPath": 5}, "config.yaml")


def test_the_command_line_says_which_uid_it_took(
    tmp_path: Path, make_manifest: Callable[..., dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(make_manifest()))
    node = ["--cpus", "3", "--memory", "8Gi", "--max-pids", "32768", "--node-name", "N1"]
    assert main(["explain", *node, str(path)]) == 0
    uid = read_pods([path], NEW, Manifests("n1"))[0].uid
    printed = capsys.readouterr()
    assert f"UID {uid}" in printed.err
    assert "-n1" in printed.out


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("nginx:1.25", "IfNotPresent"),
        ("localhost:5000/a/b:latest", "Always"),
        (f"a@sha256:{'0' * 64}", "IfNotPresent"),
        ("", "IfNotPresent"),
        ("Nginx", None),
        ("0" * 64, None),
    ],
)
def test_the_pull_policy_follows_from_the_tag(image: str, policy: str | None) -> None:
    assert pull_policy(image) == policy


@pytest.mark.parametrize("minor", range(24, 37))
def test_every_type_of_a_manifest_is_known(minor: int) -> None:
    table = type_table(minor)
    own = {"string", "bool", "int32", "int64", "types.UID", "resource.Quantity", "intstr.IntOrString", "v1.Time"}
    for name, fields in table.structs.items():
        for field in fields if name != "core.PodStatus" else ():
            element = field.type.lstrip("*").replace("[]", "").rpartition("]")[2]
            known = own | table.structs.keys() | table.kinds.keys() | {"v1.ManagedFieldsEntry"}
            assert element in known, (name, field)
