"""A trace's file is read line by line, and what is none is refused with its place."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakecgroup import Kernel
from fakecgroup.trace.call import line_of
from fakecgroup.trace.trace_file import MOST_LINE, TraceError, TraceReader, head_of

from .traces import Script


def reader(text: bytes) -> TraceReader:
    return TraceReader(io.BytesIO(text), "t.jsonl")


def test_the_head_says_which_tree_it_was() -> None:
    kernel = Kernel("v1", "6.1", cpus=2, memory="1Gi", hugepages="2Mi=3", block_devices="8:0")
    head = head_of(kernel, "a test", "2026-01-01T00:00:00Z")
    assert reader(line_of(head.as_call()).encode()).head == head
    again = Kernel(head.layout, head.kernel, **head.machine)
    assert again.machine == kernel.machine
    assert again.mount_options == kernel.mount_options


def test_calls_come_in_their_order() -> None:
    script = Script()
    script.call("mkdir", "a", result=0, mode="0755")
    script.call("rmdir", "a", result=0)
    assert list(script.reader()) == script.calls


def test_a_last_line_without_an_end_is_left_out() -> None:
    script = Script()
    script.call("mkdir", "a", result=0)
    script.call("rmdir", "a", result=0)
    cut = reader(script.text[:-10])
    assert [call.op for call in cut] == ["mkdir"]
    assert cut.cut_off


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"", "this is no trace"),
        (b"hello\n", "line 1: this is no call of a trace: it is no JSON"),
        (b'{"op": "open"}\n', "this is no trace"),
        (b'{"op": "trace"}\n', "its format is None, and 1 is"),
        (b'{"op": "trace", "result": {"format": 2}}\n', "its format is 2, and 1 is"),
        (b'{"op": "trace", "result": {"format": 1, "layout": "v3"}}\n', "its layout 'v3' is none of"),
        (b'{"op": "trace", "result": {"format": 1, "layout": "v2", "kernel": 6.12}}\n', "its kernel is no text"),
        (b'{"op": "trace", "result": {"format": 1, "layout": "v2", "cpus": 0}}\n', "cpus: 0 is not a whole number"),
    ],
)
def test_what_is_no_trace_is_refused_in_one_line(text: bytes, why: str) -> None:
    with pytest.raises(TraceError, match=r"^t\.jsonl.*" + why) as raised:
        reader(text)
    assert "\n" not in str(raised.value)


def test_a_wrong_line_is_refused_with_its_number() -> None:
    script = Script()
    script.call("mkdir", "a", result=0)
    found = reader(script.text + b"junk\n")
    with pytest.raises(TraceError, match=r"^t\.jsonl, line 3: this is no call of a trace: it is no JSON$"):
        list(found)


def test_a_line_without_an_end_is_not_read_whole() -> None:
    script = Script()
    with pytest.raises(TraceError, match="line 2: it is longer than"):
        list(reader(script.text + b'{"op": "' + b"x" * (2 * MOST_LINE)))


@given(st.binary(max_size=400), st.integers(0, 200))
def test_no_file_raises_anything_else(junk: bytes, at: int) -> None:
    script = Script()
    script.write("a/cpu.max", "max")
    for text in (junk, script.text[:at] + junk + script.text[at:]):
        try:
            list(reader(text))
        except TraceError as error:
            assert "\n" not in str(error)
