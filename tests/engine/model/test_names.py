"""Names of cgroups with both drivers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cgroup_engine.errors import UnsafeNameError
from cgroup_engine.model import names
from cgroup_engine.model.names import Driver, QosClass, Runtime

QOS: dict[str, QosClass] = {"guaranteed": "Guaranteed", "burstable": "Burstable", "besteffort": "BestEffort"}


def test_every_recorded_pod_cgroup_has_the_kubelets_name_or_is_refused(
    recorded: Callable[[str], list[dict[str, Any]]],
) -> None:
    same = refused = 0
    for row in recorded("conversions"):
        if row["fn"] != "pod_cgroup_name":
            continue
        for qos, paths in row["out"].items():
            for driver, path in paths.items():
                try:
                    root = names.parse_cgroupfs(row["cgroup_root"])
                    mine = "/" + names.directory(names.pod_name(root, QOS[qos], row["uid"]), driver)
                except UnsafeNameError:
                    refused += 1
                    # stricter than the kubelet: UIDs that are empty or have "-" at an end, empty parts of cgroupRoot
                    odd_uid = row["uid"] != row["uid"].strip("-") or row["uid"] == ""
                    odd_root = "//" in row["cgroup_root"] or row["cgroup_root"].endswith("/")
                    assert odd_uid or odd_root or path is None, row
                else:
                    same += 1
                    assert mine == path, row
    assert same > 150
    assert refused > 0


def test_every_recorded_node_allocatable_root_is_the_kubelets(recorded: Callable[[str], list[dict[str, Any]]]) -> None:
    for row in recorded("conversions"):
        if row["fn"] == "NodeAllocatableRoot" and row["cgroups_per_qos"] and "out" in row:
            root = names.kubepods_name(names.parse_cgroupfs(row["cgroup_root"]))
            assert "/" + names.directory(root, row["driver"]) == row["out"], row


def test_every_recorded_slice_name_is_expanded_or_refused_as_by_libcontainer(
    recorded: Callable[[str], list[dict[str, Any]]],
) -> None:
    rows = [row for row in recorded("conversions") if row["fn"] == "systemd_ExpandSlice"]
    assert {"error" in row for row in rows} == {True, False}
    for row in rows:
        if "error" in row:
            with pytest.raises(UnsafeNameError):
                names.expand_slice(row["in"])
        else:
            assert "/" + "/".join(names.expand_slice(row["in"])) == row["out"], row


@pytest.mark.parametrize("uid", ["", "../x", "a/b", "a_b", "..", "a..b", "-a", "a\n", "a b", "ä", "x" * 200, "a\x00b"])
def test_a_uid_that_could_leave_its_place_is_refused(uid: str) -> None:
    with pytest.raises(UnsafeNameError):
        names.check_uid(uid)


@pytest.mark.parametrize("text", ["", "xyz", "AB", "../a", "a" * 65, "12 34", "a/b"])
def test_a_container_id_that_is_not_hex_is_refused(text: str) -> None:
    with pytest.raises(UnsafeNameError):
        names.check_container_id(text)


@pytest.mark.parametrize("path", ["/a/../b", "..", "/a//b", "/a/", "/a\nb", "/a/.", "/" + "x" * 300])
def test_a_cgroup_path_that_could_leave_the_root_is_refused(path: str) -> None:
    with pytest.raises(UnsafeNameError):
        names.parse_cgroupfs(path)


def test_a_reserved_cgroup_becomes_a_slice_with_the_systemd_driver() -> None:
    assert names.directory(names.parse_reserved("/kube", "systemd"), "systemd") == "kube.slice"
    assert names.directory(names.parse_reserved("/x/system-res.slice", "systemd"), "systemd") == (
        "system.slice/system-res.slice"
    )


def test_a_reserved_cgroup_is_a_plain_path_with_the_cgroupfs_driver() -> None:
    assert names.directory(names.parse_reserved("/system.slice/kube", "cgroupfs"), "cgroupfs") == "system.slice/kube"


@pytest.mark.parametrize(
    ("driver", "runtime", "expected"),
    [
        ("cgroupfs", "containerd", "ab12"),
        ("cgroupfs", "docker", "ab12"),
        ("cgroupfs", "crio", "crio-ab12"),
        ("systemd", "containerd", "cri-containerd-ab12.scope"),
        ("systemd", "crio", "crio-ab12.scope"),
        ("systemd", "docker", "docker-ab12.scope"),
    ],
)
def test_a_container_is_named_as_its_runtime_names_it(driver: Driver, runtime: Runtime, expected: str) -> None:
    assert names.container_directory("ab12", driver, runtime) == expected


@pytest.mark.parametrize(("version", "place"), [(1, ("system.slice", "containerd.service")), (2, ("system.slice",))])
def test_runc_without_systemd_puts_a_container_beside_containerd(
    version: Literal[1, 2], place: tuple[str, ...]
) -> None:
    pod = names.pod_name(("a-b",), "Burstable", "12-34")
    path = names.misplaced_container(pod, "ab12", version)
    assert path == (*place, "a_b-kubepods-burstable-pod12_34.slice:cri-containerd:ab12")
    assert names.is_misplaced_container(path[-1], "a_b.slice/a_b-kubepods.slice")
    assert not names.is_misplaced_container(path[-1], "kubepods.slice")


@pytest.mark.parametrize(
    "directory",
    ["containerd.service", "kubepods-pod1.slice", "kubepods-pod1.slice:cri-containerd:xyz", "a-pod1.slice:crio:ab"],
)
def test_other_directories_are_no_misplaced_containers(directory: str) -> None:
    assert not names.is_misplaced_container(directory, "kubepods.slice")


def test_an_invented_id_is_the_sha256_of_uid_and_name() -> None:
    assert names.invented_container_id("0aa1a5e2-0b3f-4d0e-8f31-000000000001", "container3") == (
        "8385aae59f5651cd1314368af245509a71c4437bbae40d5c2d84fbd13b6092ea"
    )


@given(st.from_regex(r"[a-z0-9]{1,20}(-[a-z0-9]{1,20}){0,4}", fullmatch=True), st.sampled_from(["cgroupfs", "systemd"]))
def test_a_pods_directory_is_recognised_again(uid: str, driver: Driver) -> None:
    directory = names.directory(names.pod_name((), "Burstable", uid), driver).rpartition("/")[2]
    assert names.is_pod_directory(directory, driver)


@given(st.text())
def test_no_text_makes_a_path_that_leaves_the_root(text: str) -> None:
    try:
        path = names.directory(names.parse_cgroupfs(text), "cgroupfs")
    except UnsafeNameError:
        return
    assert not path.startswith("/")
    assert ".." not in path.split("/")
