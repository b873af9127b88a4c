"""Says to systemd-oomd what PID 1 says: which cgroups it is to manage (src/core/core-varlink.c).

managed_oom.py SOCKET PATH=PROPERTY...
"""

from __future__ import annotations

import json
import os
import socket
import sys


def main(place: str, *managed: str) -> None:
    """Answers one subscriber, and waits for its end."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        os.makedirs(os.path.dirname(place), exist_ok=True)
        listening.bind(place)
        listening.listen(1)
        subscriber, _ = listening.accept()
        with subscriber:
            asked = b""
            while not asked.endswith(b"\0"):
                asked += subscriber.recv(4096)
            cgroups = [
                {"mode": "kill", "path": path, "property": name} for path, name in (one.split("=") for one in managed)
            ]
            answer = {"parameters": {"cgroups": cgroups}, "continues": True}
            subscriber.sendall(json.dumps(answer).encode() + b"\0")
            while subscriber.recv(4096):
                pass


if __name__ == "__main__":
    main(*sys.argv[1:])
