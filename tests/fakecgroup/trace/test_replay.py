"""The calls of a trace on other kernels: what differs, what is left out, and what is compared with what."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from fakecgroup.trace.call import Call
from fakecgroup.trace.matrix import matrix_json, matrix_lines
from fakecgroup.trace.replay import MOST_ROWS, Replay, all_kernels
from fakecgroup.trace.trace_file import Head

from .calls import calls
from .traces import PID, Script, differing


def burst_and_reclaim() -> Script:
    """As 7.2 answers a script that writes cpu.max.burst and memory.reclaim."""
    script = Script(kernel="7.2")
    script.write("cgroup.subtree_control", "+cpu +memory")
    script.call("mkdir", "a", result=0, mode="0755")
    script.write("a/cpu.max", "50000 100000")
    script.write("a/cpu.max.burst", "1000")
    script.write("a/memory.reclaim", "0")
    script.call("rmdir", "a", result=0)
    return script


def test_files_that_a_kernel_has_not_are_refused_there_alone() -> None:
    replay = burst_and_reclaim().replay("5.10", "6.1", "7.2")
    assert differing(replay) == [
        ("open", "a/cpu.max.burst", {"5.10": "ENOENT", "6.1": None, "7.2": None}),
        ("open", "a/memory.reclaim", {"5.10": "ENOENT", "6.1": None, "7.2": None}),
    ]
    assert replay.differs()


def test_what_follows_from_a_refused_open_is_not_made_and_no_difference_of_its_own() -> None:
    replay = burst_and_reclaim().replay("5.10")
    assert replay.played[0].left_out["not made"] == 4  # write and close of both


def test_a_kernel_that_answers_as_recorded_does_not_differ() -> None:
    assert not burst_and_reclaim().replay("7.2").differs()


def test_the_kernels_are_those_that_have_every_layout() -> None:
    assert all_kernels() == ["5.10", "6.1", "6.12", "7.2"]


def test_a_text_is_compared_as_a_whole_whatever_the_parts_in_which_it_was_read() -> None:
    script = Script(kernel="6.12")
    script.write("cgroup.subtree_control", "+cpu")
    script.call("mkdir", "a", result=0, mode="0755")
    script.read("a/cpu.max", "max", " 100", "000\n")
    script.read("a/cgroup.events", "populated 0\nfrozen 0\n")
    assert not script.replay(*all_kernels()).differs()


def test_counters_have_no_value_but_their_names_count() -> None:
    script = Script(kernel="5.10")
    script.write("cgroup.subtree_control", "+cpu")
    script.call("mkdir", "a", result=0, mode="0755")
    script.read(
        "a/cpu.stat", "usage_usec 17\nuser_usec 9\nsystem_usec 8\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n"
    )
    replay = script.replay("5.10", "6.12")
    assert [(row.call.path, [one.title for one in found]) for row, found in replay.differing()] == [
        ("a/cpu.stat", ["6.12"])
    ]
    assert "+nr_bursts #" in "\n".join(matrix_lines(replay))


def test_processes_are_where_they_were_moved_and_so_are_their_children() -> None:
    script = Script()
    script.call("mkdir", "a", result=0, mode="0755")
    script.write("a/cgroup.procs", "1001")
    script.call("fork", result=1002, pid=1001, cgroups=["a"])
    script.read("a/cgroup.procs", "1001\n1002\n")
    script.call("exit", pid=1001)
    script.call("rmdir", "a", errno="EBUSY")
    script.call("exit", pid=1002)
    script.call("rmdir", "a", result=0)
    replay = script.replay(*all_kernels())
    assert not replay.differs()
    assert replay.unreproduced() == []


def test_a_process_that_was_killed_lives_until_its_end_was_seen() -> None:
    script = Script()
    script.call("mkdir", "a", result=0, mode="0755")
    script.call("process", result={"uid": 0, "gid": 0}, pid=1001)
    script.write("a/cgroup.procs", "1001")
    script.write("a/cgroup.kill", "1")
    script.call("rmdir", "a", errno="EBUSY")
    script.call("exit", pid=1001)
    script.call("rmdir", "a", result=0)
    assert script.replay("6.12").unreproduced() == []


def test_the_ids_and_capabilities_of_a_caller_decide_as_they_did() -> None:
    script = Script()
    script.call("mkdir", "a", result=0, mode="0755")
    script.call("process", result={"uid": 1000, "gid": 1000, "capabilities": "none"}, pid=1001)
    script.call("mkdir", "a/b", errno="EACCES", mode="0755", pid=1001)
    script.call("process", result={"uid": 1000, "gid": 1000, "capabilities": "DAC_OVERRIDE"}, pid=1001)
    script.call("mkdir", "a/b", result=0, mode="0755", pid=1001)
    script.call("chmod", "a", result=0, mode="0775")
    script.call("chown", "a", result=0, uid=0, gid=77)
    script.call("process", result={"uid": 9, "gid": 9, "groups": [77], "capabilities": "none"}, pid=1002)
    script.call("mkdir", "a/c", result=0, mode="0755", pid=1002)
    assert script.replay("6.12").unreproduced() == []


def test_what_its_own_kernel_does_not_answer_again_is_no_difference_of_others() -> None:
    script = Script(kernel="6.12")
    script.write("cgroup.subtree_control", "+memory")
    script.call("mkdir", "a", result=0, mode="0755")
    script.read("a/memory.events.local", "low 0\nhigh 7\nmax 0\noom 0\noom_kill 0\noom_group_kill 0\n")
    replay = script.replay("6.12", "6.1")
    assert not replay.differs()
    assert [row.call.path for row in replay.unreproduced()] == ["a/memory.events.local"]


def test_where_nobody_knows_the_kernel_the_one_that_answers_most_is_taken() -> None:
    script = burst_and_reclaim()
    script.head = Head("v2", None, {}, "strace")
    replay = script.replay("5.10", "6.1")
    assert replay.baseline is not None
    assert replay.baseline.kernel == "6.1"
    assert [found[0].kernel for _, found in replay.differing()] == ["5.10", "5.10"]


def test_calls_of_the_other_cgroup_version_are_not_applicable() -> None:
    replay = burst_and_reclaim().replay("6.1", layouts=["v1", "hybrid"])
    assert not replay.differs()
    text = "\n".join(matrix_lines(replay))
    assert "v1 6.1: not applicable: the trace is of v2, and paths are not translated" in text


def test_the_v1_part_of_a_hybrid_trace_is_played_on_v1() -> None:
    script = Script("hybrid", "6.1")
    script.call("mkdir", "pids/a", result=0, mode="0755")
    script.call("mkdir", "unified/a", result=0, mode="0755")
    replay = script.replay("6.1", layouts=["v1"])
    assert not replay.differs()
    assert (replay.played[0].compared, replay.played[0].left_out["not applicable"]) == (1, 1)


def test_what_is_assumed_is_made_and_not_compared() -> None:
    script = Script()
    script.call("mkdir", "a", errno="EEXIST", mode="0755", assumed=True)
    script.call("rmdir", "a", result=0)
    replay = script.replay("6.12")
    assert replay.unreproduced() == []
    assert replay.calls == 1


def test_what_a_fault_has_answered_is_not_compared() -> None:
    script = Script()
    script.call("mkdir", "a", errno="EBUSY", mode="0755", fault=["error EBUSY"])
    script.call("mkdir", "a", result=0, mode="0755")
    assert script.replay("6.12").unreproduced() == []


def test_mount_options_that_a_kernel_does_not_know_are_refused_there() -> None:
    script = Script(kernel="6.12")
    script.call("mount", "/sys/fs/cgroup", b"memory_hugetlb_accounting", result=0, type="cgroup2")
    assert differing(script.replay("6.1", "6.12")) == [("mount", "/sys/fs/cgroup", {"6.1": "EINVAL", "6.12": None})]


def test_the_object_for_programs_has_what_the_table_has() -> None:
    replay = burst_and_reclaim().replay("5.10", "7.2")
    found = json.loads(matrix_json(replay))
    assert (found["version"], found["differs"]) == (1, True)
    assert found["trace"] == {"layout": "v2", "kernel": "7.2", "calls": 14, "lost": 0}
    assert [(one["kernel"], one["differing"]) for one in found["kernels"]] == [("5.10", 2), ("7.2", 0)]
    first = found["calls"][0]
    assert (first["line"], first["op"], first["path"]) == (9, "open", "a/cpu.max.burst")
    assert first["recorded"] == {"answer": "given", "errno": None}
    assert [one["errno"] for one in first["answers"]] == ["ENOENT", None]


def test_a_long_trace_keeps_no_more_than_some_rows() -> None:
    replay = Replay(Head("v2", "6.12", {}, "a test"), ["v2"], ["6.12"])
    for number in range(MOST_ROWS + 5):
        replay.feed(number + 2, Call(0.0, PID, "sh", "rmdir", "nothing", None, None, 0))
    assert len(replay.rows) == MOST_ROWS
    assert replay.not_kept == 5


@settings(deadline=None, max_examples=300)
@given(st.lists(calls, max_size=12), st.sampled_from(["v2", "v1", "hybrid"]))
def test_no_trace_that_somebody_has_written_is_more_than_a_replay_can_take(made: list[Call], layout: str) -> None:
    replay = Replay(Head(layout, "6.1", {}, "a test"), [layout], ["5.10"])
    for number, call in enumerate(made):
        replay.feed(number + 2, call)
    replay.end()
    json.loads(matrix_json(replay))
    matrix_lines(replay)
