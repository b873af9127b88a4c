"""Pods, nodes and small fakes of a kernel for the engine's tests."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from errno import EBUSY, EEXIST, EINVAL, ENOENT
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import settings

from cgroup_engine.inputs import config
from cgroup_engine.inputs.pod_object import pod_from_object
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.pod import Pod
from cgroup_engine.tree.fs import CgroupFs
from fakecgroup_mount.testing.factory import CgroupfsFactory

# a busy machine is no failure
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")

DATA = Path(__file__).parent / "data"
UID = "0aa1a5e2-0b3f-4d0e-8f31-0000000000{:02d}"


class StubKernel(CgroupFs):
    """Directories and files with the rules that an order of writes can break, and nothing else.

    v1: hierarchies cpu, memory, pids; a CPU quota over the nearest limited ancestor's or below a limited
    descendant's is EINVAL. v2: a child has a controller's files once the parent's cgroup.subtree_control names it.
    ``refuse``: path -> errno for every mkdir, rmdir and write. ``instead``: path -> the text after any write.
    """

    V1: ClassVar = {
        "cpu": {"cpu.shares": "1024", "cpu.cfs_quota_us": "-1", "cpu.cfs_period_us": "100000"},
        "memory": {"memory.limit_in_bytes": "9223372036854771712"},
        "pids": {"pids.max": "max"},
    }
    V2: ClassVar = {
        "cpu": {"cpu.weight": "100", "cpu.max": "max 100000"},
        "memory": {
            "memory.max": "max",
            "memory.min": "0",
            "memory.low": "0",
            "memory.high": "max",
            "memory.swap.max": "max",
            "memory.oom.group": "0",
        },
        "pids": {"pids.max": "max"},
    }

    def __init__(self, version: int) -> None:
        self.version = version
        self.dirs: set[str] = {""}
        self.files: dict[str, str] = {}
        self.refuse: dict[str, int] = {}
        self.instead: dict[str, str] = {}
        self.log: list[str] = []
        if version == 1:
            for tree in self.V1:
                self.dirs.add(tree)
                self.files[f"{tree}/cgroup.procs"] = ""
        else:
            self.files |= {"cgroup.controllers": "cpu memory pids", "cgroup.procs": "", "cgroup.subtree_control": ""}

    def _fail(self, number: int, path: str) -> OSError:
        return OSError(number, "refused", path)

    def _check(self, path: str) -> None:
        if path in self.refuse:
            raise self._fail(self.refuse[path], path)

    def mkdir(self, path: str) -> None:
        self._check(path)
        if path in self.dirs:
            raise self._fail(EEXIST, path)
        parent = path.rpartition("/")[0]
        if parent not in self.dirs:
            raise self._fail(ENOENT, path)
        self.log.append(f"mkdir {path}")
        self.dirs.add(path)
        self.files[f"{path}/cgroup.procs"] = ""
        if self.version == 1:
            self.files |= {f"{path}/{name}": text for name, text in self.V1[path.split("/")[0]].items()}
        else:
            self.files[f"{path}/cgroup.subtree_control"] = ""
            for controller in self.files[f"{parent}/cgroup.subtree_control".lstrip("/")].split():
                self._appear(path, controller)

    def _appear(self, path: str, controller: str) -> None:
        for name, text in self.V2[controller].items():
            self.files.setdefault(f"{path}/{name}", text)

    def rmdir(self, path: str) -> None:
        self._check(path)
        if path not in self.dirs:
            raise self._fail(ENOENT, path)
        if self._children(path) or self.files[f"{path}/cgroup.procs"]:
            raise self._fail(EBUSY, path)
        self.log.append(f"rmdir {path}")
        self.dirs.remove(path)
        self.files = {file: text for file, text in self.files.items() if file.rpartition("/")[0] != path}

    def _children(self, path: str) -> list[str]:
        return [each for each in self.dirs if each and each.rpartition("/")[0] == path]

    def read(self, path: str) -> str:
        if path not in self.files:
            raise self._fail(ENOENT, path)
        return self.files[path] + "\n"

    def write(self, path: str, data: str) -> None:
        self._check(path)
        if path not in self.files:
            raise self._fail(ENOENT, path)
        directory, _, name = path.rpartition("/")
        before = self.files[path]
        if path in self.instead:
            self.files[path] = self.instead[path]
        elif name == "cgroup.subtree_control":
            self._subtree_control(directory, data)
        elif name.startswith("memory.") and name != "memory.oom.group" and data not in ("-1", "max"):
            self.files[path] = str(int(data) // 4096 * 4096)
        elif name == "memory.limit_in_bytes":
            self.files[path] = "9223372036854771712"
        else:
            self.files[path] = data
        if name.startswith("cpu.cfs_") and not self.legal():
            self.files[path] = before
            raise self._fail(EINVAL, path)
        self.log.append(f"write {path} {data}")

    def _subtree_control(self, directory: str, data: str) -> None:
        file = f"{directory}/cgroup.subtree_control".lstrip("/")
        enabled = set(self.files[file].split())
        allowed = set(self.files["cgroup.controllers"].split())
        if directory:
            parent = directory.rpartition("/")[0]
            allowed = set(self.files[f"{parent}/cgroup.subtree_control".lstrip("/")].split())
        for word in data.split():
            if word[0] == "+" and word[1:] not in allowed:
                raise self._fail(ENOENT, file)
            enabled = enabled | {word[1:]} if word[0] == "+" else enabled - {word[1:]}
        self.files[file] = " ".join(sorted(enabled))
        for child in self._children(directory):
            for controller, names in self.V2.items():
                if controller in enabled:
                    self._appear(child, controller)
                else:
                    for name in names:
                        self.files.pop(f"{child}/{name}", None)

    def legal(self) -> bool:
        """Is no cgroup's quota/period over that of its nearest limited ancestor?"""
        return all(self._ratio(path) <= self._bound(path) for path in self.dirs if path.startswith("cpu/"))

    def _ratio(self, path: str) -> float:
        quota = int(self.files[f"{path}/cpu.cfs_quota_us"])
        return -1 if quota < 0 else (quota << 20) // int(self.files[f"{path}/cpu.cfs_period_us"])

    def _bound(self, path: str) -> float:
        parent = path.rpartition("/")[0]
        while parent.startswith("cpu/"):
            if self._ratio(parent) >= 0:
                return self._ratio(parent)
            parent = parent.rpartition("/")[0]
        return float("inf")

    def listdir(self, path: str) -> list[str]:
        if path not in self.dirs:
            raise self._fail(ENOENT, path)
        prefix = f"{path}/" if path else ""
        files = [file[len(prefix) :] for file in self.files if file.startswith(prefix)]
        return [name for name in files if "/" not in name] + [each[len(prefix) :] for each in self._children(path)]

    def is_dir(self, path: str) -> bool:
        return path in self.dirs


@pytest.fixture
def stub() -> Callable[[int], StubKernel]:
    return StubKernel


def container(name: str = "c", **resources: Any) -> dict[str, Any]:
    """``requests`` and ``limits`` as keyword arguments; other ones go into the container itself."""
    own = {key: value for key, value in resources.items() if key not in ("requests", "limits")}
    given = {key: value for key, value in resources.items() if key in ("requests", "limits")}
    return {"name": name, "image": "i", "resources": given, **own}


def pod_object(*containers: dict[str, Any], n: int = 1, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"p{n}", "namespace": "default", "uid": UID.format(n)},
        "spec": {"containers": list(containers) or [container()], **spec},
    }


@pytest.fixture
def make_container() -> Callable[..., dict[str, Any]]:
    return container


@pytest.fixture
def make_object() -> Callable[..., dict[str, Any]]:
    return pod_object


@pytest.fixture
def make_pod() -> Callable[..., Pod]:
    """A pod of some containers; ``minor`` and ``gates`` choose the kubelet."""

    def make(*containers: dict[str, Any], n: int = 1, minor: int = 36, gates: Any = None, **spec: Any) -> Pod:
        version = KubeletVersion(minor, gates or {})
        return pod_from_object(pod_object(*containers, n=n, **spec), "test", version)

    return make


@pytest.fixture
def make_node() -> Callable[..., NodeConfig]:
    """A node of 4 CPUs, 8 GiB and 32768 pids with some fields of a KubeletConfiguration."""

    def make(
        minor: int = 36,
        driver: Any = None,
        runtime: Any = "containerd",
        runtime_driver: Any = None,
        swap: int = 0,
        huge_pages: Any = None,
        **fields: Any,
    ) -> NodeConfig:
        version = KubeletVersion(minor, config.feature_gates(fields, "test"))
        return config.node_config(
            {"evictionHard": {"memory.available": "0%"}, **fields},
            "test",
            version=version,
            cpus=4,
            memory=8 << 30,
            max_pids=32768,
            swap=swap,
            huge_pages=huge_pages,
            driver=driver,
            runtime=runtime,
            runtime_driver=runtime_driver,
        )

    return make


@pytest.fixture(scope="session")
def mounted(cgroupfs_factory: CgroupfsFactory) -> Callable[[str], Path]:
    """The mount point of a fake tree of a layout, which the tests of a process share; use a cgroupRoot of your own."""
    trees: dict[str, Path] = {}

    def mount(layout: str) -> Path:
        if layout not in trees:
            trees[layout] = cgroupfs_factory.mount(layout=layout, cpus=3, memory="8Gi")
        return trees[layout]

    return mount


@pytest.fixture(scope="session")
def recorded() -> Callable[[str], list[dict[str, Any]]]:
    """The rows of a file of recorded kubelet answers."""

    def rows(name: str) -> list[dict[str, Any]]:
        with gzip.open(DATA / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    return rows


@pytest.fixture
def example() -> Iterator[Path]:
    yield Path(__file__).parents[2] / "examples"
