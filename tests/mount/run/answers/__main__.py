"""Small things that a program does with cgroups, and what it is told.

Run in front of a tree or of a real kernel's /sys/fs/cgroup, as root, this prints a JSON object: the name of each
operation and its answer. It takes nothing but Python, as it also runs in a virtual machine. Arguments: the layout, and
optionally names, the only ones to be done.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any

from place import OPERATIONS, PATIENCE, Place

for topic in ("opening", "file_systems", "mounting", "tasks", "events", "files", "processes"):
    import_module(topic)


def done(name: str, layout: str) -> Any:
    """The answer to an operation, by a process of its own, which is killed with all that it has started if it hangs."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setsid()
        os.close(ours)
        place = Place(layout, name)
        try:
            found = OPERATIONS[name](place)
        except BaseException:
            found = traceback.format_exc().splitlines()[-3:]
        with contextlib.suppress(OSError):
            Path(place.hierarchy, "cgroup.procs").write_text("0")
        place.remove()
        with open(theirs, "w") as file:
            file.write(json.dumps(found))
        os._exit(0)
    os.close(theirs)
    with open(ours, "rb") as file:
        ready = select.select([file], [], [], PATIENCE)[0]
        text = file.read() if ready else b'"no answer"'
    if not ready:
        os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return json.loads(text or b'"lost"')


def main(layout: str, *names: str) -> None:
    lines = (f"{json.dumps(name)}: {json.dumps(done(name, layout))}" for name in names or OPERATIONS)
    print("{", ",\n".join(lines), "}", sep="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
