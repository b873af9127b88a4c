"""The snapshot of a node, or of another tree that is mounted."""

from __future__ import annotations

import os
import time

from fakecgroup.machine.mounts import UNIFIED
from fakecgroup.snapshot.content import NODE, SeenCgroup, SeenHierarchy, Snapshot
from fakecgroup.snapshot.task_lists import processes_of, settle
from fakecgroup_mount.capture.left_out import LeftOut
from fakecgroup_mount.capture.machine import seen_kernel, seen_machine
from fakecgroup_mount.capture.processes import seen_processes
from fakecgroup_mount.capture.tree import cgroups_at
from fakecgroup_mount.errors import MountError
from fakecgroup_mount.hints import shown
from fakecgroup_mount.host.cgroup_mounts import CgroupMount, cgroup_mounts
from fakecgroup_mount.host.mountinfo import mounts, real_path

_NO_CONTROLLERS = (
    "rw",
    "ro",
    "xattr",
    "noprefix",
    "clone_children",
    "cpuset_v2_mode",
    "favordynmods",
    "nofavordynmods",
)
_NOT_ROOT = ("cgroup.type", "cgroup.events")  # files that no root of the unified hierarchy has


def snapshot_of(root: str, *, names: bool = True) -> Snapshot:
    """The snapshot of the tree at a directory, as far as this user can read it. Raises MountError.

    Without `names`, the names and command lines of processes are left out.
    """
    top = real_path(root)
    left_out = LeftOut()
    layout, hierarchies = _hierarchies(top, root)
    snapshot = Snapshot(layout, NODE, seen_kernel(left_out), seen_machine(), hierarchies, taken=int(time.time()))
    for hierarchy in hierarchies:
        hierarchy.cgroups = list(cgroups_at(os.path.join(top, hierarchy.directory), left_out))
        if not hierarchy.cgroups:
            raise MountError(f"{shown(root)}: the files of {hierarchy.directory or 'the tree'} cannot be read")
        if hierarchy.unified:
            hierarchy.controllers = tuple(_text(hierarchy.cgroups[0], "cgroup.controllers").split())
        if any(name in hierarchy.cgroups[0].files for name in _NOT_ROOT):
            left_out.tell(f"{shown(root)} is a cgroup below the root of its hierarchy, as in a container")
    passing = settle(snapshot)
    if passing:
        left_out.tell(f"tasks that came, moved or ended meanwhile: {passing}")
    snapshot.processes = seen_processes(processes_of(snapshot), left_out, names=names)
    if os.geteuid():
        left_out.tell("trusted.* attributes: only root sees them")
    snapshot.left_out = list(left_out.lines())
    snapshot.called = shown(root)
    return snapshot


def _hierarchies(top: str, root: str) -> tuple[str, list[SeenHierarchy]]:
    """The layout at a directory, and its hierarchies, still without cgroups."""
    real = {os.fspath(mount.point): mount for mount in cgroup_mounts()}
    ours = {mount.point for mount in mounts() if mount.ours}
    if top in real and real[top].unified:
        return "v2", [SeenHierarchy("", True, options=_options(real[top]))]
    if top in ours and os.path.exists(os.path.join(top, "cgroup.controllers")):
        return "v2", [SeenHierarchy("", True)]
    if top in real:
        above = shown(os.path.dirname(top))
        raise MountError(f"{shown(root)} is one hierarchy of v1: take the directory of all of them, such as {above}")
    try:
        names = sorted(os.listdir(top))
    except OSError as error:
        raise MountError(f"{shown(root)}: {error.strerror}") from None
    found: list[SeenHierarchy] = []
    links: dict[str, list[str]] = {}
    for name in names:
        place = os.path.join(top, name)
        if os.path.islink(place):
            links.setdefault(os.readlink(place).strip("/"), []).append(name)
        elif place in real:
            found.append(_v1(name, real[place]))
        elif top in ours and os.path.isdir(place):
            found.append(_of_names(name))
    if not found:
        raise MountError(f"{shown(root)} is no tree of cgroups: take where cgroup2 is mounted, or all of v1")
    for one in found:
        one.links = tuple(links.get(one.directory, ()))
    return "hybrid" if any(one.unified for one in found) else "v1", found


def _v1(name: str, mount: CgroupMount) -> SeenHierarchy:
    if mount.unified:
        return SeenHierarchy(name, True, options=_options(mount))
    own = next((option.removeprefix("name=") for option in mount.options if option.startswith("name=")), "")
    controllers = tuple(option for option in mount.options if "=" not in option and option not in _NO_CONTROLLERS)
    return SeenHierarchy(name, False, controllers, own)


def _of_names(name: str) -> SeenHierarchy:
    """A hierarchy of a fake, which tells of its controllers by the name of the directory alone."""
    if name in (UNIFIED, "systemd"):
        return SeenHierarchy(name, name == UNIFIED, name="" if name == UNIFIED else name)
    return SeenHierarchy(name, False, tuple(name.split(",")))


def _options(mount: CgroupMount) -> tuple[str, ...]:
    return tuple(option for option in mount.options if option not in ("rw", "ro"))


def _text(cgroup: SeenCgroup, name: str) -> str:
    file = cgroup.files.get(name)
    return "" if file is None or file.data is None else file.data.decode(errors="replace")
