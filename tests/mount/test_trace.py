"""What programs do to a mounted tree is recorded with --trace, shown by `fakecgroup trace`, replayed by `replay`."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from fakecgroup.trace.call import NOTES

from ..waiting import wait_until
from .conftest import daemon_of, needs_fuse, needs_root, run, shell

pytestmark = needs_fuse

_OUR_OWN = "fakecgroup"  # the commands that mount and unmount look at the tree too


def recorded(file: Path) -> list[dict[str, Any]]:
    """The calls in a trace but those of the commands that mount and unmount."""
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    return [one for one in lines if one["op"] not in NOTES and one["comm"] != _OUR_OWN]


def traced(directory: Path, file: Path, script: str, *options: str, uid: int | None = None) -> list[dict[str, Any]]:
    """The calls that a sh script makes in a tree."""
    done = run("mount", directory, "--trace", file, *options)
    assert (done.returncode, done.stderr) == (0, "")
    shell(script, directory, uid)
    assert run("umount", directory).returncode == 0
    return recorded(file)


def said(calls: list[dict[str, Any]], *operations: str) -> list[tuple[Any, ...]]:
    """Operation, path, data and errno of each call of these operations."""
    return [(one["op"], one["path"], one["data"], one["errno"]) for one in calls if one["op"] in operations]


def test_a_line_has_what_was_done_by_whom_and_what_was_answered(directory: Path, tmp_path: Path) -> None:
    calls = traced(directory, tmp_path / "t", "mkdir a; echo '+cpu' >cgroup.subtree_control; echo 50000 >a/cpu.max")
    made = [one for one in calls if one["op"] in ("mkdir", "write")]
    assert said(made, "mkdir", "write") == [
        ("mkdir", "a", None, None),
        ("write", "cgroup.subtree_control", "+cpu\n", None),
        ("write", "a/cpu.max", "50000\n", None),
    ]
    assert [one["comm"] for one in made] == ["mkdir", "sh", "sh"]
    assert all(one["pid"] > 1 and one["t"] > 0 for one in made)
    assert made[2]["result"] == 6


def test_calls_are_those_of_programs_and_not_those_of_fuse(directory: Path, tmp_path: Path) -> None:
    script = "mkdir a a/b; ls a/b >/dev/null; stat a/b/cgroup.procs >/dev/null; rmdir a/b; cat a/cgroup.type"
    calls = traced(directory, tmp_path / "t", script)
    by = {
        comm: [(one["op"], one["path"]) for one in calls if one["comm"] == comm] for comm in ("mkdir", "stat", "rmdir")
    }
    assert by["mkdir"] == [("mkdir", "a"), ("mkdir", "a/b")]
    assert by["stat"] == [("stat", "a/b/cgroup.procs")]
    assert by["rmdir"] == [("rmdir", "a/b")]
    cat = [one for one in calls if one["comm"] == "cat" and one["op"] in ("open", "read", "close")]
    assert [one["op"] for one in cat] == ["open", "read", "read", "close"]
    assert [one["data"] for one in cat] == [None, "domain\n", "", None]
    assert len({one.get("handle", one["result"]) for one in cat}) == 1


def test_a_path_that_is_not_found_is_a_lookup_unless_something_is_made_there(directory: Path, tmp_path: Path) -> None:
    calls = traced(directory, tmp_path / "t", "mkdir a; cat a/nothing; test -e nowhere/at/all")
    assert said(calls, "lookup") == [("lookup", "a/nothing", None, "ENOENT"), ("lookup", "nowhere", None, "ENOENT")]


def test_refusals_have_the_errno(directory: Path, tmp_path: Path) -> None:
    calls = traced(directory, tmp_path / "t", "mkdir a; rmdir a/b; echo junk >a/cgroup.freeze; mv a b; touch new")
    assert said([one for one in calls if one["errno"]], "mkdir", "write", "rename", "open") == [
        ("write", "a/cgroup.freeze", "junk\n", "EINVAL"),
        ("rename", "a", None, "EINVAL"),
        ("rename", "a", None, "EPERM"),
        ("open", "new", None, "EACCES"),
    ]


def test_attributes_and_modes_are_there(directory: Path, tmp_path: Path) -> None:
    script = """mkdir -m 700 a; chmod 750 a; chown 12:13 a; /usr/bin/python3 -c "
import os
import shlex
import shutil
os.setxattr('a', 'user.x', b'\\xff')
os.getxattr('a', 'user.x')
os.utime('a', (1, 2))
os.truncate('a/cgroup.type', 0)
" """
    found = {one["op"]: one for one in traced(directory, tmp_path / "t", script)}
    assert (found["mkdir"]["mode"], found["chmod"]["mode"]) == ("0700", "0750")
    assert (found["chown"]["uid"], found["chown"]["gid"]) == (12, 13)
    assert (found["setxattr"]["name"], found["setxattr"]["data"]) == ("user.x", {"base64": "/w=="})
    assert found["getxattr"]["data"] == {"base64": "/w=="}
    assert (found["utimens"]["atime"], found["utimens"]["mtime"]) == (1, 2)
    assert found["truncate"]["size"] == 0


def test_processes_are_followed_to_their_end(directory: Path, tmp_path: Path) -> None:
    script = "mkdir a; sleep 300 & echo $! >a/cgroup.procs; kill $!; wait $!; rmdir a"
    traced(directory, tmp_path / "t", script)
    lines = [json.loads(line) for line in (tmp_path / "t").read_text().splitlines()]
    moved = next(int(one["data"]) for one in lines if one["op"] == "write")
    ops = [one["op"] for one in lines if one["pid"] == moved and one["op"] in ("process", "exit", "reap")]
    assert [op for op in ops if op != "process"][-2:] == ["exit", "reap"]
    assert any(one["op"] == "rmdir" and one["errno"] is None for one in lines)


@needs_root
def test_who_calls_is_said_once_and_again_when_it_has_other_ids(directory: Path, tmp_path: Path) -> None:
    script = """/usr/bin/python3 -c "
import os
import shlex
import shutil
os.mkdir('a')
os.setresuid(1000, 1000, 1000)
try:
    os.mkdir('a/b')
except PermissionError:
    pass
" """
    traced(directory, tmp_path / "t", script)
    told = [
        (one["result"]["uid"], one["result"]["capabilities"])
        for one in map(json.loads, (tmp_path / "t").read_text().splitlines())
        if one["op"] == "process" and one["comm"] == "python3"
    ]
    assert told == [(0, "all"), (1000, "none")]


def test_nothing_is_recorded_without_it(directory: Path, tmp_path: Path) -> None:
    assert run("mount", directory).returncode == 0
    assert run("umount", directory).returncode == 0
    assert list(tmp_path.iterdir()) == [directory]


def test_the_file_is_opened_by_the_command(directory: Path, tmp_path: Path) -> None:
    done = run("mount", directory, "--trace", tmp_path / "no" / "t")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"fakecgroup mount: --trace {tmp_path}/no/t: No such file or directory\n"
    assert not os.path.ismount(directory)


def test_over_fusepy_nothing_can_be_recorded(directory: Path, tmp_path: Path) -> None:
    done = run("mount", directory, "--transport", "fusepy", "--trace", tmp_path / "t")
    assert (done.returncode, done.stderr) == (
        2,
        "fakecgroup mount: --trace: calls are recorded with --transport native\n",
    )


@pytest.mark.parametrize("limit", ["4095", "junk", "-1"])
def test_a_wrong_limit_is_refused(directory: Path, tmp_path: Path, limit: str) -> None:
    done = run("mount", directory, "--trace", tmp_path / "t", f"--trace-limit={limit}")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


def test_a_trace_ends_at_its_limit_and_the_tree_goes_on(directory: Path, tmp_path: Path, state_home: Path) -> None:
    assert run("mount", directory, "--trace", tmp_path / "t", "--trace-limit", "8Ki").returncode == 0
    for number in range(100):
        (directory / f"a{number}").mkdir()
    assert run("umount", directory).returncode == 0
    lines = (tmp_path / "t").read_text().splitlines()
    assert json.loads(lines[-1])["op"] == "end"
    assert json.loads(lines[-1])["result"] == "limit"
    assert (tmp_path / "t").stat().st_size <= 8 << 10
    log = state_home / "fakecgroup" / "daemon.log"
    assert log.read_text().count("\n") == 1
    assert "t: the trace has reached its limit and ends here" in log.read_text()
    log.unlink()


def test_a_full_disk_is_one_line_in_the_log_and_the_tree_goes_on(directory: Path, state_home: Path) -> None:
    assert run("mount", directory, "--trace", "/dev/full").returncode == 0
    log = state_home / "fakecgroup" / "daemon.log"
    wait_until(log.exists)
    for number in range(20):
        (directory / f"a{number}").mkdir()
    assert len(list(directory.glob("a*"))) == 20
    assert run("umount", directory).returncode == 0
    assert log.read_text().endswith("/dev/full: No space left on device: the trace ends here\n")
    assert log.read_text().count("\n") == 1
    log.unlink()


def test_a_reader_that_goes_away_ends_the_trace_alone(directory: Path, tmp_path: Path, state_home: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    assert run("mount", directory, "--trace", tmp_path / "pipe").returncode == 0
    os.close(reader)
    (directory / "a").mkdir()
    log = state_home / "fakecgroup" / "daemon.log"
    wait_until(log.exists)
    (directory / "b").mkdir()
    assert run("umount", directory).returncode == 0
    assert "Broken pipe: the trace ends here" in log.read_text()
    log.unlink()


def test_a_reader_that_reads_nothing_does_not_hold_the_tree(directory: Path, tmp_path: Path, state_home: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    assert run("mount", directory, "--trace", tmp_path / "pipe").returncode == 0
    for number in range(600):  # more than a pipe holds
        (directory / f"a{number}").mkdir()
    assert len(list(directory.glob("a*"))) == 600
    assert run("umount", directory).returncode == 0
    log = state_home / "fakecgroup" / "daemon.log"
    assert "the file takes nothing, so the end of the trace is lost" in log.read_text()
    log.unlink()
    os.close(reader)


def test_a_fault_that_fires_is_in_the_trace(directory: Path, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("mkdir a = 1*error(EBUSY)\n")
    calls = traced(directory, tmp_path / "t", "mkdir a; mkdir a", "--faults", str(tmp_path / "f"), "--any-errno")
    assert [(one["errno"], one.get("fault")) for one in calls if one["op"] == "mkdir"] == [
        ("EBUSY", ["error EBUSY"]),
        (None, None),
    ]
    fired = [json.loads(line) for line in (tmp_path / "t").read_text().splitlines()]
    assert [(one["path"], one["result"], one["rule"]) for one in fired if one["op"] == "fault"] == [
        ("a", "error EBUSY", 1)
    ]


# -- what is done with a trace --------------------------------------------------------------------

SCRIPT = """
echo '+cpu +memory' >cgroup.subtree_control; mkdir a
echo 1000 >a/cpu.max.burst; echo 0 >a/memory.reclaim; rmdir a
"""


def test_a_script_that_7_2_takes_is_refused_by_5_10(directory: Path, tmp_path: Path) -> None:
    traced(directory, tmp_path / "t", SCRIPT, "--kernel", "7.2")
    done = run("replay", tmp_path / "t", "--kernel", "all")
    assert done.returncode == 1
    rows = [line.split() for line in done.stdout.splitlines() if " open a/" in line]
    assert [(row[3], row[-5:]) for row in rows] == [
        ("a/cpu.max.burst", ["ok", "ENOENT", "ok", "ok", "ok"]),
        ("a/memory.reclaim", ["ok", "ENOENT", "ok", "ok", "ok"]),
    ]
    assert run("replay", tmp_path / "t", "--kernel", "6.1,6.12,7.2").returncode == 0


def test_a_probe_that_found_nothing_on_5_10_finds_something_later(directory: Path, tmp_path: Path) -> None:
    traced(directory, tmp_path / "t", SCRIPT, "--kernel", "5.10")
    found = json.loads(run("replay", tmp_path / "t", "--kernel", "7.2", "-o", "json").stdout)
    assert [(one["op"], one["path"], one["answers"][0]["errno"]) for one in found["calls"]] == [
        ("open", "a/cpu.max.burst", None),
        ("open", "a/memory.reclaim", None),
    ]


def test_a_trace_is_shown_with_its_summary(directory: Path, tmp_path: Path) -> None:
    traced(directory, tmp_path / "t", "mkdir a; rmdir b; rmdir a")
    done = run("trace", tmp_path / "t", "--comm", "*dir")
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line.partition("] ")[2] for line in done.stdout.splitlines() if "dir[" in line]
    assert lines[0] == 'mkdir("a", 0777) = 0' or lines[0] == 'mkdir("a", 0755) = 0'
    assert 'lookup("b") = -1 ENOENT (No such file or directory)' in lines
    assert "refused:\n  ENOENT lookup b by rmdir" in done.stdout


def test_filters_and_outputs(directory: Path, tmp_path: Path) -> None:
    traced(directory, tmp_path / "t", "mkdir a a/b; echo junk >a/cgroup.freeze")
    found = json.loads(run("trace", tmp_path / "t", "--errors", "--path", "a/*", "-o", "json").stdout)
    assert [(one["op"], one["errno"]) for one in found["calls"]] == [("write", "EINVAL")]
    assert found["summary"]["refused"][0]["path"] == "a/cgroup.freeze"
    again = run("trace", tmp_path / "t", "--op", "mkdir", "-o", "jsonl").stdout
    assert [one["path"] for one in map(json.loads, again.splitlines()) if one["op"] == "mkdir"] == ["a", "a/b"]
    assert run("replay", "-", input=again, stdin=None).returncode == 0
    only = run("trace", "--summary", tmp_path / "t").stdout
    assert "mkdir(" not in only


@pytest.mark.parametrize("command", ["trace", "replay"])
@pytest.mark.parametrize("text", ["", "junk\n", '{"op": "open"}\n'])
def test_what_is_no_trace_is_refused_in_one_line(command: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "t").write_text(text)
    done = run(command, tmp_path / "t")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"fakecgroup {command}: {tmp_path}/t")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["trace", "replay"])
def test_a_file_that_is_not_there_is_named(command: str, tmp_path: Path) -> None:
    done = run(command, tmp_path / "t")
    assert (done.returncode, done.stderr) == (1, f"fakecgroup {command}: {tmp_path}/t: No such file or directory\n")
    assert run(command, tmp_path).stderr == f"fakecgroup {command}: {tmp_path}: Is a directory\n"


@pytest.mark.parametrize("option", ["--kernel=9.9", "--kernel=", "--kernel=6.12,no/such.kernel", "--layout=v3"])
def test_a_kernel_or_layout_that_is_unknown_is_refused(option: str, directory: Path, tmp_path: Path) -> None:
    traced(directory, tmp_path / "t", "mkdir a")
    done = run("replay", tmp_path / "t", option)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1


def test_the_daemon_of_a_traced_tree_wakes_only_when_something_is_done(directory: Path, tmp_path: Path) -> None:
    assert run("mount", directory, "--trace", tmp_path / "t").returncode == 0
    daemon = daemon_of(directory)

    def switches() -> int:
        status = Path(f"/proc/{daemon}/status").read_text()
        tasks = Path(f"/proc/{daemon}/task").iterdir()
        assert status
        lines = [line for task in tasks for line in (task / "status").read_text().splitlines()]
        return sum(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt_switches"))

    def is_idle() -> bool:
        before = switches()
        os.sched_yield()
        return switches() == before

    wait_until(is_idle)
    assert run("umount", directory).returncode == 0


# -- traces that begin later ----------------------------------------------------------------------


def test_a_trace_can_begin_and_end_while_the_tree_is_used(directory: Path, tmp_path: Path) -> None:
    assert run("mount", directory).returncode == 0
    shell("echo '+cpu' >cgroup.subtree_control; mkdir a; echo 50000 >a/cpu.max", directory)
    done = run("ctl", directory, "trace", "start", tmp_path / "t")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    shell("cat a/cpu.max; rmdir a", directory)
    assert run("ctl", directory, "trace", "stop").returncode == 0
    shell("mkdir b", directory)
    lines = [json.loads(line) for line in (tmp_path / "t").read_text().splitlines()]
    assert lines[-1]["op"] == "end"
    assert [one["path"] for one in lines if one["op"] in ("mkdir", "rmdir")] == ["a", "a"]
    assert run("replay", tmp_path / "t").returncode == 0
    assert run("ctl", directory, "trace", "start", tmp_path / "second").returncode == 0
    assert run("umount", directory).returncode == 0
    assert json.loads((tmp_path / "second").read_text().splitlines()[-1])["op"] == "end"


def test_what_cannot_be_done_is_said_in_one_line(directory: Path, tmp_path: Path) -> None:
    assert run("mount", directory, "--trace", tmp_path / "t").returncode == 0
    again = run("ctl", directory, "trace", "start", tmp_path / "t")
    assert again.returncode == 1
    assert again.stderr == (
        f"fakecgroup ctl: {directory}: a trace is written already, to {tmp_path}/t: end it with trace stop\n"
    )
    assert run("ctl", directory, "trace", "stop").returncode == 0
    assert run("ctl", directory, "trace", "stop").stderr == f"fakecgroup ctl: {directory}: no trace is written\n"
    own = run("ctl", directory, "trace", "start", directory / "cgroup.procs")
    assert own.stderr == f"fakecgroup ctl: {directory}: a trace cannot go into the tree that it is of\n"
    assert run("ctl", directory, "trace", "start", "/no/where").stderr == (
        "fakecgroup ctl: /no/where: No such file or directory\n"
    )
    assert len((tmp_path / "t").read_text()) > 100
    assert run("umount", directory).returncode == 0


def test_a_trace_is_redacted_for_others(directory: Path, tmp_path: Path) -> None:
    traced(
        directory,
        tmp_path / "t",
        "mkdir acme; tail -f /dev/null & echo $! >acme/cgroup.procs; kill $!; wait; rmdir acme",
    )
    done = run("trace", "--redact", tmp_path / "t")
    assert (done.returncode, done.stderr) == (0, "")
    assert "acme" not in done.stdout
    assert "tail" not in done.stdout
    piped = run("trace", "--redact", "-", input=(tmp_path / "t").read_text(), stdin=None)
    assert (piped.returncode, piped.stdout.count("\n")) == (0, done.stdout.count("\n"))
    assert run("replay", "-", "--kernel", "6.12", input=piped.stdout, stdin=None).returncode == 0


# -- what strace has printed ----------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("strace") is None, reason="no strace here")
def test_what_strace_prints_becomes_the_trace_that_the_tree_has(directory: Path, tmp_path: Path) -> None:
    (tmp_path / "script").write_text(f"{SCRIPT}; mkdir b; echo $$ >b/cgroup.procs; cat b/cgroup.procs\n")
    printed = ("-f", "-Y", "-y", "-ttt", "-s", "65536", "-e", "trace=%file,%desc,clone,clone3,fork,vfork,umask")
    own = traced(directory, tmp_path / "t", shlex.join(
        ["strace", *printed, "-o", str(tmp_path / "strace"), "sh", str(tmp_path / "script")]
    ), "--kernel", "7.2")  # fmt: skip
    done = run("trace", "--import", tmp_path / "strace", "--root", directory)
    assert (done.returncode, done.stderr) == (0, "")
    (tmp_path / "imported").write_text(done.stdout)
    found = [one for one in recorded(tmp_path / "imported") if "assumed" not in one]
    assert said(found, "mkdir", "rmdir", "write") == said(own, "mkdir", "rmdir", "write")
    assert run("replay", tmp_path / "imported", "--kernel", "7.2").returncode == 0
    assert run("replay", tmp_path / "imported", "--kernel", "all").returncode == 1


def test_what_has_no_call_on_the_tree_is_no_trace(tmp_path: Path) -> None:
    (tmp_path / "strace").write_text('1 2.0 stat("/etc", {}) = 0\njunk\n')
    done = run("trace", "--import", tmp_path / "strace")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"fakecgroup trace: {tmp_path}/strace: 1 lines are no calls as strace shows them\n"
        f"fakecgroup trace: {tmp_path}/strace: no call is about /sys/fs/cgroup (--root), "
        "or strace had neither -y nor -ttt\n"
    )
