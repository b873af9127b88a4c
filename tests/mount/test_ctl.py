"""`fakecgroup ctl DIR ...` speaks to the daemon behind a tree."""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakecgroup_mount.control import messages
from fakecgroup_mount.enforce.options import ENFORCEABLE
from fakecgroup_mount.host.tasks import state

from ..waiting import wait_until
from .conftest import OTHER_UID, REPOSITORY, Mount, needs_fuse, needs_root, run, shell
from .test_enforced_and_killed import HELD

pytestmark = needs_fuse

BUSY = """
cgroups: {app: {cpu.max: "50000 100000"}}
workloads: [{name: busy, cgroup: app, instances: 2, loop: forever, phases: [{for: 10s, cpu: 1}]}]
"""


@pytest.fixture
def tree(mount: Mount) -> Path:
    return mount()


@pytest.fixture
def busy(tree: Path, tmp_path: Path) -> Iterator[Path]:
    """A tree to which a workload was added."""
    (tmp_path / "busy.yaml").write_text(BUSY)
    done = run("ctl", tree, "workload", "add", tmp_path / "busy.yaml")
    assert (done.returncode, done.stdout, done.stderr) == (0, "busy\n", "")
    yield tree


def listed(tree: Path) -> list[dict[str, object]]:
    done = run("ctl", tree, "workload", "list", "-o", "json")
    assert done.returncode == 0, done.stderr
    workloads: list[dict[str, object]] = json.loads(done.stdout)["workloads"]
    return workloads


def test_an_added_workload_lives_in_the_tree(busy: Path) -> None:
    assert len((busy / "app" / "cgroup.procs").read_text().split()) == 2


def test_a_list_for_people(busy: Path) -> None:
    done = run("ctl", busy, "workload", "list")
    assert done.stdout == "NAME  STATE  PROCESSES  CGROUP\nbusy  runs   2          app\n"


def test_a_list_for_programs(busy: Path) -> None:
    (one,) = listed(busy)
    procs = (busy / "app" / "cgroup.procs").read_text().split()
    assert one == {"name": "busy", "cgroups": ["app"], "state": "runs", "pids": [int(pid) for pid in procs]}


def test_a_list_without_workloads(tree: Path) -> None:
    assert run("ctl", tree, "workload", "list").stdout == "no workloads are here\n"
    assert listed(tree) == []


def test_a_workload_is_paused_and_resumed(busy: Path) -> None:
    assert run("ctl", busy, "workload", "pause", "busy").returncode == 0
    assert listed(busy)[0]["state"] == "paused"
    assert run("ctl", busy, "workload", "resume", "busy").returncode == 0
    assert listed(busy)[0]["state"] == "runs"


def test_a_removed_workload_is_gone(busy: Path) -> None:
    assert run("ctl", busy, "workload", "remove", "busy").returncode == 0
    assert listed(busy) == []
    assert (busy / "app" / "cgroup.procs").read_text() == ""


@pytest.mark.parametrize("verb", ["remove", "pause", "resume"])
def test_an_unknown_name_is_one_line(busy: Path, verb: str) -> None:
    done = run("ctl", busy, "workload", verb, "nix")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"fakecgroup ctl: {busy}: no workload is named 'nix'; there is busy\n"


def test_a_wrong_scenario_is_one_line_with_its_place(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text("workloads: [{cgroup: app}]")
    done = run("ctl", tree, "workload", "add", tmp_path / "wrong.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"fakecgroup ctl: {tree}: {tmp_path}/wrong.yaml:1:13: phases is missing\n"


def test_what_is_no_tree_is_told_so(tmp_path: Path) -> None:
    done = run("ctl", tmp_path, "workload", "list")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "is no tree of fakecgroup's" in done.stderr


def test_a_directory_that_is_missing_is_told_so() -> None:
    done = run("ctl", "/nowhere", "workload", "list")
    assert (done.returncode, done.stderr) == (1, "fakecgroup ctl: /nowhere: No such file or directory\n")


def test_a_v1_tree_takes_commands_too(mount: Mount, tmp_path: Path) -> None:
    tree = mount(layout="v1")
    (tmp_path / "busy.yaml").write_text(
        BUSY.replace('app: {cpu.max: "50000 100000"}', "cpu/app: ").replace(": app", ": cpu/app")
    )
    assert run("ctl", tree, "workload", "add", tmp_path / "busy.yaml").stderr == ""
    assert len((tree / "cpu" / "app" / "cgroup.procs").read_text().split()) == 2


@needs_root
@pytest.mark.hostile("another user speaks to the control socket")
def test_a_stranger_gets_one_line(busy: Path) -> None:
    program = "from fakecgroup_mount.cli.program import main; raise SystemExit(main())"
    asking = f"PYTHONPATH={REPOSITORY}:{REPOSITORY}/mount /usr/bin/python3 -c '{program}'"
    status, out, err = shell(f"{asking} ctl {busy} workload remove busy", Path("/"), uid=OTHER_UID)
    assert (status, out, err.count("\n")) == (1, "", 1), err
    assert "only the mounter of this tree" in err
    assert listed(busy)[0]["name"] == "busy"


@pytest.mark.hostile("messages that are too long, cut off, or no JSON, to the control socket", times=5)
@pytest.mark.parametrize(
    "data",
    [
        struct.pack("=I", messages.MOST + 1),
        struct.pack("=I", 4) + b"nix\n",
        struct.pack("=I", 2) + b"[]",
        struct.pack("=I", 100_000) + b"[" * 100_000,
        struct.pack("=I", 44) + b'{"command": "workload add", "arguments": {}}',
    ],
)
def test_what_is_no_message_is_refused_and_the_daemon_goes_on(busy: Path, data: bytes) -> None:
    path = os.fsdecode(os.getxattr(busy, "user.fakecgroup.control"))
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(path)
        connection.sendall(data)
        answer = messages.receive(connection)
    assert answer["status"] == 2
    assert listed(busy)[0]["name"] == "busy"


def test_limits_that_act_are_shown_and_changed(tree: Path) -> None:
    asked = [(), ("cpu,memory",), ("cpu",), (), ("all",), ("none",), ()]
    told = [run("ctl", tree, "enforce", *words) for words in asked]
    assert {(done.returncode, done.stderr) for done in told} == {(0, "")}
    every = ", ".join(ENFORCEABLE)
    assert [done.stdout[:-1] for done in told] == ["none", "memory, cpu", "cpu", "cpu", every, "none", "none"]


def test_a_limit_that_cannot_act_is_named(tree: Path) -> None:
    done = run("ctl", tree, "enforce", "io")
    assert (done.returncode, done.stdout) == (2, "")
    assert "'io' cannot be enforced" in done.stderr.splitlines()[-1]


def test_limits_that_act_no_more_let_everybody_go_on_and_act_again(tree: Path) -> None:
    with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as busy:
        try:
            (tree / "cgroup.subtree_control").write_text("+cpu")
            (tree / "a").mkdir()
            (tree / "a" / "cpu.max").write_text("1000 1000000")
            (tree / "a" / "cgroup.procs").write_text(str(busy.pid))
            for words, expected in (("cpu", HELD), ("none", "R"), ("cpu", HELD)):
                run("ctl", tree, "enforce", words)
                wait_until(lambda expected=expected: state(busy.pid) == expected)  # type: ignore[misc]
        finally:
            busy.kill()


def test_limits_on_memory_that_act_no_more_kill_nobody_who_reads(tree: Path) -> None:
    (tree / "cgroup.subtree_control").write_text("+memory")
    (tree / "a").mkdir()
    (tree / "a" / "memory.max").write_text("1M")
    for words in ("memory", "none"):
        run("ctl", tree, "enforce", words)
    program = f"open({str(tree / 'a' / 'cgroup.procs')!r}, 'w').write('0'); x = bytearray(64 << 20); input()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE) as grown:
        assert grown.stdin is not None
        wait_until(lambda: int((tree / "a" / "memory.current").read_text()) > 32 << 20)
        grown.stdin.close()
        assert grown.wait() == 1  # EOFError
