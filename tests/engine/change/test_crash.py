"""Killed at any system call, the next start converges to the same tree, and nothing is left over.

Each command is killed as it begins a system call that can change something; the calls in between change nothing, so
that with ``FAKECGROUP_CRASH=changes``, at every one of them in turn, no state is missed. Without it, it is one in some.
``FAKECGROUP_CRASH=all`` kills at every system call at all. The numbers are in the tests' output (``-rA``).
"""

from __future__ import annotations

import json
import os
import platform
import signal
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from cgroup_engine.cli import main
from cgroup_engine.run.loop import Loop

from ..killing import run_until

EVERY_CALL = os.environ.get("FAKECGROUP_CRASH") == "all"
#: One in so many of the calls that can change something; they are coprime to the number of v1 hierarchies.
STRIDE = {"v1": 13, "v2": 5, "host": 13} if "FAKECGROUP_CRASH" not in os.environ else {"v1": 1, "v2": 1, "host": 1}
WHY_NOT_HOST = "needs root and cgroup v1 with memory"
NODE = ["--cpus", "3", "--memory", "8Gi", "--max-pids", "32768", "--swap", "0", "--kubelet-version", "1.34"]
#: Files that the engine writes.
FILES = {
    "cgroup.subtree_control",
    *("cpu.weight", "cpu.max", "memory.max", "memory.min", "memory.low", "memory.high", "memory.swap.max"),
    *("memory.oom.group", "pids.max", "cpuset.cpus", "hugetlb.2MB.max", "hugetlb.1GB.max"),
    *("cpu.shares", "cpu.cfs_quota_us", "cpu.cfs_period_us", "memory.limit_in_bytes", "cpuset.mems"),
    *("memory.memsw.limit_in_bytes", "hugetlb.2MB.limit_in_bytes", "hugetlb.1GB.limit_in_bytes"),
}
POD = """
apiVersion: v1
kind: Pod
metadata: {{name: p{n}, namespace: default, uid: uid-{n}}}
spec:
  containers:
  - name: c
    image: i
    resources: {resources}
---"""
SMALL = "{requests: {cpu: 100m}, limits: {cpu: 200m, memory: 64Mi}}"
LARGE = "{requests: {cpu: 500m}, limits: {cpu: 2, memory: 1Gi}}"
EQUAL = "{limits: {cpu: 300m, memory: 128Mi}}"

pytestmark = [
    pytest.mark.skipif(
        sys.platform != "linux" or platform.machine() != "x86_64", reason="knows the system calls of x86-64"
    ),
    pytest.mark.timeout(7200 if "FAKECGROUP_CRASH" in os.environ else 300),
]


@dataclass
class Node:
    """A cgroupRoot of a test's own, with the files of a node."""

    root: Path
    layout: str
    name: str
    place: Path

    def pods(self, **resources: str) -> str:
        """A file with a pod of each number."""
        path = self.place / f"{'-'.join(resources)}-{abs(hash(tuple(resources.values())))}.yaml"
        path.write_text("".join(POD.format(n=n, resources=text) for n, text in resources.items()))
        return str(path)

    def arguments(self, command: str, *pods: str) -> list[str]:
        state = ["--state-dir", str(self.place / "state"), "--config", str(self.place / "kubelet.yaml")]
        silent = ["--listen", "none"] if command == "run" else []
        return [command, "--root", str(self.root), *state, *NODE, *silent, *pods]

    def main(self, command: str, *pods: str) -> int:
        """A command in this process; ``run`` ends when it has looked at the tree once."""
        look = Loop._reconcile

        def look_once(*asked: Any) -> Any:
            seen = look(*asked)
            signal.raise_signal(signal.SIGTERM)
            return seen

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(Loop, "_reconcile", look_once)
            return main(self.arguments(command, *pods))

    def run(self, command: str, *pods: str) -> str:
        """The output of a command that must succeed."""
        out, err = StringIO(), StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = self.main(command, *pods)
        assert code == 0 and (command == "run" or err.getvalue() == ""), out.getvalue() + err.getvalue()
        return out.getvalue()

    def tree(self) -> dict[str, str]:
        """Every directory, and every file that the engine writes, with its text."""
        found = {}
        top = self.root / "cgroup.subtree_control"
        if top.exists():
            found[top.name] = top.read_text()
        for hierarchy in (self.root, *self.root.iterdir()):
            if hierarchy.is_symlink() or not (hierarchy / self.name).is_dir():
                continue
            for directory, _, files in os.walk(hierarchy / self.name):
                found[directory] = ""
                for file in FILES & set(files):
                    found[f"{directory}/{file}"] = Path(directory, file).read_text()
        return found

    def record(self) -> list[object]:
        """The contents of the state directory's files, without the inodes of kubepods."""
        place = self.place / "state"
        files = sorted(place.iterdir()) if place.exists() else []
        return [{**json.loads(file.read_text() or "{}"), "inodes": None, "file": file.name} for file in files]


HOST = Path("/sys/fs/cgroup")
ON_HOST = os.geteuid() == 0 and os.access(HOST / "memory" / "cgroup.procs", os.W_OK)


@pytest.fixture(params=["v1", "v2", pytest.param("host", marks=pytest.mark.skipif(not ON_HOST, reason=WHY_NOT_HOST))])
def node(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Node]:
    name = f"fcg-crash-{os.getpid()}"
    root = HOST if request.param == "host" else request.getfixturevalue("mounted")(request.param)
    (tmp_path / "kubelet.yaml").write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
        f"cgroupRoot: /{name}\nfailCgroupV1: false\npodPidsLimit: 100\n"
    )
    yield Node(root, request.param, name, tmp_path)
    for hierarchy in root.iterdir():
        for directory, _, _ in os.walk(hierarchy / name, topdown=False):
            os.rmdir(directory)


def _killed_everywhere(
    node: Node, start: list[tuple[str, ...]], killed: tuple[str, ...], after: tuple[str, ...]
) -> None:
    """From the same start a command is killed at each call in turn, and one follows."""
    before = node.tree()
    for each in start:
        node.run(*each)
    beginning = node.tree()
    node.run(*killed)
    node.run(*after)
    wanted, record = node.tree(), node.record()
    assert len(record) == (after[0] != "down")
    assert "nothing to " in node.run(*(after if after[0] != "run" else ("apply", *after[1:])))
    last, times = 0, 0
    while True:
        last += 1 if EVERY_CALL else STRIDE[node.layout]
        for each in start:
            node.run(*each)
        assert node.tree() == beginning, f"{killed[0]} was killed at call {last} before"
        ended = run_until(lambda: node.main(*killed), last, changes=not EVERY_CALL)
        node.run(*after)
        assert (node.tree(), node.record()) == (wanted, record), f"{killed[0]} was killed at call {last}"
        if ended.code is not None:
            break
        times += 1
    assert ended.code == 0
    node.run("down")
    assert (node.tree(), node.record()) == (before, [])
    print(f"{' '.join(each[0] for each in (*start, killed, after))} on {node.layout}: {times}/{times}")
    assert times > 0


def test_a_first_apply(node: Node) -> None:
    pods = node.pods(a=SMALL)
    _killed_everywhere(node, [("down",)], ("apply", pods), ("apply", pods))


def test_an_apply_that_changes_classes_grows_and_shrinks(node: Node) -> None:
    before, after = node.pods(a=SMALL, b=LARGE, c=EQUAL), node.pods(a=LARGE, b=SMALL, c="{}")
    _killed_everywhere(node, [("down",), ("apply", before)], ("apply", after), ("apply", after))


def test_an_apply_that_removes_orphans(node: Node) -> None:
    before, after = node.pods(a=SMALL, b=EQUAL), node.pods(a=SMALL)
    _killed_everywhere(node, [("down",), ("apply", before)], ("apply", after), ("apply", after))


def test_a_first_apply_that_is_not_wanted_any_more(node: Node) -> None:
    _killed_everywhere(node, [("down",)], ("apply", node.pods(a=SMALL)), ("down",))


def test_a_first_reconcile_of_run(node: Node) -> None:
    pods = node.pods(a=SMALL)
    _killed_everywhere(node, [("down",)], ("run", pods), ("apply", pods))


def test_a_reconcile_of_run_that_removes_orphans(node: Node) -> None:
    before, after = node.pods(a=SMALL, b=EQUAL), node.pods(a=SMALL)
    _killed_everywhere(node, [("down",), ("apply", before)], ("run", after), ("run", after))


def test_a_down(node: Node) -> None:
    _killed_everywhere(node, [("apply", node.pods(a=SMALL))], ("down",), ("down",))


def test_a_down_that_is_not_wanted_any_more(node: Node) -> None:
    pods = node.pods(a=SMALL)
    _killed_everywhere(node, [("apply", pods)], ("down",), ("apply", pods))
