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
from fakecgroup.faults import Faults
from fakecgroup_mount.control import messages
from fakecgroup_mount.control.controlled_tree import Asked, ControlledTree
from fakecgroup_mount.control.directory import remove_stale, socket_of
from fakecgroup_mount.control.errors import CommandError
from fakecgroup_mount.control.server import ControlServer
from fakecgroup_mount.live.passing_time import PassingTime
from fakecgroup_mount.record.tracing import Tracing

from ..conftest import OTHER_UID, needs_root


class Unused:
    """The faults of a tree that has none."""

    begun = False

    @property
    def faults(self) -> Faults:
        raise AssertionError("nobody asked for faults")


class NothingEnforced:
    """The limits of a tree of which none acts."""

    names: frozenset[str] = frozenset()

    def enforce(self, names: frozenset[str]) -> None:
        raise AssertionError("nobody asked for limits")


@pytest.fixture
def tree() -> ControlledTree:
    processes = JoinedProcesses(ProcessTable())
    kernel = Kernel(processes=processes)
    time = PassingTime(kernel, processes, threading.Lock(), lambda before, after: None, 1.0)
    tracing = Tracing(kernel, time.lock, "a test", [], "")
    return ControlledTree(kernel, time, Unused(), NothingEnforced(), tracing, lambda: None)


@pytest.fixture
def server(public_directory: Callable[[], Path], tree: ControlledTree) -> Iterator[ControlServer]:
    """A server that anybody can reach, with three commands."""

    def say(tree: ControlledTree, asked: Asked) -> dict[str, object]:
        return {"said": asked.arguments["text"]}

    def refuse(tree: ControlledTree, asked: Asked) -> dict[str, object]:
        raise CommandError("not today")

    def read(tree: ControlledTree, asked: Asked) -> dict[str, object]:
        return {"read": os.read(asked.file, 100).decode() if asked.file >= 0 else None}

    directory = public_directory() / "sockets"
    directory.mkdir()
    made = ControlServer(socket_of(str(directory), "0:1"), tree, {"say": say, "refuse": refuse, "read": read})
    os.chmod(made.path, 0o777)
    yield made
    made.close()


def asked(path: str, message: dict[str, object], file: int = -1) -> dict[str, object]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(path)
        messages.send(connection, message, file)
        return messages.receive(connection)


def test_a_command_is_done(server: ControlServer) -> None:
    assert asked(server.path, {"command": "say", "arguments": {"text": "x"}}) == {"result": {"said": "x"}}


def test_a_command_gets_the_file_that_was_opened_for_it(server: ControlServer, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("content")
    with open(tmp_path / "file") as file:
        assert asked(server.path, {"command": "read", "arguments": {}}, file.fileno()) == {
            "result": {"read": "content"}
        }
    assert asked(server.path, {"command": "read", "arguments": {}}) == {"result": {"read": None}}


def test_a_file_is_closed_after_its_command(server: ControlServer) -> None:
    reading, writing = os.pipe()
    for command in ("refuse", "say", "nix"):
        asked(server.path, {"command": command, "arguments": {}}, writing)
    os.close(writing)
    with open(reading, "rb") as pipe:
        assert pipe.read() == b""  # nobody holds the other end


def test_a_refusal_has_a_status(server: ControlServer) -> None:
    assert asked(server.path, {"command": "refuse", "arguments": {}}) == {"error": "not today", "status": 1}


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ({"command": "nix", "arguments": {}}, "this daemon knows no command 'nix'; it knows say, refuse, read"),
        ({"command": ["say"], "arguments": {}}, "this daemon knows no command ['say']; it knows say, refuse, read"),
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
                connection.connect(server.path)
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
    assert os.listdir(os.path.dirname(server.path)) == []


def test_only_sockets_that_nobody_listens_to_are_stale(server: ControlServer) -> None:
    directory = os.path.dirname(server.path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as ended:
        ended.bind(os.path.join(directory, "0-2.sock"))
    remove_stale(directory)
    assert os.listdir(directory) == ["0-1.sock"]
