"""What strace(1) printed on a node becomes a trace: the lines here are of strace 6.1, but for names and numbers."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakecgroup.trace.call import Call
from fakecgroup.trace.imported import _READERS, Import
from fakecgroup.trace.replay import Replay
from fakecgroup.trace.strace_text import StraceReader
from fakecgroup.trace.trace_file import Head

AT = "AT_FDCWD</sys/fs/cgroup>"
SHELL = f"""\
100<sh> 10.000001 openat({AT}, "app/cpu.max", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 3</sys/fs/cgroup/app/cpu.max>
100<sh> 10.000002 dup2(3</sys/fs/cgroup/app/cpu.max>, 1</dev/pts/0>) = 1</sys/fs/cgroup/app/cpu.max>
100<sh> 10.000003 close(3</sys/fs/cgroup/app/cpu.max>) = 0
100<sh> 10.000004 write(1</sys/fs/cgroup/app/cpu.max>, "junk\\n", 5) = -1 EINVAL (Invalid argument)
100<sh> 10.000005 dup2(11</dev/pts/0>, 1</sys/fs/cgroup/app/cpu.max>) = 1</dev/pts/0>
"""


def imported(text: str, layout: str = "v2", root: str = "/sys/fs/cgroup") -> list[Call]:
    return list(Import(StraceReader(text.encode("utf-8", "surrogateescape").splitlines()), layout, root))


def made(text: str, layout: str = "v2") -> list[tuple[str, str, bytes | None, str | None]]:
    """The calls that somebody made."""
    return [(c.op, c.path, c.data, c.errno) for c in imported(text, layout) if not c.more.get("assumed")]


def test_a_shell_that_writes_to_a_file_has_it_open_until_it_is_put_aside() -> None:
    assert made(SHELL) == [
        ("open", "app/cpu.max", None, None),
        ("write", "app/cpu.max", b"junk\n", "EINVAL"),
        ("close", "app/cpu.max", None, None),
    ]
    write = next(call for call in imported(SHELL) if call.op == "write" and not call.more.get("assumed"))
    assert (write.pid, write.comm, round(write.t, 6), write.more["handle"]) == (100, "sh", 0.000003, 1)


def test_what_was_there_is_assumed() -> None:
    assumed = [(call.op, call.path, call.data) for call in imported(SHELL) if call.more.get("assumed")]
    assert assumed == [("mkdir", "app", None), ("write", "cgroup.subtree_control", b"+cpu")]


def test_a_replay_answers_as_the_node_did() -> None:
    replay = Replay(Head("v2", None, {}, "strace"), ["v2"], ["5.10", "7.2"])
    for number, call in enumerate(imported(SHELL), 2):
        replay.feed(number, call)
    replay.end()
    assert (replay.unreproduced(), replay.differs()) == ([], False)


def test_what_is_cut_in_two_by_another_thread_is_one_call() -> None:
    text = f"""\
100<a> 1.0 mkdirat({AT}, "x", 0777 <unfinished ...>
101<b> 1.1 rmdir("/sys/fs/cgroup/y") = -1 ENOENT (No such file or directory)
100<a> 1.2 <... mkdirat resumed>) = 0
"""
    assert made(text) == [("rmdir", "y", None, "ENOENT"), ("mkdir", "x", None, None)]


def test_paths_are_found_by_directories_and_what_is_outside_is_left_out() -> None:
    text = """\
7<a> 1.0 chdir("/sys/fs/cgroup/a") = 0
7<a> 1.1 mkdir("b/../c", 0777) = 0
7<a> 1.2 mkdirat(5</sys/fs/cgroup/a/c>, "d", 0700) = 0
7<a> 1.3 stat("/etc/passwd", {st_mode=S_IFREG|0644, st_size=10, ...}) = 0
7<a> 1.4 rmdir("/sys/fs/cgroup-not") = 0
"""
    assert [(op, path) for op, path, _, _ in made(text)] == [("mkdir", "a/c"), ("mkdir", "a/c/d")]
    modes = [call.more["mode"] for call in imported(text) if call.op == "mkdir" and not call.more.get("assumed")]
    assert modes == ["0755", "0700"]


def test_children_and_threads_are_told_and_have_the_open_files() -> None:
    text = f"""\
7<a> 1.0 openat({AT}, "cgroup.procs", O_RDONLY) = 3</sys/fs/cgroup/cgroup.procs>
7<a> 1.1 clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|SIGCHLD, child_tidptr=0x7f) = 8<a>
7<a> 1.2 clone3({{flags=CLONE_VM|CLONE_THREAD|CLONE_FILES, exit_signal=0, stack=0x7f}} => {{parent_tid=[9]}}, 88) = 9
8<a> 1.3 read(3</sys/fs/cgroup/cgroup.procs>, "1\\n", 131072) = 2
9<a> 1.4 mkdir("/sys/fs/cgroup/t", 0777) = 0
8<a> 1.5 +++ exited with 0 +++
7<a> 1.6 clone3({{flags=CLONE_INTO_CGROUP, exit_signal=SIGCHLD, cgroup=4</sys/fs/cgroup/t>}}, 88) = 10<a>
"""
    calls = imported(text)
    told = [(c.op, c.pid, c.result) for c in calls if c.op in ("fork", "thread", "exit")]
    assert told == [("fork", 7, 8), ("thread", 7, 9), ("exit", 8, None), ("fork", 7, 10)]
    assert [c.more["cgroups"] for c in calls if "cgroups" in c.more] == [["t"]]
    assert next((c.pid, c.tid) for c in calls if c.op == "mkdir" and not c.more.get("assumed")) == (7, 9)
    assert [c.op for c in calls if c.op == "close"] == []  # its parent has the file


def test_data_has_all_its_bytes_or_the_call_is_left_out() -> None:
    text = """\
7<a> 1.0 setxattr("/sys/fs/cgroup/a", "user.x", "\\377\\"\\0", 3, 0) = 0
7<a> 1.1 writev(4</sys/fs/cgroup/a/cgroup.freeze>, [{iov_base="1", iov_len=1}, {iov_base="\\n", iov_len=1}], 2) = 2
7<a> 1.2 write(4</sys/fs/cgroup/a/cgroup.freeze>, "0"..., 33) = 33
"""
    assert made(text) == [
        ("setxattr", "a", b'\xff"\0', None),
        ("write", "a/cgroup.freeze", b"1\n", None),
    ]


def test_on_v1_paths_begin_with_the_hierarchy() -> None:
    text = '7<a> 1.0 mkdir("/sys/fs/cgroup/memory/app/x", 0755) = 0\n'
    assert made(text, "v1") == [("mkdir", "memory/app/x", None, None)]
    assert [call.path for call in imported(text, "v1") if call.more.get("assumed")] == ["memory/app"]


def test_lines_as_tracepoints_tell_of_calls_are_read_too() -> None:
    text = """\
7<agent> 1.000000 openat(-100, "/sys/fs/cgroup/a/pids.max", O_WRONLY|O_CLOEXEC, 0) = 5
7<agent> 1.000100 write(5, "junk\\x0a", 5) = -22
7<agent> 1.000200 close(5) = 0
7<agent> 1.000300 rmdir("/sys/fs/cgroup/b") = -2
"""
    assert made(text) == [
        ("open", "a/pids.max", None, None),
        ("write", "a/pids.max", b"junk\n", "EINVAL"),
        ("close", "a/pids.max", None, None),
        ("rmdir", "b", None, "ENOENT"),
    ]


def test_lines_that_are_no_calls_are_counted() -> None:
    reader = StraceReader(
        b'junk\n7<a> 1.0 mkdir("x\n7<a> 1.0 --- SIGCHLD {} ---\n7 1.0 exit_group(0) = ?\n'.splitlines()
    )
    assert list(Import(reader, "v2")) == []
    assert reader.not_read == 2


@pytest.mark.parametrize("arguments", ["", "1", '"a"', '5</sys/fs/cgroup/a>, "b"', '"/sys/fs/cgroup", 1, 2, 3, 4'])
@pytest.mark.parametrize("result", ["3", "-1 EIO (Input/output error)", "?"])
def test_calls_with_other_arguments_than_they_have_break_nothing(arguments: str, result: str) -> None:
    imported("".join(f"7<a> 1.0 {name}({arguments}) = {result}\n" for name in _READERS))


@settings(deadline=None)
@given(st.lists(st.sampled_from(SHELL.splitlines()), max_size=6), st.text(max_size=20), st.integers(0, 120))
def test_no_text_is_too_strange(lines: list[str], text: str, at: int) -> None:
    imported("\n".join(line[:at] + text + line[at:] for line in lines))
