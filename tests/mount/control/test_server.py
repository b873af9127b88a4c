"""The control server answers its own uid alone."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fakecgroup import JoinedProcesses, Kernel, ProcessTable
from fakecgroup_mount.control import messages
from fakecgroup_mount.control.directory import remove_stale, socket_of
from fakecgroup_mount.control.errors import CommandError
from fakecgroup_mount.control.server import ControlServer
from fakecgroup_mount.live.passing_time import PassingTime

from ..conftest import OTHER_UID, needs_root


@pytest.fixture
def passing_time() -> PassingTime:
    processes = JoinedProcesses(ProcessTable())
    return PassingTime(Kernel(processes=processes), processes, threading.Lock(), lambda before, after: None, 1.0)


@pytest.fixture
def server(public_directory: Callable[[], Path], passing_time: PassingTime) -> Iterator[ControlServer]:
    """A server that anybody can reach, with one command."""

    def refuse(time: PassingTime, arguments: object) -> dict[str, object]:
        raise CommandError("not today")

    directory = public_directory() / "sockets"
    directory.mkdir()
    commands = {"say": lambda time, arguments: {"said": arguments["text"]}, "refuse": refuse}
    made = ControlServer(socket_of(directory, "0:1"), passing_time, commands)
    made.path.chmod(0o777)
    yield made
    made.close()


def asked(path: Path, message: dict[str, object]) -> dict[str, object]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(os.fspath(path))
        messages.send(connection, message)
        return messages.receive(connection)


def test_a_command_is_done(server: ControlServer) -> None:
    assert asked(server.path, {"command": "say", "arguments": {"text": "x"}}) == {"result": {"said": "x"}}


def test_a_refusal_has_a_status(server: ControlServer) -> None:
    assert asked(server.path, {"command": "refuse", "arguments": {}}) == {"error": "not today", "status": 1}


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ({"command": "nix", "arguments": {}}, "this daemon knows no command 'nix'; it knows say, refuse"),
        ({"command": ["say"], "arguments": {}}, "this daemon knows no command ['say']; it knows say, refuse"),
        ({"command": "say"}, "a command's arguments are texts"),
        ({"command": "say", "arguments": {"text": 1}}, "a command's arguments are texts"),
        ({"command": "say", "arguments": {}}, "say: the argument 'text' is missing"),
    ],
)
def test_a_wrong_command_is_told_so(server: ControlServer, message: dict[str, object], error: str) -> None:
    assert asked(server.path, message) == {"error": error, "status": 2}


@needs_root
@pytest.mark.hostile("another user reaches the control socket all the same")
def test_a_stranger_is_refused(server: ControlServer) -> None:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setresuid(OTHER_UID, OTHER_UID, OTHER_UID)
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.connect(os.fspath(server.path))
                os.write(writing, json.dumps(messages.receive(connection)).encode())
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        answer = json.loads(pipe.read())
    assert answer == {"error": "only the mounter of this tree (uid 0) may control it", "status": 1}


def test_a_server_that_ends_removes_its_socket(server: ControlServer) -> None:
    server.close()
    assert list(server.path.parent.iterdir()) == []


def test_only_sockets_that_nobody_listens_to_are_stale(server: ControlServer) -> None:
    stale = server.path.with_name("0-2.sock")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as ended:
        ended.bind(os.fspath(stale))
    remove_stale(server.path.parent)
    assert [path.name for path in server.path.parent.iterdir()] == ["0-1.sock"]
