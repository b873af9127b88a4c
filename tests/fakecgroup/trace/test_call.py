"""A line of a trace is read as it was written, and refused with its reason where it is none."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakecgroup.trace.call import KEYS, Call, CallError, call_of, line_of


def test_a_line_has_each_key_in_its_order_and_then_what_else_matters() -> None:
    call = Call(1.25, 7, "sh", "write", "a/cpu.max", b"max\n", None, 4, {"handle": 3})
    assert list(json.loads(line_of(call))) == [*KEYS, "handle"]
    assert call_of(line_of(call)) == call


def test_bytes_that_are_no_text_are_in_base64() -> None:
    line = line_of(Call(0.0, 7, "sh", "write", "a/cpu.max", b"\xff\x00"))
    assert json.loads(line)["data"] == {"base64": "/wA="}
    assert call_of(line).data == b"\xff\x00"


@given(st.binary(max_size=300), st.text(max_size=20).filter(lambda text: "\0" not in text), st.integers(0, 2**31 - 1))
def test_any_call_is_read_as_it_was_written(data: bytes, comm: str, pid: int) -> None:
    call = Call(0.5, pid, comm, "write", "a/\udcff", data, "EINVAL", None, {"handle": 1})
    assert call_of(line_of(call)) == call


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ("[]", "no JSON object"),
        ("{}", "has no op"),
        ('{"op": 1}', "has no op"),
        ('{"op": "open", "t": "now"}', "t is no time"),
        ('{"op": "open", "t": NaN}', "t is no time"),
        ('{"op": "open", "t": -1}', "t is no time"),
        ('{"op": "open", "pid": "1"}', "pid is no process number"),
        ('{"op": "open", "pid": 99999999999}', "pid is no process number"),
        ('{"op": "open", "path": 1}', "path is no text"),
        ('{"op": "open", "path": "a\\u0000b"}', "path is no text"),
        ('{"op": "open", "errno": "no such file"}', "errno is no name"),
        ('{"op": "open", "errno": "E\\u001b[2J"}', "errno is no name"),
        ('{"op": "open", "data": 1}', "data is neither"),
        ('{"op": "open", "data": {"base64": "?"}}', "data is neither"),
        ('{"op": "open", "data": {"b64": ""}}', "data is neither"),
    ],
)
def test_what_is_no_call_is_refused_with_the_reason(line: str, why: str) -> None:
    with pytest.raises(CallError, match=why):
        call_of(line)


@given(st.text(max_size=200) | st.binary(max_size=200))
def test_no_line_raises_anything_else(line: str | bytes) -> None:
    try:
        call_of(line)
    except CallError:
        pass


@given(
    st.dictionaries(
        st.sampled_from([*KEYS, "handle", "flags"]),
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text(max_size=5)
        | st.lists(st.integers(), max_size=2),
    )
)
def test_no_object_raises_anything_else(value: dict[str, object]) -> None:
    try:
        call_of(json.dumps(value))
    except CallError:
        pass
