"""A tree goes into a file (`snapshot`), and a tree that reads the same comes out of it (`mount --from`)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from fakecgroup.snapshot import compare, read_snapshot
from fakecgroup.tasks.tid import FIRST_SIMULATED

from ..waiting import wait_until
from .conftest import OTHER_UID, Mount, needs_fuse, needs_root, run
from .test_plain_user import command, python_path

pytestmark = needs_fuse

WORK = """
machine: {cpus: 3, memory: 2Gi}
cgroups:
  app: {cpu.max: "50000 100000", pids.max: 10, memory.max: 1Gi}
workloads:
  - {name: work, cgroup: app, instances: 2, loop: forever, phases: [{for: 10s, cpu: 1, memory: 30Mi}]}
"""


@pytest.fixture
def node(mount: Mount, tmp_path: Path) -> Path:
    """A tree with something in it."""
    (tmp_path / "work.yaml").write_text(WORK)
    tree = mount(workload=str(tmp_path / "work.yaml"))
    (tree / "app" / "cgroup.procs").chmod(0o600)
    os.setxattr(tree / "app", "user.name", b"value")
    return tree


def taken(root: Path, file: Path, *options: str) -> Path:
    """The snapshot of a tree."""
    done = run("snapshot", root, "-o", file, *options)
    assert done.returncode == 0, done.stderr
    return file


def test_every_file_reads_as_in_the_tree_that_was_taken(node: Path, mount: Mount, tmp_path: Path) -> None:
    file = taken(node, tmp_path / "node.cgs")
    restored = mount(**{"from": str(file)})
    before = read_snapshot(file)
    after = read_snapshot(taken(restored, tmp_path / "restored.cgs"))
    assert [one for one in compare(before, after) if not one.counts] == []  # pressure decays meanwhile
    assert os.getxattr(restored / "app", "user.name") == b"value"
    pids = [int(line) for line in (restored / "app" / "cgroup.procs").read_text().split()]
    assert len(pids) == 2
    assert min(pids) >= FIRST_SIMULATED


def test_a_restored_tree_judges_writes_as_ever(node: Path, mount: Mount, tmp_path: Path) -> None:
    restored = mount(**{"from": str(taken(node, tmp_path / "node.cgs"))})
    (restored / "app" / "pids.max").write_text("5")
    with pytest.raises(OSError):
        (restored / "app" / "pids.max").write_text("lots")
    (restored / "app" / "memory.max").write_text("1M")
    wait_until(lambda: (restored / "app" / "cgroup.procs").read_text() == "")


def test_a_real_process_may_enter_and_the_machines_others_are_not_listed(
    node: Path, mount: Mount, tmp_path: Path, sleeper: Callable[..., subprocess.Popen[bytes]]
) -> None:
    restored = mount(**{"from": str(taken(node, tmp_path / "node.cgs"))})
    real = sleeper()
    procs = restored / "cgroup.procs"
    assert str(real.pid) not in procs.read_text().split()
    (restored / "app" / "cgroup.procs").write_text(str(real.pid))
    assert str(real.pid) in (restored / "app" / "cgroup.procs").read_text().split()
    procs.write_text(str(real.pid))
    assert str(real.pid) in procs.read_text().split()


def test_a_command_runs_on_the_snapshots_machine(node: Path, tmp_path: Path) -> None:
    file = taken(node, tmp_path / "node.cgs")
    told = json.loads(json.dumps({"cpus": read_snapshot(file).machine.cpus}))
    script = "cat /sys/fs/cgroup/app/pids.max; wc -l </sys/fs/cgroup/app/cgroup.procs; nproc"
    done = run("run", "--from", file, "--", "sh", "-c", script)
    assert done.stdout.split() == ["10", "2", str(told["cpus"])], done.stderr


def test_a_scenario_is_played_in_it(node: Path, tmp_path: Path) -> None:
    (tmp_path / "more.yaml").write_text(
        "workloads: [{cgroup: app, phases: [{for: 20s, memory: {start: 0, grow: 400Mi/s}}]}]\n"
        "at: [{time: 5s, write: {app/pids.max: 3}}]\n"
        "expect:\n"
        "  - {time: 6s, file: app/pids.max, between: [3, 3]}\n"
        "  - {time: 6s, killed: 1, cgroup: app}\n"
    )
    done = run("simulate", tmp_path / "more.yaml", "--from", taken(node, tmp_path / "node.cgs"))
    assert done.returncode == 0, done.stdout + done.stderr


def test_workloads_go_on_in_a_tree_that_ctl_has_taken(node: Path, mount: Mount, tmp_path: Path) -> None:
    done = run("ctl", node, "snapshot", "-o", tmp_path / "node.cgs")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("v2 tree of kernel 6.12: 2 cgroups, ")
    restored = mount(**{"from": str(tmp_path / "node.cgs")})
    (workload,) = [
        one
        for one in json.loads(run("ctl", restored, "workload", "list", "-o", "json").stdout)["workloads"]
        if one["name"] == "work"
    ]
    assert (workload["state"], len(workload["pids"])) == ("runs", 2)
    stat = restored / "app" / "cpu.stat"
    before = int(stat.read_text().split()[1])
    wait_until(lambda: int(stat.read_text().split()[1]) > before)


def test_a_redacted_snapshot_has_no_names(node: Path, mount: Mount, tmp_path: Path) -> None:
    (node / "app" / "payments-db").mkdir()
    file = taken(node, tmp_path / "node.cgs", "--redact")
    snapshot = read_snapshot(file)
    paths = [cgroup.path for _, cgroup in snapshot.cgroups()]
    assert len(paths) == 3
    assert not any("payments" in path or path == "/app" for path in paths[2:])
    assert not any(one.name == "work" for one in snapshot.processes.values())
    restored = mount(**{"from": str(file)})
    assert (restored / paths[1].lstrip("/") / "pids.max").read_text() == "10\n"


REFUSED = {
    "another layout": (["--layout", "v1"], "--layout: the snapshot {} has v2; leave the option out"),
    "another machine": (["--cpus", "8"], "--cpus: the machine is that of the snapshot {}"),
    "a kernel without the layout": (["--kernel", "6.18"], "no kernel '6.18' for layout v2"),
    "fusepy": (["--transport", "fusepy"], "--from: simulated processes take --transport native"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_options_that_do_not_go_with_it_are_refused(what: str, node: Path, tmp_path: Path) -> None:
    file = taken(node, tmp_path / "node.cgs")
    options, why = REFUSED[what]
    done = run("mount", tmp_path, "--from", file, *options)
    assert done.returncode == 2
    assert done.stderr.startswith(f"fakecgroup mount: {why.format(file)}")
    assert done.stderr.count("\n") == 1


def test_the_same_layout_and_another_kernel_may_be_given(node: Path, directory: Path, tmp_path: Path) -> None:
    file = taken(node, tmp_path / "node.cgs")
    done = run("mount", directory, "--from", file, "--layout", "v2", "--kernel", "5.10")
    assert done.returncode == 0, done.stderr
    assert f"{file}: files that kernel 5.10 of the model does not have" in done.stderr
    assert "of kernel 5.10 at" in done.stdout


def test_a_snapshot_is_written_anew_from_a_snapshot(node: Path, tmp_path: Path) -> None:
    first = taken(node, tmp_path / "first.cgs")
    second = taken(first, tmp_path / "second.cgs")
    assert second.read_bytes() == first.read_bytes()


NO_TREE = {
    "nothing": ("missing", 1, "missing: No such file or directory"),
    "a directory": (".", 1, " is no tree of cgroups: take where cgroup2 is mounted, or all of v1"),
    "a file": ("text", 2, "text is no snapshot: it is not gzip"),
}


@pytest.mark.parametrize("what", NO_TREE)
def test_what_is_no_tree_is_told_in_one_line(what: str, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("text")
    name, status, why = NO_TREE[what]
    done = run("snapshot", tmp_path / name, "-o", tmp_path / "out.cgs")
    assert (done.returncode, done.stderr.count("\n")) == (status, 1)
    assert why in done.stderr
    assert not (tmp_path / "out.cgs").exists()


def test_a_file_that_cannot_be_written_is_told(node: Path, tmp_path: Path) -> None:
    done = run("snapshot", node, "-o", tmp_path / "missing" / "out.cgs")
    assert done.returncode == 1
    assert done.stderr == f"fakecgroup snapshot: -o {tmp_path}/missing/out.cgs: No such file or directory\n"


def test_the_fixtures_give_the_tree_of_a_snapshot(node: Path, pytester: pytest.Pytester, tmp_path: Path) -> None:
    file = taken(node, tmp_path / "node.cgs")
    pytester.makepyfile(f"""
        import pytest

        @pytest.mark.cgroupfs(snapshot={str(file)!r})
        def test_it(cgroupfs, cgroup_kernel):
            assert (cgroupfs / "app" / "pids.max").read_text() == "10\\n"
            assert cgroup_kernel.read("/app/pids.max") == "10\\n"

        @pytest.mark.cgroupfs(snapshot={str(file)!r}, layout="v1")
        def test_another_layout(cgroup_kernel):
            pass
    """)
    done = pytester.runpytest_subprocess("-p", "no:hypothesispytest")
    done.assert_outcomes(passed=1, errors=1)
    done.stdout.fnmatch_lines(["*cgroupfs: --layout: the snapshot *node.cgs has v2; leave the option out"])


@needs_root
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="no setpriv")
def test_what_a_plain_user_cannot_read_is_told(node: Path, public_directory: Callable[[], Path]) -> None:
    (node / "app" / "memory.max").chmod(0o600)
    place = public_directory()
    place.chmod(0o777)
    words = [*command(OTHER_UID), "snapshot", str(node), "-o", str(place / "node.cgs")]
    done = subprocess.run(
        ["setpriv", "--reuid", str(OTHER_UID), "--regid", str(OTHER_UID), "--clear-groups", *words],
        env={"PYTHONPATH": python_path()},
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    assert any(line.startswith("fakecgroup snapshot: left out: files: ") and "memory.max" in line for line in lines)
    assert "fakecgroup snapshot: left out: trusted.* attributes: only root sees them" in lines
    file = read_snapshot(place / "node.cgs").hierarchies[0].cgroups[1].files["memory.max"]
    assert (file.data, file.error) == (None, "EACCES")


@needs_root
@pytest.mark.skipif(not os.path.ismount("/sys/fs/cgroup"), reason="no cgroups are mounted")
def test_this_machines_own_tree_reads_the_same_from_its_snapshot(directory: Path, tmp_path: Path) -> None:
    file = taken(Path("/sys/fs/cgroup"), tmp_path / "machine.cgs", "--no-names")
    snapshot = read_snapshot(file)
    assert snapshot.processes
    assert not any(one.name or one.command for one in snapshot.processes.values())
    done = run("mount", directory, "--from", file)
    assert done.returncode == 0, done.stderr
    after = read_snapshot(taken(directory, tmp_path / "restored.cgs"))
    texts = [one for one in compare(snapshot, after) if one.kind == "text" and not one.counts]
    assert texts == []
