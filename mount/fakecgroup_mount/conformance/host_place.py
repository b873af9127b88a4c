"""A place in this machine's unified hierarchy where cases may be done, with the controllers that there are for it.

It is found, or systemd is asked for it. No cgroup of others gets or loses files for it: controllers are enabled only
where nothing else is.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from fakecgroup_mount.conformance.own_cgroup import OwnCgroup, name_of_run
from fakecgroup_mount.conformance.systemd_scope import ScopeError, start_scope
from fakecgroup_mount.errors import MountError
from fakecgroup_mount.host.cgroup_mounts import CgroupMount

_COMMAND = "command"
_FILES = ("cgroup.procs", "cgroup.subtree_control")


class HostPlace:
    """A cgroup below which cases may do what they like.

    This process is moved below it where the "no internal process" rule takes that, and back by `close`. Raises
    MountError with one line that says where it was looked for.
    """

    def __init__(self, mount: CgroupMount) -> None:
        self._before = mount.own_cgroup()
        parent = _place(mount, self._before)
        try:
            self._own = OwnCgroup(parent)
            self.path = self._own.path
            self._moved = _is_here(parent) and not _is_real_root(parent)
            if self._moved:
                (self.path / _COMMAND).mkdir()
                _write(self.path / _COMMAND / "cgroup.procs", str(os.getpid()))
            self.controllers = self._enable(parent)
        except OSError as error:
            raise MountError(
                f"{error.filename or parent}: cannot make a cgroup for the cases: {error.strerror}"
            ) from None

    def _enable(self, parent: Path) -> tuple[str, ...]:
        """The controllers that the cases have."""
        before = _words(parent / "cgroup.subtree_control")
        if _may_enable(parent, besides=self.path.name):
            wanted = [name for name in _words(parent / "cgroup.controllers") if name not in before]
            if self._own.note_enabled(tuple(wanted)):
                for name in wanted:  # one by one: a controller may be refused, as cpu is beside real-time processes
                    with contextlib.suppress(OSError):
                        _write(parent / "cgroup.subtree_control", f"+{name}")
        for name in _words(self.path / "cgroup.controllers"):
            with contextlib.suppress(OSError):
                _write(self.path / "cgroup.subtree_control", f"+{name}")
        return tuple(_words(self.path / "cgroup.subtree_control"))

    def files(self) -> dict[str, str]:
        """What of this machine a cgroup there may use, where that is less than all: cpuset.cpus and cpuset.mems."""
        found = {}
        for file, of_machine in (("cpuset.cpus", "cpu/online"), ("cpuset.mems", "node/online")):
            with contextlib.suppress(OSError):
                here = (self.path / f"{file}.effective").read_text().strip()
                if here != Path("/sys/devices/system", of_machine).read_text().strip():
                    found[file] = here
        return found

    def close(self) -> bool:
        """Moves this process back and removes the cgroup. Whether that could be done."""
        if self._moved:
            self._own.disable()
            for cgroup in (self._before, self.path.parent):
                with contextlib.suppress(OSError):
                    if cgroup is not None and _is_here(self.path / _COMMAND):
                        _write(cgroup / "cgroup.procs", str(os.getpid()))
        return self._own.remove()


def _place(mount: CgroupMount, own: Path | None) -> Path:
    """The cgroup to make one's own below."""
    if own is not None and not _is_real_root(own) and _is_ours(own) and _may_enable(own):
        return own
    try:
        start_scope(name_of_run())
    except ScopeError as error:
        why = str(error)
    else:
        scope = mount.own_cgroup()
        if scope is not None and _is_ours(scope) and _may_enable(scope):
            return scope
        why = f"systemd's scope {scope} cannot be used"
    for cgroup in _upwards(mount.point) if os.geteuid() == 0 else _upwards(mount.point, own):
        if _is_ours(cgroup) and (_is_real_root(cgroup) or not _words(cgroup / "cgroup.procs")):
            return cgroup
    raise MountError(
        f"no cgroup that user {os.geteuid()} may make others in: {own or mount.point} is not delegated, and {why}; try "
        "systemd-run --user --scope -p Delegate=yes fakecgroup conformance --target host, or root"
    )


def _upwards(top: Path, start: Path | None = None) -> Iterator[Path]:
    """A cgroup and those above it, down to the mount point."""
    cgroup = start or top
    while cgroup.is_relative_to(top):
        yield cgroup
        cgroup = cgroup.parent


def _is_ours(cgroup: Path) -> bool:
    """Whether this user may make cgroups there and move processes in."""
    return os.access(cgroup, os.W_OK | os.X_OK) and all(os.access(cgroup / file, os.W_OK) for file in _FILES)


def _is_real_root(cgroup: Path) -> bool:
    return not (cgroup / "cgroup.type").exists()


def _is_here(cgroup: Path) -> bool:
    return str(os.getpid()) in _words(cgroup / "cgroup.procs")


def _may_enable(cgroup: Path, besides: str = "") -> bool:
    """Whether nobody else is in or below a cgroup, so that enabling controllers changes nothing for others."""
    with os.scandir(cgroup) as entries:
        if any(entry.name != besides and entry.is_dir(follow_symlinks=False) for entry in entries):
            return False
    if _is_real_root(cgroup):
        return True
    return (cgroup / "cgroup.type").read_text().strip() == "domain" and not (
        set(_words(cgroup / "cgroup.procs")) - {str(os.getpid())}
    )


def _words(file: Path) -> list[str]:
    return file.read_text().split()


def _write(file: Path, text: str) -> None:
    file.write_text(text)
