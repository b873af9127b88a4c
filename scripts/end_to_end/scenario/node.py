"""The node: its pods, and the calls of cgroup-engine on it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .calls import Finished, RunningCommand, call

#: The node's CPUs. The pods ask for more, so under load weights decide, not quotas.
CPUS = 1
PIDS = 24
#: The interval of ``run`` in seconds.
INTERVAL = 1
_CONFIG = """\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupRoot: /{root}
failCgroupV1: false
podPidsLimit: {pids}
evictionHard: {{memory.available: 0%}}
"""
_MI = 1 << 20
#: The memory limit of elastic/back in bytes.
BACK_LIMIT = 48 * _MI
PODS: dict[str, dict[str, Any]] = {
    "steady": {"work": ("500m", "64Mi", "500m", "64Mi")},  # Guaranteed
    "elastic": {"front": ("450m", "32Mi", "1", "64Mi"), "back": ("150m", "32Mi", "1", str(BACK_LIMIT))},
    "batch": {"work": ("400m", "32Mi", "400m", "64Mi")},
    "spare": {"work": None},  # BestEffort
}
#: Container that comes and goes.
EXTRA = {"late": {"work": ("50m", "16Mi", "50m", "32Mi")}}


class Node:
    """``root``: of the cgroups. ``cgroup_root``: the configuration's, "" for none. ``directory``: for its own files."""

    def __init__(self, root: Path, cgroup_root: str, directory: Path) -> None:
        self.root = root
        self.cgroup_root = cgroup_root
        self.directory = directory
        self._state = ["--state-dir", str(directory / "state")]
        self.pods = directory / "pods"
        self.pods.mkdir()
        self._explained: dict[int, dict[str, dict[str, Any]]] = {}
        config = directory / "kubelet.yaml"
        config.write_text(_CONFIG.format(root=cgroup_root, pids=PIDS))
        self._node = ["--config", str(config), "--memory", "1Gi", "--swap", "0", "--max-pids", "4096"]
        for number, (name, containers) in enumerate(PODS.items(), 1):
            self.add(name, containers, number)

    def add(self, name: str, containers: dict[str, Any], number: int) -> None:
        """Puts a whole manifest in place by a rename. JSON is YAML too."""
        manifest = self.directory / name
        manifest.write_text(json.dumps(_pod(name, containers, number), indent=1))
        manifest.rename(self.pods / f"{name}.yaml")
        self._explained = {}

    def remove(self, name: str) -> None:
        (self.pods / f"{name}.yaml").unlink()

    def apply(self) -> Finished:
        return call(["apply", *self._rooted(), *self._state, str(self.pods)])

    def down(self) -> Finished:
        return call(["down", *self._rooted(), *self._state])

    def exec_arguments(self, container: str, command: Sequence[str]) -> list[str]:
        """The arguments of ``exec``, which finds POD/CONTAINER in the record of what was made."""
        return ["exec", "--root", str(self.root), *self._state, container, "--", *command]

    def attach(self, container: str, pid: int) -> Finished:
        return call(["attach", "--root", str(self.root), *self._state, container, str(pid)])

    def keeper(self) -> RunningCommand:
        """``run``, which looks at the tree every second."""
        arguments = ["run", *self._rooted(), *self._state, "--interval", f"{INTERVAL}s"]
        return RunningCommand([*arguments, "--listen", "127.0.0.1:0", str(self.pods)], self.directory / "run.log")

    def differing(self) -> dict[str, str]:
        """Path of a file or cgroup -> its state, for each that ``status`` finds otherwise than wanted."""
        rows = json.loads(_output_of("status", *self._rooted(), "-o", "json", str(self.pods)))["files"]
        return {row["path"]: row["state"] for row in rows if row["state"] != "ok"}

    def explained(self, cpus: int = CPUS) -> dict[str, dict[str, Any]]:
        """POD, POD/CONTAINER, node and QoS class -> what ``explain`` says of it on a node of so many CPUs."""
        if cpus not in self._explained:
            said = json.loads(_output_of("explain", *self._node, "--cpus", str(cpus), "-o", "json", str(self.pods)))
            found = self._explained[cpus] = {about["owner"]: about for about in said["cgroups"]}
            for pod in said["pods"]:
                name = pod["pod"].partition("/")[2]
                found[name] = pod
                found |= {f"{name}/{container['container']}": container for container in pod["containers"]}
        return self._explained[cpus]

    def _rooted(self) -> list[str]:
        return ["--root", str(self.root), *self._node, "--cpus", str(CPUS)]


def _output_of(*arguments: str) -> str:
    done = call(arguments)
    if done.code != 0:
        raise RuntimeError(f"cgroup-engine {arguments[0]}: exit {done.code}: {(done.out + done.err).strip()}")
    return done.out


def _pod(name: str, containers: dict[str, Any], number: int) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": f"0aa1a5e2-0b3f-4d0e-8f31-{number:012}"},
        "spec": {"containers": [_container(name, amounts) for name, amounts in containers.items()]},
    }


def _container(name: str, amounts: tuple[str, str, str, str] | None) -> dict[str, Any]:
    container: dict[str, Any] = {"name": name, "image": "none"}
    if amounts is not None:
        cpu, memory, most_cpu, most_memory = amounts
        requests, limits = {"cpu": cpu, "memory": memory}, {"cpu": most_cpu, "memory": most_memory}
        container["resources"] = {"requests": requests, "limits": limits}
    return container
