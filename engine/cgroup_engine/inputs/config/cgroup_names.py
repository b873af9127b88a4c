"""The cgroups that a KubeletConfiguration names, and the driver."""

from __future__ import annotations

from cgroup_engine.errors import UnsafeNameError, quoted
from cgroup_engine.inputs.config.fields import ConfigFields
from cgroup_engine.model.names import CgroupName, Driver, components, parse_cgroupfs, parse_reserved


def driver_of(config: ConfigFields) -> Driver:
    text = config.text("cgroupDriver", "") or "cgroupfs"
    if text == "cgroupfs" or text == "systemd":
        return "cgroupfs" if text == "cgroupfs" else "systemd"
    raise config.error("cgroupDriver", f"{quoted(text)} is not a driver", "use cgroupfs or systemd", text)


def reserved_cgroup(config: ConfigFields, name: str, driver: Driver, enforce: frozenset[str]) -> CgroupName:
    key = "kube-reserved" if name == "kubeReservedCgroup" else "system-reserved"
    path = config.text(name, "")
    needed = bool({key, f"{key}-compressible"} & enforce)
    if path == "" and needed:
        raise config.error(name, f"is missing, but enforceNodeAllocatable names {key}", f"give {name}")
    try:
        cgroup = parse_reserved(path, driver) if path else ()
        components(cgroup, driver)
    except UnsafeNameError as refused:
        raise config.error(name, refused.message, refused.todo, path) from None
    if needed and not cgroup:
        raise config.error(name, f"{quoted(path)} is the root cgroup, which has no limits", "name another", path)
    return cgroup


def plain_cgroup(config: ConfigFields, name: str) -> CgroupName:
    """kubeletCgroups, systemCgroups: a plain path with either driver."""
    path = config.text(name, "")
    try:
        return parse_cgroupfs(path)
    except UnsafeNameError as refused:
        raise config.error(name, refused.message, refused.todo, path) from None


def system_cgroups(config: ConfigFields) -> CgroupName:
    """systemCgroups: not the root, and only together with cgroupRoot, which may be "/"."""
    path = plain_cgroup(config, "systemCgroups")
    if config.text("systemCgroups", "") and not path:
        raise config.error("systemCgroups", "is the root cgroup", "name another")
    if path and not config.text("cgroupRoot", ""):
        raise config.error("systemCgroups", "needs cgroupRoot", 'set it, to "/" if it is the root')
    return path
