"""The compared file systems: each column sets one up and removes it again."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from fakecgroup_mount.fuse.fuse_mount import umount_fuse
from fakecgroup_mount.host.mountinfo import mount_at

from . import build, interruption, measured_cgroup
from .child import Child, Client, started
from .errors import UnavailableError
from .own_cgroup import own_cgroup

_PATIENCE = 10.0  # seconds until a mount must answer
_SCRIPTS = Path(__file__).resolve().parent.parent


class Column(NamedTuple):
    """A file system that is ready: its client, a description, the number of entries in the listed directory, and the
    pid of its daemon (0: it has none).
    """

    client: Client
    what: str
    entries: int
    daemon: int = 0


class Bench:
    """What the columns share: a directory of their own, and the client program (None: Python stands in)."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.client: Path | None = None
        self.client_missing = ""
        try:
            self.client = build.compiled("client", directory)
        except UnavailableError as reason:
            self.client_missing = str(reason)

    @contextmanager
    def operating(self, work: Path, file: str, value: str, what: str, daemon: int = 0) -> Iterator[Column]:
        """A column whose operations are system calls in the directory `work`."""
        command = [str(self.client)] if self.client else _python_client()
        with started([*command, str(work), file, value], scripts_environment()) as child:
            yield Column(Client(child), what, len(os.listdir(work)), daemon)


def _python_client() -> list[str]:
    return [sys.executable, "-m", "benchmark.python_client"]


def scripts_environment() -> dict[str, str]:
    """The environment in which a Python process finds the benchmark."""
    return {**os.environ, "PYTHONPATH": str(_SCRIPTS)}


@contextmanager
def _mounted(at: Path, command: Sequence[str]) -> Iterator[Child]:
    """Runs a FUSE daemon that mounts at `at`. Raises UnavailableError with its complaint where it does not."""
    at.mkdir()
    before = at.stat().st_dev
    with started(command) as daemon:
        try:
            give_up = time.monotonic() + _PATIENCE
            while at.stat().st_dev == before:
                interruption.check()
                if not daemon.running:
                    raise UnavailableError(daemon.complaint())
                if time.monotonic() > give_up:
                    raise UnavailableError(f"nothing is mounted after {_PATIENCE:g} s")
                time.sleep(0.02)
            yield daemon
        finally:
            daemon.end()
            if mount_at(str(at)) is not None:  # it did not end as it should
                umount_fuse(str(at), lazy=True)


def mounting(at: Path, options: Sequence[str]) -> AbstractContextManager[Child]:
    """The fake, mounted at `at` while the context lasts, by its daemon. Raises UnavailableError where it cannot be."""
    python = (sys.executable, "-c", "import sys; from fakecgroup_mount.cli.program import main; sys.exit(main())")
    return _mounted(at, [*python, "mount", str(at), "--foreground", *options])


@contextmanager
def native(directory: Path) -> Iterator[tuple[str, Path]]:
    """What it is called, and where the fake is mounted in this directory while the context lasts."""
    at = directory / "native"
    with mounting(at, ()):
        yield "fakecgroup mount --transport native", at


@contextmanager
def null(bench: Bench, *options: str) -> Iterator[Column]:
    """nullfs.c, with as many files in each directory as the fake's have, under the same names."""
    program = build.compiled("nullfs", bench.directory, "fuse3")
    names = measured_cgroup.model().listdir(f"/{measured_cgroup.NAME}")
    root = bench.directory / "".join(("null", *options))
    what = "a FUSE file system in C that does nothing"
    if options:
        what += ", and all of whose names, attributes and lists the kernel caches"
    with _mounted(root, [str(program), *options, str(root), *names]) as daemon:
        work = root / measured_cgroup.NAME
        work.mkdir()
        pid = daemon.process.pid
        with bench.operating(work, measured_cgroup.FILE, measured_cgroup.VALUE, what, pid) as column:
            yield column


@contextmanager
def fake(bench: Bench, transport: str) -> Iterator[Column]:
    """The fake, mounted by one of its transports."""
    at = bench.directory / transport
    options = [
        *("--transport", transport, "--layout", measured_cgroup.LAYOUT, "--kernel", measured_cgroup.KERNEL),
        *("--cpus", str(measured_cgroup.CPUS), "--memory", str(measured_cgroup.MEMORY)),
    ]
    what = f"fakecgroup mount --transport {transport}"
    with mounting(at, options) as daemon:
        work, pid = measured_cgroup.made_in(at), daemon.process.pid
        with bench.operating(work, measured_cgroup.FILE, measured_cgroup.VALUE, what, pid) as column:
            yield column


@contextmanager
def model(bench: Bench) -> Iterator[Column]:
    """The fake without a mount."""
    with started(_python_client(), scripts_environment()) as child:
        yield Column(
            Client(child),
            "fakecgroup.Kernel, in process",
            len(measured_cgroup.model().listdir(f"/{measured_cgroup.NAME}")),
        )


@contextmanager
def host(bench: Bench) -> Iterator[Column]:
    """A cgroup of its own in this machine's cgroup2, or in its v1 cpu hierarchy."""
    root, kind, file, value = host_root()
    with own_cgroup(root) as cgroup:
        try:
            if kind == "cgroup2":
                measured_cgroup.enable_all(cgroup)
            what = f"this machine's {kind} at {root}, Linux {platform.release()}"
            with bench.operating(cgroup, file, value, what) as column:
                yield column
        finally:
            for child in filter(Path.is_dir, list(cgroup.iterdir())):
                child.rmdir()


def host_root() -> tuple[Path, str, str, str]:
    """Where this machine's cgroups are, what they are, and a file there that may be written with a value."""
    found: list[tuple[Path, str, str, str]] = []
    with open("/proc/self/mountinfo") as mounts:
        for line in mounts:
            here, _, filesystem = line.partition(" - ")
            path = Path(here.split()[4])
            kind, _, options = filesystem.split()[:3]
            if kind == "cgroup2":
                found.insert(0, (path, kind, measured_cgroup.FILE, measured_cgroup.VALUE))
            elif kind == "cgroup" and "cpu" in options.split(","):
                found.append((path, "cgroup v1 cpu hierarchy", "cpu.shares", "1024"))
    if not found:
        raise UnavailableError("no cgroup2 and no v1 cpu hierarchy is mounted")
    return found[0]


NULL = "null"
NATIVE = "native"
COLUMNS: dict[str, Callable[[Bench], AbstractContextManager[Column]]] = {
    NULL: null,
    "cached": lambda bench: null(bench, "--cached"),
    NATIVE: partial(fake, transport="native"),
    "fusepy": partial(fake, transport="fusepy"),
    "model": model,
    "host": host,
}
"""The null file system first: the others are compared with it."""
