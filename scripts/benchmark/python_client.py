"""Issues operations on one cgroup and times them, like client.c, whose lines it speaks.

``python -m benchmark.python_client`` works on a model in its own process: no mount, no system calls. With DIRECTORY
FILE VALUE it makes system calls, where client.c cannot be compiled.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from time import perf_counter_ns

from fakecgroup import ROOT

from . import measured_cgroup

Call = Callable[[int], object]
Steps = tuple[Call, Call, Call]  # what is timed, what comes before it, what after; each gets the operation's number


def _nothing(number: int) -> None:
    pass


def on_model() -> dict[str, Steps]:
    """The operations on a model of its own."""
    kernel = measured_cgroup.model()
    work, path, data = (
        f"/{measured_cgroup.NAME}",
        f"/{measured_cgroup.NAME}/{measured_cgroup.FILE}",
        measured_cgroup.VALUE.encode(),
    )
    writable, readable = kernel.open(path, os.O_WRONLY), kernel.open(path)

    def mkdir(number: int) -> None:
        kernel.mkdir(f"{work}/c{number}")

    def rmdir(number: int) -> None:
        kernel.rmdir(f"{work}/c{number}")

    return {
        "nothing": (_nothing, _nothing, _nothing),
        "mkdir": (mkdir, _nothing, rmdir),
        "write": (lambda n: kernel.open(path, os.O_WRONLY).write(data, ROOT), _nothing, _nothing),
        "read": (lambda n: kernel.open(path).read(0, 4096), _nothing, _nothing),
        "pwrite": (lambda n: writable.write(data, ROOT), _nothing, _nothing),
        "pread": (lambda n: readable.read(0, 4096), _nothing, _nothing),
        "stat": (lambda n: kernel.stat(path), _nothing, _nothing),
        "listdir": (lambda n: kernel.listdir(work), _nothing, _nothing),
        "rmdir": (rmdir, mkdir, _nothing),
    }


def on_directory(work: str, file: str, value: str) -> dict[str, Steps]:
    """The operations on a directory."""
    path, data = os.path.join(work, file), value.encode()
    writable, readable = os.open(path, os.O_WRONLY), os.open(path, os.O_RDONLY)

    def mkdir(number: int) -> None:
        os.mkdir(f"{work}/c{number}", 0o755)

    def rmdir(number: int) -> None:
        os.rmdir(f"{work}/c{number}")

    def write(number: int) -> None:
        fd = os.open(path, os.O_WRONLY)
        os.write(fd, data)
        os.close(fd)

    def read(number: int) -> None:
        fd = os.open(path, os.O_RDONLY)
        os.read(fd, 4096)
        os.close(fd)

    return {
        "nothing": (_nothing, _nothing, _nothing),
        "mkdir": (mkdir, _nothing, rmdir),
        "write": (write, _nothing, _nothing),
        "read": (read, _nothing, _nothing),
        "pwrite": (lambda n: os.pwrite(writable, data, 0), _nothing, _nothing),
        "pread": (lambda n: os.pread(readable, 4096, 0), _nothing, _nothing),
        "stat": (lambda n: os.stat(path), _nothing, _nothing),
        "listdir": (lambda n: os.listdir(work), _nothing, _nothing),
        "rmdir": (rmdir, mkdir, _nothing),
    }


def main(argv: list[str]) -> int:
    operations = on_directory(*argv) if argv else on_model()
    for line in sys.stdin:
        name, count = line.split()
        timed, before, after = operations[name]
        numbers = range(int(count))
        for number in numbers:
            before(number)
        gc.collect()
        begin = perf_counter_ns()
        for number in numbers:
            timed(number)
        end = perf_counter_ns()
        for number in numbers:
            after(number)
        print(end - begin, flush=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except OSError as error:
        sys.exit(f"{error.filename or 'model'}: {error.strerror}")
