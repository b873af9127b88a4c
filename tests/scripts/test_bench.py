"""scripts/bench runs and says what it promises; no figure is judged."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


def bench(tmp_path: Path, *arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(SCRIPTS), "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "benchmark", *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.usefixtures("fuse")
def test_json_has_the_times_of_every_operation_on_every_column(tmp_path: Path) -> None:
    out, err = bench(tmp_path, "--rounds", "2", "--ops", "5", "-o", "json").communicate()
    assert err == ""
    result = json.loads(out)
    assert list(result) == ["run", "columns", "missing", "operations", "python"]
    assert (result["run"]["rounds"], result["run"]["ops"]) == (2, 5)
    assert list(result["operations"]) == ["mkdir", "write", "read", "pwrite", "pread", "stat", "listdir", "rmdir"]
    assert {*result["columns"], *result["missing"]} - {"client"} == {
        *("null", "cached", "native", "fusepy", "model", "host")
    }
    assert {"native", "model"} <= result["columns"].keys()
    for columns in result["operations"].values():
        assert columns.keys() == result["columns"].keys()
        for figures in columns.values():
            assert figures["us"]["min"] <= figures["us"]["median"] <= figures["us"]["max"]
            assert (figures["ratio"] is None) == ("null" in result["missing"])


@pytest.mark.usefixtures("fuse")
def test_a_signal_ends_it_and_leaves_nothing_behind(tmp_path: Path) -> None:
    running = bench(tmp_path, "--columns", "native,model", "--seconds", "60")
    give_up = time.monotonic() + 20
    while running.poll() is None and not any(map(os.path.ismount, tmp_path.glob("*/native"))):
        assert time.monotonic() < give_up
        time.sleep(0.02)
    running.send_signal(signal.SIGTERM)
    _, err = running.communicate()
    assert (running.returncode, err) == (128 + signal.SIGTERM, "")
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_operation_is_refused_in_one_line(tmp_path: Path) -> None:
    running = bench(tmp_path, "--only", "mkdir,fsync")
    _, err = running.communicate()
    assert running.returncode == 2
    assert err.startswith("bench: argument --only: no 'fsync': there is mkdir,")
    assert err.count("\n") == 1


def test_planning_is_measured_beside_parsing_without_a_word_of_more_pods_than_fit(tmp_path: Path) -> None:
    out, err = bench(tmp_path, "--pods", "3,111", "--rounds", "1", "-o", "json").communicate()
    assert err == ""
    figures = json.loads(out)["pods"]
    assert list(figures) == ["3", "111"]
    assert all(kinds[kind]["ratio"]["median"] > 0 for kinds in figures.values() for kind in ("yaml", "json"))
    assert all(kinds["json"]["print_ratio"]["median"] > 0 for kinds in figures.values())
    assert list(tmp_path.iterdir()) == []


def test_memory_is_measured_beside_loading_the_same_pods(tmp_path: Path) -> None:
    out, err = bench(tmp_path, "--memory", "5", "-o", "json").communicate()
    assert err == ""
    figures = json.loads(out)["pods"]["5"]
    assert min(figures["load_mib"], *figures["bytes"].values()) > 0
    assert [name.split() for name in figures["commands"]] == [
        [command, form] for command in ("plan", "status", "explain") for form in ("json", "yaml")
    ]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("fuse")
def test_a_second_apply_makes_no_step_and_few_more_system_calls_than_a_bare_loop(tmp_path: Path) -> None:
    out, err = bench(tmp_path, "--apply", "5", "--rounds", "1", "-o", "json").communicate()
    assert err == ""
    result = json.loads(out)
    assert {*result["trees"], *result["missing"]} - {"system calls"} == {"v1", "v2", "host"}
    for tree in result["trees"].values():
        assert min(tree["mkdirs"], tree["writes"], tree["files"]) > 0
        for phase in ("first", "verified", "idle"):
            assert tree[phase]["ratio"]["median"] > 0
            if "system calls" not in result["missing"]:
                assert tree[phase]["calls"]["ratio"] < 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("fuse")
def test_wakes_are_measured_beside_the_machines_own(tmp_path: Path) -> None:
    out, err = bench(tmp_path, "--wakes", "2", "-o", "json").communicate()
    assert err == ""
    result = json.loads(out)
    assert {*result["trees"], *result["missing"]} == {"native", "host"}
    for tree in result["trees"].values():
        for way in ("poll", "inotify"):
            assert 0 < tree[way]["ms"]["min"] <= tree[way]["ms"]["max"]
            assert (tree[way]["ratio"] is None) == ("host" in result["missing"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("fuse")
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_run_is_measured_beside_a_bare_namespace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")  # no kernel can be fetched for a virtual machine there
    out, err = bench(tmp_path, "--run", "--rounds", "1", "-o", "json").communicate()
    if "user namespace" in err or "unshare" in err:
        pytest.skip(err)
    assert err == ""
    result = json.loads(out)
    assert list(result["missing"]) == ["a kernel booted under QEMU"]
    assert {"unshare -Urm true", "fakecgroup run -- true"} <= result["starts_ms"].keys()
    assert list(result["compile"]) == ["bare", "unshare -Urm", "fakecgroup run"]
    assert list(result["profile_ms"]) == ["fakecgroup run -- true", "fakecgroup mount"]
    assert list(result["profile_ms"]["fakecgroup mount"]) == ["python", "modules", "rest"]
    assert result["compile"]["bare"]["cpu"]["ratio"]["median"] == 1


def test_starts_are_measured_beside_a_bare_python(tmp_path: Path) -> None:
    out, err = bench(tmp_path, "--start", "--rounds", "1", "-o", "json").communicate()
    assert err == ""
    starts = json.loads(out)["starts"]
    assert list(starts)[2:] == ["cgroup-engine --help", "cgroup-engine plan of 3 pods", "fakecgroup --help"]
    assert all(each["ratio"]["median"] > 0 for each in starts.values())
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("fuse")
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_trapped_calls_are_measured_beside_supervisors_in_c(tmp_path: Path) -> None:
    out, err = bench(tmp_path, "--calls", "--rounds", "1", "-o", "json").communicate()
    if "user namespace" in err or "unshare" in err:
        pytest.skip(err)
    assert err == ""
    calls = json.loads(out)["calls"]
    assert list(calls) == ["open that finds nothing", "fork", "fork under a pids.max"]
    assert list(calls["fork"]) == ["bare", "a supervisor in C", "fakecgroup run"]
    assert all(way["us"]["median"] > 0 for ways in calls.values() for way in ways.values())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("fuse")
def test_idle_tells_of_the_daemon_and_of_the_loop_beside_it(tmp_path: Path) -> None:
    out, err = bench(tmp_path, "--idle", "3", "--seconds", "0.2", "-o", "json").communicate()
    assert err == ""
    result = json.loads(out)
    assert (result["run"], list(result["idle"])) == ({"processes": 3, "seconds": 0.2}, ["0", "3"])
    assert list(result["idle"]["0"]) == ["cpu_ms", "wakes"]
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("fuse")
def test_procs_are_listed_and_forks_made_beside_the_machines(tmp_path: Path) -> None:
    out, err = bench(tmp_path, "--procs", "2", "--rounds", "1", "--ops", "1", "-o", "json").communicate()
    assert err == ""
    result = json.loads(out)
    assert list(result["trees"]["native"]["reads"]) == ["2"]
    assert {"cgroup.procs", "cgroup.stat", "ratio"} == result["trees"]["native"]["reads"]["2"].keys()
    assert result["trees"]["native"]["forks"]["inside_s"] > 0
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("fuse")
def test_limits_on_real_processes_are_measured_beside_a_daemon_without(tmp_path: Path) -> None:
    out, err = bench(tmp_path, "--enforce", "2", "--seconds", "0.2", "-o", "json").communicate()
    assert err == ""
    result = json.loads(out)
    lists = ["none", "memory", "cpu", "all"]
    assert {kind: list(figures) for kind, figures in result["daemon"].items()} == {"sleep": lists, "are busy": lists}
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("fuse")
def test_how_exactly_limits_act_is_measured_beside_what_they_say(tmp_path: Path) -> None:
    out, err = bench(tmp_path, "--limits", "--seconds", "0.2", "-o", "json").communicate()
    assert err == ""
    result = json.loads(out)
    assert {quota: list(counts) for quota, counts in result["cpu"].items()} == {
        quota: ["1", "4"] for quota in ("20", "50", "150")
    }
    assert list(result["weights"]) == ["100", "300", "600"]
    assert {pages: one["killed"] for pages, one in result["memory"].items()} == {
        "4 KiB": 1,
        "huge": 1,
        "shared": 1,
    }


def test_virtual_time_is_measured_beside_the_cpu_time_that_it_takes(tmp_path: Path) -> None:
    out, err = bench(tmp_path, "--simulate", "--rounds", "1", "-o", "json").communicate()
    assert err == ""
    result = json.loads(out)
    assert result["run"] == {"rounds": 1, "pods": 110, "cgroups": 333, "processes": 220}
    assert list(result["ratio"]) == ["phases", "phases, crowded", "cycles", "cycles, crowded", "idle"]
    assert list(result["us_per_second"]) == ["10", "100", "1000"]
    assert all(figures["median"] > 0 for figures in result["ratio"].values())


def test_a_cluster_is_looked_at_beside_reading_its_dump(tmp_path: Path) -> None:
    out, err = bench(tmp_path, "--fleet", "2", "-o", "json").communicate()
    assert err == ""
    result = json.loads(out)
    assert (result["run"]["nodes"], result["run"]["pods"]) == (2, 60)
    assert list(result["ways"]) == ["json.load", "--workers 1", "--workers 2"]
    assert result["ways"]["json.load"]["ratio"]["median"] == 1
    assert all(way["peak_mib"] > 0 for way in result["ways"].values())
    rates = [way["pods_per_second"] for way in result["ways"].values()]
    assert rates[0] is None and all(rate > 0 for rate in rates[1:])  # json.load looks at no pod


@pytest.mark.usefixtures("fuse")
def test_many_cgroups_are_measured_beside_a_small_tree(tmp_path: Path) -> None:
    out, err = bench(tmp_path, "--cgroups", "30,60", "--rounds", "1", "-o", "json").communicate()
    assert err == ""
    result = json.loads(out)
    assert list(result["cgroups"]) == ["30", "60"]
    for figures in result["cgroups"].values():
        assert list(figures["operations"]) == ["mkdir", "rmdir", "stat", "open+read+close", "root cgroup.stat"]
        assert figures["full_mib"] >= figures["empty_mib"] > 0
    assert result["enabled"]["cgroups"] == 60
    assert {"per_cgroup_bytes", "unread_bytes"} <= result["enabled"].keys()
    assert {*result["listing"], *result["missing"]} == {"native", "host"}
    assert not list(tmp_path.iterdir())
