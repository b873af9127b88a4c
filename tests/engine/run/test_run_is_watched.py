"""``cgroup-engine run`` as it is watched: its log, its metrics, its health."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

RUN = [sys.executable, "-c", "import sys; from cgroup_engine.cli import main; sys.exit(main())", "run", "--dry-run"]
NODE = ["--cpus", "3", "--memory", "8Gi", "--max-pids", "32768"]


@contextmanager
def ending(process: subprocess.Popen[str]) -> Iterator[None]:
    """Kills a process that a failed test leaves behind."""
    try:
        yield
    finally:
        process.kill()


@pytest.fixture
def command(tmp_path: Path, example: Path) -> list[str]:
    """A dry run on a directory that looks like an empty cgroup v2 root to a reader."""
    root = tmp_path / "cgroup"
    root.mkdir()
    (root / "cgroup.controllers").write_text("cpu memory pids\n")
    (root / "cgroup.subtree_control").write_text("\n")
    (root / "cgroup.procs").write_text("")
    return [*RUN, "--root", str(root), *NODE, "--log", "json", str(example / "three-pods.yaml"), "--listen"]


def _get(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_it_logs_serves_metrics_and_is_ready(command: list[str]) -> None:
    with subprocess.Popen([*command, "127.0.0.1:0"], stderr=subprocess.PIPE, text=True) as process, ending(process):
        assert process.stderr is not None
        events = {}
        while "reconciled" not in events:
            event = json.loads(process.stderr.readline())
            events[event["event"]] = event
        url = events["listening"]["url"]
        assert _get(f"{url}/healthz")[0] == 200
        assert _get(f"{url}/readyz")[0] == 200
        metrics = _get(f"{url}/metrics")[1].splitlines()
        assert f"cgroup_engine_steps_planned {events['reconciled']['planned']}.0" in metrics
        assert 'cgroup_engine_pods{qos_class="Burstable"} 1.0' in metrics
        process.send_signal(signal.SIGTERM)
        assert json.loads(process.stderr.readline())["event"] == "stopping"
        assert process.stderr.read() == ""
        assert process.wait() == 0


def test_an_address_in_use_is_one_line_and_exit_code_1(command: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = subprocess.run([*command, address], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == (
        f"cgroup-engine: {address}: cannot listen: address already in use; give another --listen, or none\n"
    )


def test_what_is_no_address_is_exit_code_2(command: list[str]) -> None:
    assert subprocess.run([*command, "everywhere"], capture_output=True, check=False).returncode == 2
