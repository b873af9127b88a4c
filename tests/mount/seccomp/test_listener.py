"""The threads that answer trapped calls."""

from __future__ import annotations

import logging
import os
import socket
import threading
from errno import EMFILE, ENOENT, ENOMEM

import pytest

from fakecgroup_mount.errors import MountError
from fakecgroup_mount.seccomp import syscalls
from fakecgroup_mount.seccomp.filter import install, program
from fakecgroup_mount.seccomp.listener import Call, Continue, Listener, later

from ...waiting import wait_until

PR_SET_NO_NEW_PRIVS = 38


def listener_of_a_process_that_has_ended() -> int:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        child = os.fork()
        if child == 0:
            try:
                syscalls.libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
                socket.send_fds(theirs, [b"+"], [install(program({}, {}))])
            except MountError as error:
                theirs.send(str(error).encode())
            os._exit(0)
        said, descriptors, _, _ = socket.recv_fds(ours, 4096, 1)
        os.waitpid(child, 0)
    if not descriptors:
        pytest.skip(said.decode())
    return descriptors[0]


def listener_of_a_process_that_asks(expected: int = ENOENT) -> tuple[int, int]:
    """The process calls fstatfs(2), which is trapped, and ends with 0 if that has failed as expected."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                syscalls.libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
                fd = install(program({"fstatfs": None}, {}))
                socket.send_fds(theirs, [b"+"], [fd])
                os.close(fd)
                os.fstatvfs(0)
            except MountError as error:
                theirs.send(str(error).encode())
            except OSError as error:
                status = 0 if error.errno == expected else 2
            finally:
                os._exit(status)
        said, descriptors, _, _ = socket.recv_fds(ours, 4096, 1)
    if not descriptors:
        pytest.skip(said.decode())
    return child, descriptors[0]


def test_who_may_have_to_wait_is_answered_even_where_there_can_be_no_second_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    child, fd = listener_of_a_process_that_asks()
    before = threading.active_count()
    start = threading.Thread.start

    def start_one(thread: threading.Thread) -> None:
        if threading.active_count() > before:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_one)
    Listener(fd, syscalls.HERE.by_number({"fstatfs": later(lambda call: -ENOENT)})).start()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("error", [MemoryError(), OSError(EMFILE, os.strerror(EMFILE))], ids=["memory", "files"])
def test_a_shortage_of_the_servers_is_enomem(error: Exception) -> None:
    def short(call: Call) -> int:
        raise error

    child, fd = listener_of_a_process_that_asks(ENOMEM)
    Listener(fd, syscalls.HERE.by_number({"fstatfs": short})).start()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_nobody_listens_on_when_nobody_is_left_to_be_heard() -> None:
    before = set(threading.enumerate())
    Listener(listener_of_a_process_that_has_ended(), {}).start()
    wait_until(lambda: set(threading.enumerate()) <= before)


def test_what_goes_wrong_after_an_answer_is_logged_and_ends_no_thread(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise KeyError("a bug")

    child, fd = listener_of_a_process_that_asks()
    with caplog.at_level(logging.ERROR):
        Listener(fd, syscalls.HERE.by_number({"fstatfs": lambda call: Continue(fail)})).start()
        wait_until(lambda: "KeyError: 'a bug'" in caplog.text)
    os.waitpid(child, 0)
