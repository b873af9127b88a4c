"""The record of a tree that an engine made: kubepods is its own, with these pods and containers.

One JSON file per root and kubepods in a state directory. A rename replaces it before the first cgroup is made, and
again after the last. It is valid for this boot, the same mount of the root, and the same directory of kubepods. Its
names become directory names, so they are checked again. A crash leaves the old file or the new one.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from errno import ENOENT
from pathlib import Path
from typing import Any

from cgroup_engine.errors import RecordError, UnsafeNameError, errno_name
from cgroup_engine.kubelet.pod_cgroups import SANDBOX
from cgroup_engine.model.names import check_uid
from cgroup_engine.model.wanted_cgroup import WantedCgroup
from cgroup_engine.tree.fs import OsFs
from cgroup_engine.tree.layout import Layout

VARIABLE = "CGROUP_ENGINE_STATE_DIR"
_VERSION = 1
_LARGEST = 64 << 20  # bytes; 100,000 pods have a third of it


@dataclass(frozen=True)
class RecordedContainer:
    """A container. ``path``: below the root (v1: below each hierarchy)."""

    name: str
    path: str
    oom_score_adj: int


@dataclass(frozen=True)
class RecordedPod:
    """A pod. ``path``: below the root (v1: below each hierarchy)."""

    namespace: str
    name: str
    uid: str
    path: str
    containers: tuple[RecordedContainer, ...]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True)
class Record:
    """One kubepods. ``inodes``: its directory's, by hierarchy ("" on v2); empty until it is made.

    ``taken_over``: somebody else made it.
    """

    inodes: Mapping[str, int]
    pods: tuple[RecordedPod, ...]
    taken_over: bool = False


def recorded_pods(wanted: Iterable[WantedCgroup]) -> tuple[RecordedPod, ...]:
    """The pods and containers of a wanted tree, without sandboxes."""
    pods: dict[str, RecordedPod] = {}
    containers: dict[str, list[RecordedContainer]] = {}
    for cgroup in wanted:
        if cgroup.pod is None:
            continue
        if cgroup.container is None:
            pods[cgroup.pod.uid] = RecordedPod(
                cgroup.pod.namespace, cgroup.pod.name, cgroup.pod.uid, cgroup.path, containers=()
            )
        elif cgroup.container.name != SANDBOX:
            one = RecordedContainer(cgroup.container.name, cgroup.path, cgroup.oom_score_adj or 0)
            containers.setdefault(cgroup.pod.uid, []).append(one)
    return tuple(
        RecordedPod(pod.namespace, pod.name, uid, pod.path, tuple(containers.get(uid, ()))) for uid, pod in pods.items()
    )


def records_at(directory: Path, root: str, layout: Layout) -> tuple[list[Record], list[str]]:
    """The records of every kubepods below a root, and a line for each ignored file.

    :raises RecordError: the state directory cannot be used.
    """
    records, ignored = [], []
    with _opened(directory, make=False) as handle:
        names = sorted(name for name in os.listdir(handle) if name.endswith(".json")) if handle is not None else []
        for name in names:
            try:
                kubepods = str(_loaded(handle, name)["kubepods"])
            except _IgnoredError as why:
                ignored.append(f"{directory / name}: {why}, ignored")
                continue
            file = RecordFile(directory, root, layout, kubepods)
            record = file.read() if file.name == name else None
            records += [record] if record is not None and file.inodes() else []
    return records, ignored


def state_directory() -> Path:
    """The default directory of the records: /run/cgroup-engine for root, else one of the user's own."""
    if VARIABLE in os.environ:
        return Path(os.environ[VARIABLE])
    if os.geteuid() == 0:
        return Path("/run/cgroup-engine")
    import tempfile

    of_session = os.environ.get("XDG_RUNTIME_DIR")
    return Path(of_session or tempfile.gettempdir()) / (
        "cgroup-engine" if of_session else f"cgroup-engine-{os.geteuid()}"
    )


class RecordFile:
    """The record of one kubepods below one root. ``root``: its mount point; ``kubepods``: the path below it.

    All methods raise RecordError if the state directory cannot be used. The directory and each file in it must be the
    user's own, and writable for nobody else.
    """

    def __init__(self, directory: Path, root: str, layout: Layout, kubepods: str) -> None:
        self.directory = Path(directory)
        self._fs = OsFs(root)
        self.root = self._fs.root
        self.kubepods = kubepods
        self._hierarchies = layout.hierarchies
        key = hashlib.sha256(f"{self.root}\0{kubepods}".encode()).hexdigest()[:16]
        self.name = f"{kubepods.replace('/', '-')[:100]}-{key}.json"
        self.ignored = ""  # why an existing record is ignored, or ""

    def read(self) -> Record | None:
        """The record; None if there is no valid one."""
        self.ignored = ""
        try:
            with _opened(self.directory, make=False) as directory:
                data = _loaded(directory, self.name)
            record = _parsed(data)
        except FileNotFoundError:
            return None
        except _IgnoredError as why:
            self.ignored = f"{self.directory / self.name}: {why}, ignored"
            return None
        if self._identity() != {key: data.get(key) for key in self._identity()}:
            return None  # of an earlier boot or mount
        found = self.inodes()
        if found and record.inodes and not found.items() & record.inodes.items():
            return None  # someone else made kubepods anew
        return record

    def write(self, record: Record) -> None:
        """Replaces the record; makes the state directory if it is missing."""
        data = {"version": _VERSION, **self._identity(), **asdict(record)}
        text = json.dumps(data, separators=(",", ":"))
        with _opened(self.directory, make=True) as directory:
            new = f"{self.name}.new"
            try:
                flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
                with open(os.open(new, flags, 0o600, dir_fd=directory), "w", encoding="utf-8") as file:
                    file.write(text)
                os.rename(new, self.name, src_dir_fd=directory, dst_dir_fd=directory)
            except OSError as failed:
                raise _unusable(self.directory, errno_name(failed.errno or 0), failed.errno) from None

    def remove(self) -> None:
        """Removes the record, and the rest that a crash left; it may be gone already."""
        with _opened(self.directory, make=False) as directory:
            for name in (f"{self.name}.new", self.name) if directory is not None else ():
                try:
                    os.unlink(name, dir_fd=directory)
                except OSError as failed:
                    if failed.errno != ENOENT:
                        raise _unusable(self.directory, errno_name(failed.errno or 0), failed.errno) from None

    def is_there(self, path: str) -> bool:
        """Does a cgroup with this path below the root exist in any hierarchy?"""
        return any(self._fs.is_dir(os.path.join(hierarchy, path)) for hierarchy in self._hierarchies)

    def inodes(self) -> dict[str, int]:
        """The inodes of kubepods now, by hierarchy; empty if it does not exist."""
        found = {}
        for hierarchy in self._hierarchies:
            with suppress(OSError):
                found[hierarchy] = self._fs.stat(os.path.join(hierarchy, self.kubepods)).st_ino
        return found

    def _identity(self) -> dict[str, Any]:
        """The facts that must be unchanged for a record to be valid."""
        try:
            boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        except OSError:
            boot = ""
        device = self._fs.stat(self._hierarchies[0]).st_dev
        return {"boot": boot, "root": self.root, "device": device, "kubepods": self.kubepods}


class _IgnoredError(Exception):
    """A file is not a usable record; str() says why."""


@contextmanager
def _opened(directory: Path, *, make: bool) -> Iterator[int | None]:
    """The state directory as a descriptor, None if there is none.

    :raises RecordError: it cannot be used.
    """
    try:
        if make:
            directory.mkdir(mode=0o700, exist_ok=True)
        handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError as failed:
        if failed.errno == ENOENT and not make:
            yield None
            return
        raise _unusable(directory, errno_name(failed.errno or 0), failed.errno) from None
    try:
        if why := _open_to_others(os.fstat(handle)):
            raise _unusable(directory, why)
        yield handle
    finally:
        os.close(handle)


def _unusable(directory: Path, why: str, number: int | None = None) -> RecordError:
    return RecordError(
        f"{directory}: cannot be used for state: {why}",
        path=str(directory),
        errno=number,
        todo="give a directory of your own with --state-dir",
    )


def _loaded(directory: int | None, name: str) -> dict[str, Any]:
    """The mapping in a file.

    :raises FileNotFoundError: there is no such file, or no directory.
    :raises _IgnoredError: it is not a usable record.
    """
    if directory is None:
        raise FileNotFoundError(ENOENT, name)
    try:
        # without O_NONBLOCK a FIFO would wait for a writer
        handle = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=directory)
    except FileNotFoundError:
        raise
    except OSError as failed:
        raise _IgnoredError(errno_name(failed.errno or 0)) from None
    with open(handle, encoding="utf-8", errors="replace") as file:
        found = os.fstat(handle)
        if why := _open_to_others(found):
            raise _IgnoredError(why)
        if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST:
            raise _IgnoredError("is no record")
        text = file.read()
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise _IgnoredError("is no record") from None
    if not isinstance(data, dict) or data.get("version") != _VERSION or "kubepods" not in data:
        raise _IgnoredError("is no record of this version")
    return data


def _open_to_others(found: os.stat_result) -> str:
    """Why somebody else could have written it; "" if nobody could."""
    if found.st_uid != os.geteuid():
        return f"it belongs to user {found.st_uid}"
    if found.st_mode & 0o022:
        return "others may write to it"
    return ""


def _parsed(data: dict[str, Any]) -> Record:
    """Reads a record.

    :raises _IgnoredError: it is not a usable record.
    """
    try:
        inodes = {str(hierarchy): int(inode) for hierarchy, inode in dict(data["inodes"]).items()}
        return Record(inodes, tuple(_pod(pod) for pod in data["pods"]), bool(data.get("taken_over")))
    except (ValueError, TypeError, KeyError, AttributeError, UnsafeNameError):
        raise _IgnoredError("is no record of this version") from None


def _pod(data: Any) -> RecordedPod:
    containers = tuple(
        RecordedContainer(_text_of(each, "name"), _path_of(each), int(each["oom_score_adj"]))
        for each in data["containers"]
    )
    uid = check_uid(_text_of(data, "uid"))
    return RecordedPod(_text_of(data, "namespace"), _text_of(data, "name"), uid, _path_of(data), containers)


def _text_of(data: Any, key: str) -> str:
    text = data[key]
    if not isinstance(text, str):
        raise TypeError
    return text


def _path_of(data: Any) -> str:
    path = _text_of(data, "path")
    if any(part in ("", ".", "..") or not part.isprintable() for part in path.split("/")):
        raise ValueError
    return path
