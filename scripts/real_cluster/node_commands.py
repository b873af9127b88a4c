"""node_commands.py SOCKET: runs commands in a node for those who connect, with their standard streams.

A request is one packet: JSON with `command` and `directory`, and the three streams. The answer is the exit status.
When the connection ends, so does the command.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

_MOST = 1 << 17  # bytes of a request
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126


def serve(path: str) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(path)
        listener.listen()
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=_answer, args=[connection], daemon=True).start()


def _answer(connection: socket.socket) -> None:
    with connection:
        request, streams, _, _ = socket.recv_fds(connection, _MOST, 3)
        try:
            if len(streams) == 3:
                connection.sendall(str(_run(connection, json.loads(request), streams)).encode())
        except OSError:
            pass  # who asked has gone
        finally:
            for stream in streams:
                os.close(stream)


def _run(connection: socket.socket, request: dict[str, object], streams: Sequence[int]) -> int:
    command, directory = request["command"], str(request["directory"])
    assert isinstance(command, list)
    try:
        process = subprocess.Popen(
            command,
            cwd=directory if Path(directory).is_dir() else "/",
            stdin=streams[0],
            stdout=streams[1],
            stderr=streams[2],
            start_new_session=True,
        )
    except FileNotFoundError:
        return _NOT_FOUND
    except OSError:
        return _NOT_EXECUTABLE
    threading.Thread(target=_kill_with, args=[connection, process], daemon=True).start()
    code = process.wait()
    return code if code >= 0 else 128 - code


def _kill_with(connection: socket.socket, process: subprocess.Popen[bytes]) -> None:
    """Nothing more is sent, so there is something to read when the connection ends."""
    try:
        connection.recv(1)
    except OSError:
        pass
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)


def ask(path: Path, command: Sequence[str], streams: Sequence[int] = (0, 1, 2)) -> int:
    """The command's exit status, as a shell has it. Raises OSError."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.connect(str(path))
        request = json.dumps({"command": list(command), "directory": os.getcwd()}).encode()
        socket.send_fds(connection, [request], list(streams))
        return int(connection.recv(16) or 255)


def output(path: Path, command: Sequence[str], given: str = "") -> tuple[int, str]:
    """The command's exit status, and what it wrote to both of its outputs. `given` is its input. Raises OSError."""
    with tempfile.TemporaryFile("w+") as asked, tempfile.TemporaryFile("w+") as printed:
        asked.write(given)
        asked.seek(0)
        code = ask(path, command, [asked.fileno(), printed.fileno(), printed.fileno()])
        printed.seek(0)
        return code, printed.read()


if __name__ == "__main__":
    serve(sys.argv[1])
