"""A call is shown as strace shows it, and nothing that strangers have named moves a cursor."""

from __future__ import annotations

import pytest
from hypothesis import given

from fakecgroup.trace.call import Call
from fakecgroup.trace.strace_line import strace_line

from .calls import calls


def shown(op: str, path: str = "", data: bytes | None = None, errno: str | None = None, result: object = 0,
          **more: object) -> str:  # fmt: skip
    return strace_line(Call(0.5, 7, "sh", op, path, data, errno, result, more)).removeprefix("    0.500000 sh[7] ")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (shown("open", "a/cpu.max", result=3, flags="O_WRONLY"), 'open("a/cpu.max", O_WRONLY) = 3'),
        (shown("write", "a/cpu.max", b"max\n", result=4, handle=3), 'write(3<a/cpu.max>, "max\\n") = 4'),
        (shown("read", "a/x", b"", result=0, handle=3, size=9, offset=4), 'read(3<a/x>, "", 9, 4) = 0'),
        (shown("mkdir", "a", errno="EEXIST", mode="0755"), 'mkdir("a", 0755) = -1 EEXIST (File exists)'),
        (shown("rename", "a", to="b", flags="RENAME_EXCHANGE"), 'rename("a", "b", RENAME_EXCHANGE) = 0'),
        (shown("setxattr", "a", b"\xff", name="user.x"), 'setxattr("a", "user.x", "\\377") = 0'),
        (shown("exit"), "+++ exited +++"),
        (shown("fork", result=8, cgroups=["a"]), "+++ forked 8 in a +++"),
        (shown("fault", "a/x", result="error EBUSY", rule=1, on="write"), "+++ fault 1 on write a/x: error EBUSY +++"),
    ],
)
def test_calls_look_as_those_of_strace(line: str, expected: str) -> None:
    assert line == expected


def test_a_thread_is_shown_beside_its_process() -> None:
    assert strace_line(Call(0.0, 7, "sh", "rmdir", "a", None, None, 0, {"tid": 8})).endswith('sh[7/8] rmdir("a") = 0')


def test_long_data_is_cut() -> None:
    assert shown("write", "a", b"x" * 5000, handle=1).endswith('xxx"...) = 0')


@given(calls)
def test_no_call_is_more_than_a_printable_line(call: Call) -> None:
    assert strace_line(call).isprintable()
