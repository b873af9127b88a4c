"""Pods from files, checked and defaulted."""

from __future__ import annotations

import json
import os
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from cgroup_engine.errors import PodError
from cgroup_engine.inputs.input_text import PIECE
from cgroup_engine.inputs.pod_object import pod_from_object
from cgroup_engine.inputs.pods import read_pods, read_pods_of_versions
from cgroup_engine.inputs.static_pods.manifest import Manifests
from cgroup_engine.kubelet.qos import qos_class
from cgroup_engine.kubelet.resources import pod_requests
from cgroup_engine.kubelet.shares import milli_to_shares
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.pod import Pod

NEW = KubeletVersion()


def _write(path: Path, *objects: dict[str, Any]) -> Path:
    path.write_text(yaml.safe_dump_all(list(objects)))
    return path


def test_pods_come_from_files_lists_and_directories(tmp_path: Path, make_object: Callable[..., dict[str, Any]]) -> None:
    _write(tmp_path / "a.yaml", make_object(n=1), make_object(n=2))
    (tmp_path / "b.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [make_object(n=3)]}))
    (tmp_path / "ignored.txt").write_text("not a pod")
    (tmp_path / ".hidden.yaml").write_text("not a pod")
    assert [pod.name for pod in read_pods([tmp_path], NEW)] == ["p1", "p2", "p3"]


def test_the_items_of_a_pod_list_need_no_kind(tmp_path: Path, make_object: Callable[..., dict[str, Any]]) -> None:
    item = make_object()
    del item["kind"], item["apiVersion"]
    path = _write(tmp_path / "l.yaml", {"apiVersion": "v1", "kind": "PodList", "items": [item]})
    assert len(read_pods([path], NEW)) == 1


def test_other_kinds_in_a_list_are_left_out_and_told_once(
    tmp_path: Path, make_object: Callable[..., dict[str, Any]]
) -> None:
    others = [{"apiVersion": "v1", "kind": kind} for kind in ("Service", "Service", "Node")]
    path = _write(tmp_path / "all.yaml", {"apiVersion": "v1", "kind": "List", "items": [*others, make_object()]})
    notes: list[str] = []
    assert len(read_pods([path], NEW, notes=notes)) == 1
    assert notes == [f"{path}: 3 objects are no pods, and left out: 2 Service, 1 Node"]


def test_one_other_object_is_told_in_the_singular(tmp_path: Path, make_object: Callable[..., dict[str, Any]]) -> None:
    path = _write(tmp_path / "all.yaml", {"kind": "List", "items": [make_object(), {"kind": "Node"}]})
    notes: list[str] = []
    read_pods([path], NEW, notes=notes)
    assert notes == [f"{path}: 1 object is no pod, and left out: 1 Node"]


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("List", r"items\[2\]: kind \"None\" of apiVersion \"None\" is not a Pod"),
        ("PodList", r"items\[1\]: kind \"Node\""),
        ("Table", r"all.json: kind \"Table\""),
    ],
)
def test_the_kind_that_follows_the_items_decides_what_they_may_be(
    tmp_path: Path, make_object: Callable[..., dict[str, Any]], kind: str, message: str
) -> None:
    without_kind = {key: value for key, value in make_object(n=2).items() if key not in ("kind", "apiVersion")}
    items = [make_object(n=1), {"apiVersion": "v1", "kind": "Node"}, without_kind]
    (tmp_path / "all.json").write_text(json.dumps({"apiVersion": "v1", "items": items, "kind": kind}))
    with pytest.raises(PodError, match=message):
        read_pods([tmp_path], NEW)


@pytest.mark.parametrize("dump", [json.dumps, yaml.safe_dump])
def test_of_several_bad_items_the_first_is_named(
    tmp_path: Path, make_object: Callable[..., dict[str, Any]], dump: Callable[..., str]
) -> None:
    items = [make_object(n=1), make_object(n=2, priority="x"), {"kind": "Pod"}, make_object(n=1)]
    (tmp_path / "all.yaml").write_text(dump({"items": items, "kind": "PodList"}))
    with pytest.raises(PodError, match=r"items\[1\]"):
        read_pods([tmp_path], NEW)


def test_what_is_wrong_after_a_bad_pod_is_told_first(tmp_path: Path) -> None:
    (tmp_path / "all.yaml").write_text("items:\n- kind: Pod\nkind: [\n")
    with pytest.raises(PodError, match="line 4: is not YAML"):
        read_pods([tmp_path], NEW)


def test_a_second_document_makes_the_first_a_pod_among_others(
    tmp_path: Path, make_object: Callable[..., dict[str, Any]]
) -> None:
    manifest = make_object()
    del manifest["metadata"]["uid"]
    path = _write(tmp_path / "a.yaml", manifest, make_object(n=2))
    with pytest.raises(PodError, match=r"metadata\.uid: is missing"):
        read_pods([path], NEW, Manifests("n1"))


def test_pods_are_read_for_two_kubelets_at_once(tmp_path: Path, make_object: Callable[..., dict[str, Any]]) -> None:
    path = _write(tmp_path / "a.yaml", make_object(resources={"limits": {"memory": "1Gi"}}))
    old, new = read_pods_of_versions([path], [KubeletVersion(31), NEW])
    assert [pod.limits.keys() for pod in (*old, *new)] == [set(), {"memory"}]


def test_a_pipe_is_read_like_a_file(tmp_path: Path, make_object: Callable[..., dict[str, Any]]) -> None:
    pipe = tmp_path / "pods"
    os.mkfifo(pipe)
    text = json.dumps({"kind": "List", "items": [make_object(n=n) for n in range(100)]})
    with ThreadPoolExecutor() as executor:
        writing = executor.submit(pipe.write_text, text)
        assert len(read_pods([pipe], NEW)) == 100
        writing.result()


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_the_memory_in_use_does_not_grow_with_the_text(
    tmp_path: Path, make_object: Callable[..., dict[str, Any]], form: str
) -> None:
    """A hundred times the text takes less than four times the memory, besides one piece and one object."""

    def peak(text_in_each: int) -> int:
        path = tmp_path / f"pods.{form}"
        with path.open("w") as file:
            file.write("items:\n" if form == "yaml" else '{"items": [')
            for n in range(100):
                item = make_object(n=n)
                item["metadata"]["annotations"] = {"text": "x" * text_in_each}
                text = json.dumps(item)
                file.write(f"- {text}\n" if form == "yaml" else "," * (n > 0) + text)
            file.write("kind: List\n" if form == "yaml" else '], "kind": "List"}')
        tracemalloc.start()
        try:
            assert len(read_pods([path], NEW)) == 100
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(100)  # what is imported and compiled at first
    assert peak(30_000) < 2 * PIECE + 10 * 30_000 + 4 * peak(300)


@pytest.mark.hostile("an object in a List of more than 10 MiB")
def test_an_object_that_is_too_large_is_refused_by_name(
    tmp_path: Path, make_object: Callable[..., dict[str, Any]]
) -> None:
    large = make_object(n=2)
    large["metadata"]["annotations"] = {"text": "x" * (11 << 20)}
    path = tmp_path / "all.json"
    path.write_text(json.dumps({"items": [make_object(n=1), large], "kind": "List"}, indent=4))
    with pytest.raises(PodError, match=r"all.json: items\[1\]: larger than 10 MiB"):
        read_pods([path], NEW)


def test_a_directory_without_pods_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PodError, match="holds no pod"):
        read_pods([tmp_path], NEW)


def test_a_request_defaults_from_its_limit_per_resource(
    make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    pod = make_pod(make_container(requests={"cpu": "1"}, limits={"cpu": "2", "memory": "1Gi"}))
    assert {name: str(amount) for name, amount in pod.containers[0].requests.items()} == {"cpu": "1", "memory": "1Gi"}


def test_a_quantity_is_rounded_up_to_milli(
    make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    pod = make_pod(make_container(requests={"cpu": "0.0001"}))
    assert str(pod.containers[0].requests["cpu"]) == "1m"


def test_numbers_without_quotes_are_quantities(
    make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    pod = make_pod(make_container(requests={"cpu": 0.5, "memory": 1000}))
    assert pod.containers[0].requests["cpu"].milli_value() == 500


@pytest.mark.parametrize(
    ("resources", "shares", "qos"),
    [
        ({"requests": {"cpu": None}}, 2, "BestEffort"),
        ({"limits": {"cpu": None, "memory": "1Gi"}}, 2, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": None}}, 2, "Burstable"),
        ({"limits": None, "requests": {"memory": None, "cpu": "100m"}}, 102, "Burstable"),
    ],
)
def test_a_null_quantity_is_zero_as_go_reads_it(
    make_pod: Callable[..., Pod], resources: dict[str, Any], shares: int, qos: str
) -> None:
    """Decode, ResourceConfigForPod and GetPodQOS of 1.36.2 were asked."""
    pod = make_pod({"name": "a", "image": "i", "resources": resources})
    assert qos_class(pod, NEW) == qos
    assert milli_to_shares(pod_requests(pod, NEW)["cpu"].milli_value()) == shares


def test_a_container_id_is_taken_from_the_status(
    make_object: Callable[..., dict[str, Any]], make_container: Callable[..., dict[str, Any]]
) -> None:
    item = make_object(make_container("a"), make_container("b"))
    item["status"] = {"containerStatuses": [{"name": "a", "containerID": "containerd://" + "ab" * 32}, {"name": "b"}]}
    pod = pod_from_object(item, "test", NEW)
    assert [container.id for container in pod.containers] == ["ab" * 32, None]


def test_a_sidecar_has_a_cgroup_and_a_finished_init_container_has_none(
    make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    init = [make_container("i"), make_container("s", restartPolicy="Always")]
    pod = make_pod(make_container("c"), initContainers=init)
    assert [container.name for container in pod.with_cgroup] == ["s", "c"]


def test_an_ephemeral_container_has_a_cgroup_without_resources_while_it_runs(
    make_object: Callable[..., dict[str, Any]], make_container: Callable[..., dict[str, Any]]
) -> None:
    requests = make_container("a", requests={"cpu": "1"}, limits={"cpu": "1"})
    item = make_object(requests, ephemeralContainers=[{"name": "debug", "image": "i"}, {"name": "over", "image": "i"}])
    over = {"name": "over", "state": {"terminated": {"exitCode": 0}}}
    item["status"] = {"ephemeralContainerStatuses": [{"name": "debug", "containerID": "containerd://ab12"}, over]}
    pod = pod_from_object(item, "test", NEW)
    assert [container.name for container in pod.with_cgroup] == ["a", "debug"]
    assert str(pod_requests(pod, NEW)["cpu"]) == "1"
    assert (pod.with_cgroup[1].id, pod.with_cgroup[1].requests) == ("ab12", {})


def test_before_sidecars_every_init_container_finishes(
    make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    pod = make_pod(make_container("c"), initContainers=[make_container("s", restartPolicy="Always")], minor=27)
    assert [container.name for container in pod.with_cgroup] == ["c"]


@pytest.mark.parametrize("uid", ["0123456789abcdef" * 2, "given-in-the-manifest"])
def test_a_mirror_pod_has_the_uid_of_its_static_pod(make_object: Callable[..., dict[str, Any]], uid: str) -> None:
    item = make_object()
    item["metadata"]["annotations"] = {"kubernetes.io/config.mirror": uid}
    assert pod_from_object(item, "test", NEW).uid == uid


def test_a_mirror_pod_of_a_dangerous_uid_is_refused(make_object: Callable[..., dict[str, Any]]) -> None:
    item = make_object()
    item["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "../x"}
    with pytest.raises(PodError, match=r'metadata\.annotations: "\.\./x" is not a pod UID'):
        pod_from_object(item, "test", NEW)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p["metadata"].pop("uid"), "metadata.uid: is missing"),
        (lambda p: p["metadata"].update(uid="../../etc"), 'metadata.uid: "../../etc" is not a pod UID'),
        (lambda p: p["metadata"].update(uid="a/b"), "metadata.uid"),
        (lambda p: p["metadata"].update(uid=12), 'metadata.uid: "12" is not a text'),
        (lambda p: p["metadata"].update(name="A b"), "metadata.name"),
        (lambda p: p["metadata"].update(namespace="x/y"), "metadata.namespace"),
        (lambda p: p.update(kind="Deployment"), "is not a Pod"),
        (lambda p: p.update(metadata=[]), "metadata: is not a mapping"),
        (lambda p: p["spec"].update(containers=[]), "spec.containers: is empty"),
        (lambda p: p["spec"].update(containers={}), "spec.containers: is empty"),
        (lambda p: p["spec"].update(containers="x"), "spec.containers: is not a list"),
        (lambda p: p["spec"]["containers"][0].update(name="a/b"), "spec.containers[0].name"),
        (lambda p: p["spec"]["containers"].append(p["spec"]["containers"][0]), 'two containers are named "c"'),
        (lambda p: p["spec"].update(priority="high"), "spec.priority"),
        (lambda p: p.update(status={"qosClass": "Best"}), "status.qosClass"),
        (
            lambda p: p.update(status={"containerStatuses": [{"name": "c", "containerID": "containerd://../x"}]}),
            "status.containerStatuses[0].containerID",
        ),
    ],
)
def test_a_pod_that_cannot_be_used_is_refused_in_one_line(
    make_object: Callable[..., dict[str, Any]], change: Callable[..., Any], message: str
) -> None:
    item = make_object()
    change(item)
    with pytest.raises(PodError) as caught:
        pod_from_object(item, "pods.yaml", NEW)
    assert message in str(caught.value)
    assert str(caught.value).startswith("pods.yaml")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("amount", ["1x", "-1", "", True, [], {}, "1e99", float("nan"), "\n"])
def test_a_bad_quantity_is_refused_with_its_field(
    make_object: Callable[..., dict[str, Any]], make_container: Callable[..., dict[str, Any]], amount: Any
) -> None:
    item = make_object(make_container(limits={"memory": amount}))
    with pytest.raises(PodError, match=r"pod default/p1: spec\.containers\[0\]\.resources\.limits\.memory"):
        pod_from_object(item, "f", NEW)


def test_a_quantity_made_of_multiplying_anchors_is_refused_at_once(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 60)]
    lines += ["apiVersion: v1", "kind: Pod", f"metadata: {{name: p, uid: {'0' * 32}}}"]
    lines += ["spec: {containers: [{name: c, resources: {limits: {cpu: *a59}}}]}"]
    path = tmp_path / "bomb.yaml"
    path.write_text("\n".join(lines).replace("uid: 0", "uid: a"))
    with pytest.raises(PodError, match="a list is not a quantity"):
        read_pods([path], NEW)


def test_a_request_over_its_limit_is_refused(
    make_object: Callable[..., dict[str, Any]], make_container: Callable[..., dict[str, Any]]
) -> None:
    item = make_object(make_container(requests={"cpu": "2"}, limits={"cpu": "1"}))
    with pytest.raises(PodError, match=r"resources\.requests\.cpu: 2 is over its limit of 1"):
        pod_from_object(item, "f", NEW)


def test_two_pods_with_one_uid_are_refused(tmp_path: Path, make_object: Callable[..., dict[str, Any]]) -> None:
    path = _write(tmp_path / "a.yaml", make_object(n=1), {**make_object(n=1)})
    with pytest.raises(PodError, match="is also that of default/p1"):
        read_pods([path], NEW)


def test_pod_level_requests_default_from_containers_and_limits(
    make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    pod = make_pod(make_container(requests={"cpu": "1"}), resources={"limits": {"cpu": "2", "memory": "1Gi"}})
    assert {name: str(amount) for name, amount in pod.requests.items()} == {"cpu": "1", "memory": "1Gi"}


def test_without_the_gate_pod_level_resources_are_not_looked_at(
    make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    assert make_pod(make_container(), resources={"limits": {"cpu": "junk"}}, minor=33).limits == {}
