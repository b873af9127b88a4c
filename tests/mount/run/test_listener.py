"""Who answers trapped calls."""

from __future__ import annotations

import os
import socket
import threading
import time

import pytest

from mount.errors import MountError
from mount.run import syscalls
from mount.run.filter import install, program
from mount.run.listener import Listener

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


def test_nobody_listens_on_when_nobody_is_left_to_be_heard() -> None:
    before = set(threading.enumerate())
    Listener(listener_of_a_process_that_has_ended(), {}).start()
    end = time.monotonic() + 5
    while set(threading.enumerate()) - before and time.monotonic() < end:
        time.sleep(0.01)
    assert set(threading.enumerate()) - before == set()
