"""The command ``run`` as a process: on this machine's own cgroups, and on mounted fakes."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from cgroup_engine.cli import main

from .api_server import NODE as API_NODE
from .api_server import ApiServer
from .on_host import ROOT, needs_cgroup_v1

COMMAND = [sys.executable, "-c", "import sys; from cgroup_engine.cli import main; sys.exit(main())"]
NODE = ["--cpus", "3", "--memory", "8Gi", "--max-pids", "32768", "--hugepages", ""]
PATIENCE = 60.0  # seconds; only a test that fails takes as long
UID = "0aa1a5e2-0b3f-4d0e-8f31-0000000000{:02d}"


class Running:
    """A node with its directory of manifests, and ``run`` in its own process."""

    def __init__(
        self, root: Path, directory: Path, make_object: Callable[..., dict[str, Any]], cgroup_root: str
    ) -> None:
        self.root, self.make_object = root, make_object
        self.pods, self.config, self.log = directory / "pods", directory / "kubelet.yaml", directory / "log"
        self.pods.mkdir()
        self.top = cgroup_root
        self.configure(podPidsLimit=100)
        self.state = directory / "state"
        self.processes: list[subprocess.Popen[bytes]] = []

    def configure(self, **fields: Any) -> None:
        head = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", "failCgroupV1": False}
        new = self.config.with_suffix(".new")
        new.write_text(yaml.safe_dump({**head, "cgroupRoot": f"/{self.top}", **fields}))
        new.replace(self.config)

    def arguments(self, command: str, *more: str) -> list[str]:
        where = ["--root", str(self.root), "--config", str(self.config), "--state-dir", str(self.state)]
        return [command, *where, *NODE, *more]

    def start(self, *more: str, pods: bool = True) -> subprocess.Popen[bytes]:
        paths = [str(self.pods)] if pods else []
        arguments = COMMAND + self.arguments("run", "--log", "json", "--listen", "none", *more, *paths)
        with self.log.open("ab") as log:
            self.processes.append(subprocess.Popen(arguments, stdout=log, stderr=log))
        return self.processes[-1]

    def command(self, name: str, *more: str) -> tuple[int, str]:
        """Another command on the same tree, in this process; its exit code and its standard error."""
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as said:
            return main(self.arguments(name, *more)), said.getvalue()

    def put(self, n: int, **resources: Any) -> None:
        container = {"name": "c", "image": "i", "resources": resources}
        new = self.pods / f".p{n}.new"
        new.write_text(json.dumps(self.make_object(container, n=n)))
        new.replace(self.pods / f"p{n}.json")

    def until(self, condition: Callable[[], Any]) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, self.log.read_text()
            assert self.processes[-1].poll() is None, self.log.read_text()
            time.sleep(0.02)

    def told(self, event: str) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]
        return [line for line in lines if line["event"] == event]

    def end(self, number: signal.Signals = signal.SIGTERM) -> None:
        self.processes[-1].send_signal(number)
        assert self.processes[-1].wait(PATIENCE) == 0, self.log.read_text()

    def cgroup(self, controller: str, qos: str, n: int) -> Path:
        tree = "" if (self.root / "cgroup.controllers").exists() else controller
        tree = "cpu,cpuacct" if tree == "cpu" and (self.root / "cpu,cpuacct").exists() else tree
        return self.root / tree / self.top / "kubepods" / qos.lower() / f"pod{UID.format(n)}"

    def shares(self, n: int) -> Path:
        directory = self.cgroup("cpu", "Burstable", n)
        return next((file for name in ("cpu.shares", "cpu.weight") if (file := directory / name).exists()), directory)


Node = Callable[..., Running]


@pytest.fixture
def node(tmp_path: Path, make_object: Any) -> Iterator[Node]:
    made: list[Running] = []

    def make(root: Path, cgroup_root: str) -> Running:
        made.append(Running(root, tmp_path, make_object, cgroup_root))
        return made[-1]

    yield make
    for running in made:
        for process in running.processes:
            process.kill()
            process.wait()


@pytest.fixture
def on_host(node: Node, own_cgroup: str) -> Running:
    return node(ROOT, own_cgroup)


@pytest.fixture
def on_fake(node: Node, mounted_fake: Any) -> Running:
    return node(mounted_fake("v2"), "own")


def _keeps(running: Running) -> None:
    """Checks that hold on every root."""
    running.put(1, requests={"cpu": "500m"})
    running.put(2)
    running.start()
    running.until(lambda: running.told("reconciled"))
    before = running.shares(1).read_text()
    running.put(1, requests={"cpu": "1"})
    running.until(lambda: running.shares(1).read_text() != before)
    sleeper = subprocess.Popen(["sleep", "300"])
    gone = running.cgroup("memory", "BestEffort", 2)
    next(each for each in gone.iterdir() if each.is_dir()).joinpath("cgroup.procs").write_text(str(sleeper.pid))
    (running.pods / "p2.json").unlink()
    assert sleeper.wait(PATIENCE) == -signal.SIGKILL
    running.until(lambda: not gone.exists())
    code, said = running.command("apply", str(running.pods))
    assert (code, said.count("\n")) == (1, 1)
    assert "at work" in said
    running.end()
    assert running.shares(1).exists()
    assert [line["signal"] for line in running.told("stopping")] == ["SIGTERM"]
    assert running.command("down")[0] == 0
    assert not gone.parent.exists()


@needs_cgroup_v1
def test_this_machines_tree_is_kept(on_host: Running) -> None:
    _keeps(on_host)


@pytest.mark.parametrize("layout", ["v1", "v2"])
def test_a_fake_tree_is_kept(node: Node, mounted_fake: Any, layout: str) -> None:
    _keeps(node(mounted_fake(layout), "own"))


@needs_cgroup_v1
def test_who_writes_in_this_machines_tree_is_named_and_what_was_there_is_there_again_at_once(on_host: Running) -> None:
    on_host.put(1, requests={"cpu": "500m"})
    on_host.start()
    on_host.until(lambda: on_host.told("reconciled"))
    file = on_host.shares(1)
    shell = subprocess.Popen(["sh", "-c", f"echo 77 > {file}; read line"], stdin=subprocess.PIPE)
    on_host.until(lambda: on_host.told("drift"))
    shell.communicate()
    [drift] = on_host.told("drift")
    assert (drift["wanted"], drift["found"]) == ("512", "77")
    assert drift["by"] in (f"sh (pid {shell.pid})", f"pid {shell.pid}")
    assert file.read_text() == "512\n"
    on_host.end()


def test_drift_is_found_in_time_where_nobody_tells_of_it(on_fake: Running) -> None:
    on_fake.put(1, requests={"cpu": "500m"})
    on_fake.start("--interval", "1")
    on_fake.until(lambda: on_fake.told("reconciled"))
    file = on_fake.shares(1)
    before = file.read_text()
    file.write_text("77")
    on_fake.until(lambda: file.read_text() == before)
    on_fake.until(lambda: on_fake.told("drift"))
    assert on_fake.told("drift")[0]["found"] == "77"
    on_fake.end(signal.SIGINT)


def test_a_changed_configuration_is_followed_and_a_bad_one_complained_of_once(on_fake: Running) -> None:
    on_fake.put(1)
    process = on_fake.start()
    limit = on_fake.cgroup("pids", "BestEffort", 1) / "pids.max"
    on_fake.until(lambda: limit.exists() and limit.read_text() == "100\n")
    on_fake.configure(podPidsLimit=200)
    process.send_signal(signal.SIGHUP)
    on_fake.until(lambda: limit.read_text() == "200\n")

    def complains_more(than: int) -> bool:
        return len(on_fake.told("complaint")) > than

    for fields in ({"podPidsLimit": "many"}, {"cgroupDriver": "systemd"}):
        told = len(on_fake.told("complaint"))
        on_fake.configure(**fields)
        process.send_signal(signal.SIGHUP)
        on_fake.until(partial(complains_more, told))
        process.send_signal(signal.SIGHUP)
    on_fake.end()
    complaints = on_fake.told("complaint")
    assert [complaint["about"] for complaint in complaints] == ["configuration"] * 2
    assert "stays in force" in complaints[0]["text"]
    assert "cgroupDriver cannot change" in complaints[1]["text"]
    assert limit.read_text() == "200\n"


def test_a_dry_run_beside_somebody_else_changes_nothing(on_fake: Running) -> None:
    on_fake.put(1, requests={"cpu": "500m"})
    assert on_fake.command("apply", str(on_fake.pods))[0] == 0
    for record in on_fake.state.iterdir():
        record.unlink()
    code, said = on_fake.command("run", "--listen", "none", str(on_fake.pods))
    assert (code, said.count("\n")) == (1, 1)
    assert "--dry-run" in said
    file = on_fake.shares(1)
    file.write_text("77")
    on_fake.put(2)
    on_fake.start("--dry-run", "--interval", "1")
    on_fake.until(lambda: on_fake.told("reconciled"))
    assert [line["found"] for line in on_fake.told("drift")] == ["77"]
    assert on_fake.told("reconciled")[0]["planned"] > 1
    on_fake.end()
    assert file.read_text() == "77\n"
    assert not on_fake.cgroup("cpu", "BestEffort", 2).exists()


def test_it_ends_in_the_middle_of_a_long_reconcile_and_the_next_start_goes_on(on_fake: Running) -> None:
    for n in range(300):
        on_fake.put(n, requests={"cpu": "10m"})
    on_fake.start()
    parent = on_fake.cgroup("cpu", "Burstable", 1).parent
    on_fake.until(lambda: parent.exists() and any(each.is_dir() for each in parent.iterdir()))
    on_fake.end()
    assert len([each for each in parent.iterdir() if each.is_dir()]) < 300
    assert on_fake.command("apply", str(on_fake.pods))[0] == 0
    assert len([each for each in parent.iterdir() if each.is_dir()]) == 300


def test_a_root_that_goes_is_complained_of_once_and_the_next_one_is_kept(on_fake: Running, remount: Any) -> None:
    on_fake.put(1, requests={"cpu": "500m"})
    on_fake.start("--interval", "1")
    on_fake.until(lambda: on_fake.told("reconciled"))
    remount(on_fake.root, "v2", before=lambda: on_fake.until(lambda: on_fake.told("complaint")))
    on_fake.until(lambda: on_fake.shares(1).is_file())
    on_fake.end()
    assert [complaint["about"] for complaint in on_fake.told("complaint")] == ["root"]


def test_the_pods_of_an_api_server_come_and_go_and_stay_while_it_is_dead(
    on_fake: Running, make_object: Any, tmp_path: Path
) -> None:
    server = ApiServer(tmp_path)
    for n in (1, 2):
        server.put(make_object(n=n, nodeName=API_NODE))
    asked = ["--pods", "apiserver", "--kubeconfig", str(server.kubeconfig()), "--node-name", API_NODE]
    on_fake.start(*asked, pods=False)
    first, second = (on_fake.cgroup("cpu", "BestEffort", n) for n in (1, 2))
    on_fake.until(lambda: first.is_dir() and second.is_dir())
    server.delete("p2")
    on_fake.until(lambda: not second.exists())
    server.stop()
    on_fake.until(lambda: on_fake.told("complaint"))
    assert first.is_dir()
    on_fake.end()
    assert {complaint["about"] for complaint in on_fake.told("complaint")} == {"pods"}


def test_a_path_that_does_not_exist_is_one_line(on_fake: Running) -> None:
    code, said = on_fake.command("run", "--listen", "none", str(on_fake.pods / "none"))
    assert (code, said.count("\n")) == (1, 1)


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "--root", "/"],
        ["run", "--root", "/", "--pods", "nobody"],
        ["run", "--root", "/", "--pods", "apiserver", "pods.yaml"],
        ["run", "--root", "/", "--kubeconfig", "x", "pods.yaml"],
        ["run", "--root", "/", "--interval", "0", "pods.yaml"],
        ["run", "--root", "/", "--interval", "1d", "pods.yaml"],
    ],
)
def test_a_wrong_command_line_is_exit_code_2(arguments: list[str], capsys: Any) -> None:
    assert main(arguments) == 2
    assert "Traceback" not in capsys.readouterr().err
