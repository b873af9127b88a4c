"""--cpu-manager-state and --memory-manager-state."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cgroup_engine.cli import main

NODE = ["--cpus", "4", "--memory", "8Gi", "--max-pids", "32768", "--hugepages", "", "--swap", "0"]
WHOLE = {"limits": {"cpu": "1", "memory": "1Gi"}}
UID = "0aa1a5e2-0b3f-4d0e-8f31-000000000001"


@pytest.fixture
def explained(
    tmp_path: Path,
    make_object: Callable[..., dict[str, Any]],
    make_container: Callable[..., dict[str, Any]],
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., tuple[int, str, str]]:
    """``explain`` of one pod with a state of the CPU manager; the exit code, what is printed, and what is warned of."""

    def explain(
        *arguments: str, policy: str = "static", stated: str = "static", shared: str = "0-2", **entries: str
    ) -> tuple[int, str, str]:
        state = {"policyName": stated, "defaultCpuSet": shared, "entries": {UID: entries}, "checksum": 0}
        (tmp_path / "state").write_text(json.dumps(state))
        config = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
        (tmp_path / "kubelet.yaml").write_text(
            json.dumps({**config, "cpuManagerPolicy": policy, "reservedSystemCPUs": "0"})
        )
        (tmp_path / "pod.json").write_text(json.dumps(make_object(make_container(**WHOLE))))
        files = ["--config", str(tmp_path / "kubelet.yaml"), "--cpu-manager-state", str(tmp_path / "state")]
        code = main(["explain", *NODE, *files, *arguments, str(tmp_path / "pod.json")])
        return (code, *capsys.readouterr())

    return explain


def test_the_cpus_of_a_container_are_explained(explained: Callable[..., tuple[int, str, str]]) -> None:
    code, out, err = explained("-o", "json", c="3")
    assert (code, err) == (0, "")
    [container] = json.loads(out)["pods"][0]["containers"]
    [cpus] = [value for value in container["values"] if value["what"] == "cpus"]
    assert (cpus["v1"], cpus["v2"], cpus["unit"]) == ({"cpuset.cpus": "3"}, {"cpuset.cpus": "3"}, "CPUs")
    assert (cpus["rule"], cpus["source"]["function"]) == ("GetCPUAffinity: CPUs 3, its own", "PreCreateContainer")


def test_a_pod_that_is_not_admitted_yet_is_told_of(explained: Callable[..., tuple[int, str, str]]) -> None:
    code, _, err = explained(shared="0-3")
    assert code == 0
    assert "pod default/p1: c: not in the CPU manager's state; the kubelet chooses its CPUs" in err


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"policy": "none"}, "is of the policy 'static', and cpuManagerPolicy is none: a kubelet does not start"),
        ({"stated": "none"}, "is of the policy 'none', and cpuManagerPolicy is static: a kubelet does not start"),
        ({"shared": "0-6"}, "is of a node with the 8 CPUs 0-7, and this one has 4: a kubelet does not start"),
        ({"shared": "0-3"}, "gives CPUs 3 to "),
        ({"shared": "x"}, 'defaultCpuSet: "x" is no list of CPUs'),
    ],
)
def test_a_state_with_which_the_kubelet_would_not_start_is_refused(
    explained: Callable[..., tuple[int, str, str]], given: dict[str, str], message: str
) -> None:
    own = "7" if given.get("shared") == "0-6" else "3"
    code, out, err = explained(c=own, **given)
    assert (code, out) == (1, "")
    assert message in err
    assert err.count("\n") == 1


def test_another_policy_has_no_state_in_a_diff(explained: Callable[..., tuple[int, str, str]]) -> None:
    code, out, _ = explained("-o", "json", "--diff", "cpuManagerPolicy=none", c="3")
    assert code == 0
    [row] = [row for row in json.loads(out)["differences"] if row["what"] == "cpus"]
    assert (row["from"]["v2"], row["to"], row["takes_effect"]) == ({"cpuset.cpus": "3"}, None, "minute")


def test_the_same_state_holds_for_another_kubelet(explained: Callable[..., tuple[int, str, str]]) -> None:
    code, out, _ = explained("-o", "json", "--diff-kubelet-version", "1.32", c="3")
    assert code == 0
    assert not [row for row in json.loads(out)["differences"] if row["what"] == "cpus"]
