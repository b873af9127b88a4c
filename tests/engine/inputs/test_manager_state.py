"""The managers' state files, against what compiled kubelets 1.25.10, 1.32.13 and 1.36.2 restore from the same files."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cgroup_engine.errors import ConfigError
from cgroup_engine.inputs.manager_state import read_cpu_manager_state, read_memory_manager_state
from cgroup_engine.inputs.manager_state.checkpoint import MAX_BYTES
from cgroup_engine.model.cpu_list import cpu_list, parse_cpu_list
from cgroup_engine.model.kubelet_version import KubeletVersion

VERSIONS = {
    "1.25.10": KubeletVersion(25),
    "1.32.13": KubeletVersion(32),
    "1.36.2": KubeletVersion(36),
    "1.36.2+": KubeletVersion(36, {"PodLevelResourceManagers": True}),
}
STATE = '{"policyName":"static","defaultCpuSet":"0-1","entries":{"u":{"c":"2-3"}},"checksum":0}'


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = tmp_path / "state"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def _restored(row: dict[str, Any], path: Path, version: KubeletVersion) -> dict[str, Any] | None:
    """What a kubelet says (ask of NewCheckpointState): the assignments, None if it does not start."""
    try:
        if row["kind"] == "memory":
            memory = read_memory_manager_state(path, version)
            nodes = {uid: {name: list(each) for name, each in of_pod.items()} for uid, of_pod in memory.nodes.items()}
            return {"nodes": nodes} if memory.policy == row["policy"] else None
        state = read_cpu_manager_state(path, version)
    except ConfigError:
        return None
    if state.policy != row["policy"]:
        return None
    entries = {uid: dict(of_pod) for uid, of_pod in state.containers.items()}
    for container, (uid, name) in row.get("containers", {}).items():
        cpus = state.assigned(uid, name, container)
        if cpus is not None:
            entries.setdefault(uid, {})[name] = cpus
    return {"default": state.shared, "entries": entries, "pods": dict(state.pods)}


@pytest.mark.parametrize("kubelet", VERSIONS)
def test_a_state_is_restored_as_by_the_kubelet(
    recorded: Callable[[str], list[dict[str, Any]]], written: Callable[[str], Path], kubelet: str
) -> None:
    for row in recorded("checkpoints"):
        answer = row["answers"][kubelet]
        expected = None if "error" in answer else answer
        # an overlap is refused when the policy starts, after the state is restored
        if expected is not None and row["kind"] == "cpu":
            shared = parse_cpu_list(expected["default"])
            given = [parse_cpu_list(cpus) for of_pod in expected["entries"].values() for cpus in of_pod.values()]
            assert not any(shared & cpus for cpus in given)
        assert _restored(row, written(row["text"]), VERSIONS[kubelet]) == expected, row["text"]


def test_a_kubelet_1_37_is_read_like_1_36_and_what_it_adds_is_left_out(written: Callable[[str], Path]) -> None:
    state = read_cpu_manager_state(written(STATE.replace("{", '{"v4":{},', 1)), KubeletVersion(37))
    assert (state.shared, state.assigned("u", "c", None)) == ("0-1", "2-3")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (STATE.replace(":0}", ":1}"), "is corrupt: its checksum is 1, and its content gives "),
        (STATE.replace("2-3", "1-3"), 'gives CPUs 1 to "u", "c", and shares them too'),
        (STATE.replace("0-1", ""), r"has no shared CPUs \(defaultCpuSet\)"),
        (STATE.replace("0-1", "0-999999"), 'defaultCpuSet: "0-999999" is no list of CPUs'),
        (STATE.replace("0-1", "9999"), 'defaultCpuSet: "9999" is no list of CPUs'),
        (STATE.replace('"2-3"', "{}"), 'entries.u.c: "a mapping" is not a text|entries.u.c: a mapping is not a text'),
        (STATE.replace('"u"', '"policyName":1,"policyName"'), "is no JSON as a kubelet writes it"),
        (STATE[:-1], "is no JSON as a kubelet writes it"),
        ("[" * 100_000, "is no JSON as a kubelet writes it"),
        ("[]", "is no JSON object"),
        ("", "is no JSON as a kubelet writes it"),
    ],
)
@pytest.mark.hostile("a broken state file of the CPU manager", times=11)
def test_a_broken_state_is_one_line(written: Callable[[str], Path], text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        read_cpu_manager_state(written(text), KubeletVersion())
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000


@pytest.mark.hostile("a state file that names a million times more CPUs than a node has", times=1)
def test_a_state_with_endless_lists_is_refused_at_once(written: Callable[[str], Path]) -> None:
    many = ",".join(["0-8191"] * 200)
    entries = {f"u{n}": {"c": many} for n in range(1000)}
    text = json.dumps({"policyName": "static", "defaultCpuSet": "8191", "entries": entries, "checksum": 0})
    with pytest.raises(ConfigError, match="is no list of CPUs"):
        read_cpu_manager_state(written(text), KubeletVersion())


@pytest.mark.hostile("a state file that is too large, a directory, or not there", times=3)
def test_what_is_no_small_file_is_refused(tmp_path: Path) -> None:
    large = tmp_path / "large"
    with large.open("wb") as file:
        os.ftruncate(file.fileno(), MAX_BYTES + 1)
    for path, message in ((large, "larger than 16 MiB"), (tmp_path, "cannot be read"), (tmp_path / "x", "cannot be")):
        with pytest.raises(ConfigError, match=message):
            read_memory_manager_state(path, KubeletVersion())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"machineState":{"x":{}},"checksum":1}', "machineState: 'x' is no NUMA node"),
        ('{"machineState":{"0":null},"checksum":1}', "machineState.0: is not a mapping"),
        ('{"entries":{"u":{"c":[{"numaAffinity":[-1]}]}},"checksum":1}', "is not a whole number"),
        ('{"entries":{"u":{"c":[{"numaAffinity":[0],"size":1e3}]}},"checksum":1}', "is not a whole number"),
    ],
)
@pytest.mark.hostile("a broken state file of the memory manager", times=4)
def test_a_broken_memory_state_is_one_line(written: Callable[[str], Path], text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_memory_manager_state(written(text), KubeletVersion())


def test_lists_are_as_the_kernel_shows_them(written: Callable[[str], Path]) -> None:
    state = read_cpu_manager_state(written(STATE.replace("2-3", "3,2")), KubeletVersion())
    assert state.assigned("u", "c", None) == cpu_list([2, 3])
