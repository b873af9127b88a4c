"""``exec`` and ``attach`` on a mounted tree, with real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from cgroup_engine.cli import main

ALONE = "pod-besteffort-1"  # has one container, and an oom_score_adj that anybody may set
ENGINE = [sys.executable, "-c", "import sys; from cgroup_engine.cli import main; sys.exit(main())"]
PODS = Path(__file__).parents[3] / "examples" / "three-pods.yaml"
NODE = ["--cpus", "3", "--memory", "8Gi", "--max-pids", "32768"]


@pytest.fixture(scope="module", params=["v1", "v2"])
def applied(
    request: pytest.FixtureRequest, mounted: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Tree]:
    """A tree in which three pods were applied, below a cgroupRoot of these tests' own."""
    name = f"exec-{os.getpid()}"
    place = tmp_path_factory.mktemp("exec")
    (place / "kubelet.yaml").write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
        f"cgroupRoot: /{name}\nfailCgroupV1: false\n"
    )
    state = ["--root", str(mounted(request.param)), "--state-dir", str(place / "state")]
    node = ["--config", str(place / "kubelet.yaml"), *NODE]
    assert main(["apply", *state, *node, str(PODS)]) == 0
    yield Tree(mounted(request.param), name, state, node)
    deadline = time.monotonic() + 10
    while main(["down", *state, *node]) and time.monotonic() < deadline:
        time.sleep(0.05)  # processes that were killed are still ending


@pytest.fixture
def tree(applied: Tree) -> Iterator[Tree]:
    """The same for one test, which may remove something or look for the record elsewhere."""
    yield replace(applied)
    assert main(["apply", *applied.state, *applied.node, str(PODS)]) == 0


@dataclass
class Tree:
    root: Path
    name: str
    state: list[str]
    node: list[str]

    @property
    def hierarchies(self) -> list[str]:
        if (self.root / "cgroup.controllers").exists():
            return [""]
        return [each.name for each in self.root.iterdir() if (each / self.name).is_dir() and not each.is_symlink()]

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """The command in a process of its own, forked from this one, which has everything imported."""
        first, *rest = arguments
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            pid = os.fork()
            if pid == 0:
                self._become([first, *self.state, *rest], out, err)
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(arguments, code, out.read(), err.read())

    @staticmethod
    def _become(arguments: list[str], out: Any, err: Any) -> None:
        code = 99
        try:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
            code = main(arguments)
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)

    def recorded(self, pod: str, container: str) -> tuple[str, int]:
        """The path of a container, and its oom_score_adj."""
        [file] = Path(self.state[-1]).glob("*.json")
        pods = {each["name"]: each for each in json.loads(file.read_text())["pods"]}
        one = next(each for each in pods[pod]["containers"] if each["name"] == container)
        return one["path"], one["oom_score_adj"]

    def processes(self, path: str) -> dict[str, list[int]]:
        """Of a cgroup, by hierarchy."""
        files = {tree: self.root / tree / path / "cgroup.procs" for tree in self.hierarchies}
        return {tree: [int(pid) for pid in file.read_text().split()] for tree, file in files.items()}


def test_a_command_and_its_children_are_inside_from_the_start(tree: Tree) -> None:
    path, score = tree.recorded("pod-burstable-1", "container2")
    files = " ".join(str(tree.root / hierarchy / path / "cgroup.procs") for hierarchy in tree.hierarchies)
    script = f"echo $$; cat /proc/$$/oom_score_adj; for f in {files}; do echo of $f; cat $f; done"
    done = tree.run("exec", "pod-burstable-1/container2", "--", "sh", "-c", script)
    assert (done.returncode, done.stderr) == (0, "")
    first, *per_hierarchy = done.stdout.split("of ")
    pid, shown_score = first.split()
    assert int(shown_score) == score
    assert len(per_hierarchy) == len(tree.hierarchies)
    for text in per_hierarchy:
        _, *pids = text.split()
        assert pid in pids
        assert len(pids) == 2, "the shell and its cat"


def test_exit_code_and_signals_are_the_commands(tree: Tree) -> None:
    assert tree.run("exec", ALONE, "--", "sh", "-c", "exit 7").returncode == 7
    assert tree.run("exec", ALONE, "--", "sh", "-c", "kill -TERM $$").returncode == -signal.SIGTERM


def test_a_command_ends_quietly_when_its_reader_has_gone(tree: Tree) -> None:
    command = ["exec", *tree.state, ALONE, "--", "sh", "-c", "while echo y; do :; done"]
    with subprocess.Popen([*ENGINE, *command], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(10) == -signal.SIGPIPE


def test_arguments_are_the_commands_own(tree: Tree) -> None:
    done = tree.run("exec", ALONE, "--", "printf", "%s|", "--root", "--", "-x", "")
    assert done.stdout == "--root|--|-x||"


@pytest.mark.parametrize(
    ("command", "code"), [("no-such-command", 127), ("/no/such", 127), ("/etc/passwd", 126), ("/", 126)]
)
def test_a_command_that_cannot_be_run_is_a_shells_exit_code_and_one_line(tree: Tree, command: str, code: int) -> None:
    done = tree.run("exec", ALONE, "--", command)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith(f"cgroup-engine: {command}: ")
    assert done.stderr.count("\n") == 1


def test_without_a_command_the_command_line_is_wrong(tree: Tree) -> None:
    assert tree.run("exec", ALONE).returncode == 2
    assert tree.run("exec", ALONE, "--").returncode == 2


@pytest.mark.parametrize("arguments", [["exec", ALONE, "--", "echo", "ran"], ["attach", ALONE, "1"]])
def test_a_cgroup_that_is_gone_is_one_line_and_nothing_runs(tree: Tree, arguments: list[str]) -> None:
    path, _ = tree.recorded(ALONE, "container4")
    missing = "/".join(filter(None, (tree.hierarchies[-1], path)))
    (tree.root / missing).rmdir()
    done = tree.run(*arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"cgroup-engine: {missing}: is not there; apply makes it\n"


def test_without_a_record_exec_says_what_to_do(tree: Tree, tmp_path: Path) -> None:
    tree.state = ["--root", str(tree.root), "--state-dir", str(tmp_path / "none")]
    done = tree.run("exec", ALONE, "--", "echo", "ran")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"cgroup-engine: {tmp_path}/none: no record tells of pods at {tree.root}; apply makes one; or give --pods\n"
    )


def test_places_can_be_computed_from_pods_instead(tree: Tree, tmp_path: Path) -> None:
    tree.state = ["--root", str(tree.root), "--state-dir", str(tmp_path / "none")]
    pods = ["--pods", str(PODS), *tree.node]
    done = tree.run("exec", *pods, ALONE, "--", "echo", "ran")
    assert (done.returncode, done.stdout) == (0, "ran\n")


def test_running_processes_are_attached_and_each_refused_one_is_a_line(tree: Tree) -> None:
    path, score = tree.recorded("pod-burstable-1", "container1")
    with subprocess.Popen(["sleep", "60"]) as one, subprocess.Popen(["sleep", "60"]) as other:
        try:
            done = tree.run("attach", "default/pod-burstable-1/container1", str(one.pid), "4194304", str(other.pid))
            assert done.returncode == 1
            assert done.stderr == "cgroup-engine: 4194304: there is no such process\n"
            assert done.stdout == "".join(
                f"process {each.pid} is in default/pod-burstable-1/container1\n" for each in (one, other)
            )
            assert all(sorted(pids) == sorted([one.pid, other.pid]) for pids in tree.processes(path).values())
            assert int(Path(f"/proc/{one.pid}/oom_score_adj").read_text()) == score
        finally:
            one.kill()
            other.kill()


@pytest.mark.parametrize("pid", ["0", "-1", "x", "99999999999999999999"])
def test_what_is_no_pid_is_exit_code_2(tree: Tree, pid: str) -> None:
    assert tree.run("attach", ALONE, "--", pid).returncode == 2
