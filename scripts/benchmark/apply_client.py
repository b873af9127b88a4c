"""One round of ``scripts/bench --apply``.

``python -m benchmark.apply_client ROOT CGROUP_ROOT PODS.yaml DAEMON BARE_FIRST`` applies pods twice, and does the same
system calls in bare loops: what the plan's steps need, without and with reading back what was written, and reading what
the second time read, with a list of each directory that it looked through. It prints CPU seconds of
each as JSON, with those of the process DAEMON (0: there is none), and leaves nothing behind. Before and after each it
looks for a file called as what it does, so that strace can tell them apart.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path

from cgroup_engine.change.apply import execute
from cgroup_engine.inputs.config import node_config
from cgroup_engine.inputs.pods import read_pods
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.pod import Pod
from cgroup_engine.plan.step import Plan
from cgroup_engine.plan.steps import make_plan
from cgroup_engine.tree.found import FoundTree
from cgroup_engine.tree.fs import OsFs
from cgroup_engine.tree.layout import detect

PHASES = ("first", "idle", "bare", "reading_back", "reading")
END = "end"
_POD_PIDS_LIMIT = 1024


def mark(phase: str) -> str:
    """The file that is looked for at the beginning of a phase."""
    return f"/fcg-bench/{phase}"


def node_of(cgroup_root: str) -> NodeConfig:
    """A node of 64 CPUs and 256 GiB."""
    return node_config(
        {"cgroupRoot": f"/{cgroup_root}", "podPidsLimit": _POD_PIDS_LIMIT},
        "benchmark",
        version=KubeletVersion(),
        cpus=64,
        memory=256 << 30,
        max_pids=1 << 22,
        swap=0,
        huge_pages={},
        driver=None,
        runtime="containerd",
        runtime_driver=None,
    )


class ReadLoggingFs(OsFs):
    """Notes which files were read, and which directories were listed or looked through without a list."""

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.files: list[str] = []
        self.directories: list[str] = []

    def read(self, path: str) -> str:
        text = super().read(path)
        self.files.append(os.path.join(self.root, path))
        return text

    def subdirectories(self, path: str) -> list[str]:
        names = super().subdirectories(path)
        self.directories.append(os.path.join(self.root, path))
        return names

    def has_just(self, path: str, names: Collection[str]) -> bool:
        found = super().has_just(path, names)
        if found:
            self.directories.append(os.path.join(self.root, path))
        return found


def planned(fs: OsFs, node: NodeConfig, pods: Sequence[Pod]) -> Plan:
    layout = detect(fs, fs.root)
    node = replace(node, cgroup_version=layout.version, cpu_list=layout.cpus)
    return make_plan(wanted_tree(node, pods), FoundTree(fs, layout), node.driver)


def apply(root: str, node: NodeConfig, pods: Sequence[Pod]) -> int:
    """The number of steps."""
    fs = OsFs(root)
    plan = planned(fs, node, pods)
    failed = execute(plan, fs).failed
    if failed:
        raise SystemExit(str(failed[0]))
    return len(plan.steps)


def bare(steps: Sequence[tuple[str, bytes | None]]) -> int:
    """mkdir, or open, write and close; the number of both."""
    for path, data in steps:
        if data is None:
            os.mkdir(path, 0o755)
        else:
            handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
            os.write(handle, data)
            os.close(handle)
    return len(steps)


def reading_back(steps: Sequence[tuple[str, bytes | None]]) -> int:
    """The same, and what was written is read before the close."""
    for path, data in steps:
        if data is None:
            os.mkdir(path, 0o755)
        else:
            handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            os.write(handle, data)
            os.pread(handle, 4096, 0)
            os.close(handle)
    return len(steps)


def reading(files: Sequence[str], directories: Sequence[str]) -> int:
    """open, read and close of files, and the listing of directories; the number of files."""
    for path in directories:
        os.listdir(path)
    for path in files:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        os.read(handle, 4096)
        os.close(handle)
    return len(files)


def main(root: str, cgroup_root: str, file: str, daemon: str, bare_first: str) -> None:
    node = node_of(cgroup_root)
    pods = read_pods([Path(file)], node.version)
    noting = ReadLoggingFs(root)
    plan = planned(noting, node, pods)
    steps = [(os.path.join(root, step.path), None if step.action == "mkdir" else step.text.encode())
             for step in plan.steps]  # fmt: skip
    seconds: dict[str, float] = {}
    idle_steps = 0
    gc.collect()
    gc.disable()  # as in cgroup-engine

    def timed(phase: str, work: Callable[[], int]) -> int:
        os.access(mark(phase), os.F_OK)
        begin = _cpu_seconds(int(daemon))
        result = work()
        seconds[phase] = _cpu_seconds(int(daemon)) - begin
        os.access(mark(END), os.F_OK)
        return result

    def remove() -> None:
        for path, data in reversed(steps):
            if data is None:
                os.rmdir(path)

    for first in (bare_first == "1", bare_first != "1"):
        if first:
            timed("bare", lambda: bare(steps))
            remove()
            timed("reading_back", lambda: reading_back(steps))
        else:
            timed("first", lambda: apply(root, node, pods))
            noting.files.clear()
            noting.directories.clear()
            planned(noting, node, pods)  # what is read first is looked up too, so neither of both is the first
            for idle in (bare_first == "1", bare_first != "1"):
                if idle:
                    idle_steps = timed("idle", lambda: apply(root, node, pods))
                else:
                    timed("reading", lambda: reading(noting.files, noting.directories))
        remove()
    mkdirs = sum(data is None for _, data in steps)
    print(
        json.dumps(
            {"seconds": seconds, "mkdirs": mkdirs, "writes": len(steps) - mkdirs, "idle_steps": idle_steps,
             "files": len(noting.files)}
        )
    )  # fmt: skip


def _cpu_seconds(daemon: int) -> float:
    # the clock of another process: MAKE_PROCESS_CPUCLOCK(pid, CPUCLOCK_SCHED) of the kernel
    other = time.clock_gettime((~daemon << 3) | 2) if daemon else 0.0
    return time.process_time() + other


if __name__ == "__main__":
    main(*sys.argv[1:])
