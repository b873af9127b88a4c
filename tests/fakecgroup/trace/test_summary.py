"""What a trace says as a whole."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from fakecgroup.trace.call import Call
from fakecgroup.trace.summary import Summary, summary_json, summary_lines
from fakecgroup.trace.trace_file import Head

from .calls import calls
from .traces import Script


def summed(script: Script) -> Summary:
    summary = Summary(script.head)
    for call in script.calls:
        summary.feed(call)
    return summary


def limited() -> Script:
    script = Script()
    script.write("cgroup.subtree_control", "+cpu +memory +pids")
    script.call("mkdir", "a", result=0, mode="0755")
    script.write("a/cpu.max", "50000 100000")
    return script


def test_refused_calls_are_first_and_the_most_frequent_of_them_before_the_others() -> None:
    script = limited()
    script.call("rmdir", "b", errno="ENOENT")
    for _ in range(3):
        script.write("a/cpu.max", "junk", "EINVAL")
    lines = summary_lines(summed(script))
    assert lines[2:5] == ["refused:", '  EINVAL write a/cpu.max "junk" (3 times) by sh', "  ENOENT rmdir b by sh"]


def test_it_says_who_wrote_what_last() -> None:
    script = limited()
    script.write("a/cpu.max", "60000 100000")
    text = "\n".join(summary_lines(summed(script)))
    assert 'written by sh:\n  cgroup.subtree_control "+cpu +memory +pids"\n  a/cpu.max "60000 100000" (2 times)' in text


def test_a_value_is_unread_until_somebody_reads_the_file_after_it_was_written() -> None:
    script = limited()
    script.read("cgroup.subtree_control", "cpu memory pids\n")
    script.read("a/cpu.max", "50000 100000\n")
    script.write("a/cpu.max", "60000 100000")
    assert [one.path for one in summed(script).unread()] == ["a/cpu.max"]


def test_a_write_of_what_is_there_changes_nothing() -> None:
    script = limited()
    script.write("a/pids.max", "max")
    script.write("a/cpu.max", "50000")
    script.write("a/cpu.max", "70000")
    script.write("cgroup.subtree_control", "+pids")
    assert summary_json(summed(script))["unchanged"] == [
        {"path": "cgroup.subtree_control", "data": "+pids", "times": 1},
        {"path": "a/cpu.max", "data": "50000", "times": 1},
        {"path": "a/pids.max", "data": "max", "times": 1},
    ]


def test_a_process_that_is_moved_to_where_it_is_moves_in_vain() -> None:
    script = limited()
    script.write("a/cgroup.procs", "1001")
    script.write("a/cgroup.procs", "1001")
    assert [one["path"] for one in summary_json(summed(script))["unchanged"]] == ["a/cgroup.procs"]


def test_writes_that_no_text_shows_are_not_in_vain() -> None:
    script = limited()
    script.write("a/memory.reclaim", "0")
    script.write("a/cgroup.kill", "1")
    script.write("a/cpu.pressure", "some 150000 1000000")
    assert summary_json(summed(script))["unchanged"] == []


def test_without_the_kernel_nobody_knows_what_changed_nothing() -> None:
    script = limited()
    script.head = Head("v2", None, {}, "strace")
    assert summary_json(summed(script))["unchanged"] is None


def test_calls_that_are_not_wanted_have_their_effect_all_the_same() -> None:
    script = limited()
    script.write("a/cpu.max", "50000")
    summary = Summary(script.head)
    for call in script.calls:
        summary.feed(call, wanted=call.data == b"50000")
    assert summary_json(summary)["unchanged"] == [{"path": "a/cpu.max", "data": "50000", "times": 1}]
    assert summary.calls == 1


@settings(deadline=None)
@given(st.lists(calls, max_size=12))
def test_no_calls_are_more_than_a_summary_can_take(made: list[Call]) -> None:
    summary = Summary(Head("v2", "6.12", {}, "a test"))
    for call in made:
        summary.feed(call)
    json.dumps(summary_json(summary))
    assert all(line.isprintable() for line in summary_lines(summary))
