"""`fakecgroup run --trace` records trapped calls beside those on the tree."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from fakecgroup.trace.call import NOTES

from ..conftest import run
from .conftest import Sandboxed, said


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def calls(file: Path, *operations: str) -> list[dict[str, Any]]:
    return [one for one in lines(file) if one["op"] not in NOTES and one["op"] in operations]


def test_trapped_calls_are_there_with_what_programs_were_told(sandboxed: Sandboxed, tmp_path: Path) -> None:
    script = """mkdir /sys/fs/cgroup/a; stat -f -c %T /sys/fs/cgroup/a
    echo $$ >/sys/fs/cgroup/a/cgroup.procs; cat /proc/self/cgroup; unshare -C cat /proc/self/cgroup"""
    assert said(sandboxed(script, trace=str(tmp_path / "t"))) == "cgroup2fs\n0::/a\n0::/\n"
    assert [(one["comm"], one["path"]) for one in calls(tmp_path / "t", "statfs")] == [("stat", "a")]
    opened = [one for one in calls(tmp_path / "t", "open", "openat") if one["path"] == "/proc/self/cgroup"]
    assert [one["data"] for one in opened] == ["0::/a\n", "0::/\n"]
    assert [one["flags"] for one in calls(tmp_path / "t", "unshare")] == ["CLONE_NEWCGROUP"]


def test_what_the_kernel_does_by_itself_is_not_there(sandboxed: Sandboxed, tmp_path: Path) -> None:
    said(sandboxed("cat /etc/passwd >/dev/null; sleep 0 & wait", trace=str(tmp_path / "t")))
    assert calls(tmp_path / "t", "open", "openat", "fork", "clone", "clone3", "exit_group") == []


def test_forks_that_a_limit_refuses_are_there(sandboxed: Sandboxed, tmp_path: Path) -> None:
    script = """cd /sys/fs/cgroup; echo +pids >cgroup.subtree_control; mkdir a; echo 1 >a/pids.max
    echo $$ >a/cgroup.procs; (sleep 0) 2>/dev/null; true"""
    sandboxed(script, trace=str(tmp_path / "t"))
    refused = calls(tmp_path / "t", "fork", "vfork", "clone", "clone3")
    assert {one["errno"] for one in refused} == {"EAGAIN"}
    assert run("replay", tmp_path / "t").returncode == 0


def test_a_child_that_is_cloned_into_a_cgroup_is_there_in_a_replay(sandboxed: Sandboxed, tmp_path: Path) -> None:
    script = r"""mkdir /sys/fs/cgroup/a; /usr/bin/python3 - <<'END'
import ctypes, os, struct
fd = os.open("/sys/fs/cgroup/a", os.O_RDONLY | os.O_DIRECTORY)
arguments = struct.pack("=11Q", 1 << 33, 0, 0, 0, 17, 0, 0, 0, 0, 0, fd)
pid = ctypes.CDLL(None).syscall(435, arguments, len(arguments))
if pid == 0:
    print(open("/proc/self/cgroup").read(), end="", flush=True)
    os._exit(0)
os.waitpid(pid, 0)
END
rmdir /sys/fs/cgroup/a"""
    assert said(sandboxed(script, trace=str(tmp_path / "t"))) == "0::/a\n"
    (clone,) = calls(tmp_path / "t", "clone3")
    assert (clone["path"], clone["errno"], clone["flags"]) == ("a", None, "CLONE_INTO_CGROUP")
    found = json.loads(run("replay", tmp_path / "t", "-o", "json").stdout)
    assert (found["differs"], found["unreproduced"]) == (False, [])


def test_the_trace_is_whole_when_the_command_has_ended(sandboxed: Sandboxed, tmp_path: Path) -> None:
    for _ in range(3):
        said(sandboxed("mkdir /sys/fs/cgroup/a", trace=str(tmp_path / "t")))
        found = lines(tmp_path / "t")
        assert [one["path"] for one in found if one["op"] == "mkdir"] == ["a"]
        assert found[-1]["op"] == "end"


def test_ctl_traces_from_inside_with_the_rights_of_who_asks(sandboxed: Sandboxed, tmp_path: Path) -> None:
    ctl = f"{sys.executable} -c 'import sys; from fakecgroup_mount.cli.program import main; sys.exit(main())' ctl"
    script = f"""{ctl} /sys/fs/cgroup trace start {tmp_path}/t && mkdir /sys/fs/cgroup/a
    cat /proc/self/cgroup >/dev/null; {ctl} /sys/fs/cgroup trace stop"""
    said(sandboxed(script))
    found = lines(tmp_path / "t")
    assert [one["path"] for one in found if one["op"] == "mkdir"] == ["a"]
    assert any(one["path"] == "/proc/self/cgroup" for one in found)


def test_the_file_is_opened_by_the_command(sandboxed: Sandboxed, tmp_path: Path) -> None:
    done = sandboxed("true", trace=str(tmp_path / "no" / "t"))
    assert (done.returncode, done.stderr) == (
        1,
        f"fakecgroup run: --trace {tmp_path}/no/t: No such file or directory\n",
    )
