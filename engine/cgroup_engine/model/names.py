"""Names of cgroups: the directories of a QoS class, a pod and a container, with either driver.

A ``CgroupName`` is the kubelet's internal name, a tuple of components: ``("kubepods", "burstable", "pod1234-5")``.
The cgroupfs driver joins them with "/"; the systemd driver writes "-" inside a component as "_", joins with "-" and
expands the slice: ``kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1234_5.slice``.

Sources: ``pkg/kubelet/cm/cgroup_manager_linux.go`` (NewCgroupName, ToSystemd, ToCgroupfs, Parse*),
``opencontainers/cgroups/systemd`` (ExpandSlice), ``cm.NodeAllocatableRoot``, ``cm.GetPodContainerName``.

Names come from untrusted input, so every component is checked before it becomes a directory.
"""

from __future__ import annotations

import re
from typing import Literal

from cgroup_engine.errors import UnsafeNameError, quoted

Driver = Literal["cgroupfs", "systemd"]
Runtime = Literal["containerd", "crio", "docker"]
QosClass = Literal["Guaranteed", "Burstable", "BestEffort"]
CgroupName = tuple[str, ...]

KUBEPODS = "kubepods"  # defaultNodeAllocatableCgroupName
_SCOPE_PREFIX: dict[str, str] = {"containerd": "cri-containerd-", "crio": "crio-", "docker": "docker-"}
_SLICE = ".slice"
_MISPLACED = ":cri-containerd:"
_COMPONENT = re.compile(r"[A-Za-z0-9_.@:+,=~-]{1,200}", re.ASCII)
_UID = re.compile(r"(?!.*\.\.)[A-Za-z0-9]([A-Za-z0-9.-]{0,126}[A-Za-z0-9])?", re.ASCII)
_UNIT_STEM = re.compile(r"[A-Za-z0-9:_.-]{1,249}", re.ASCII)  # systemd's characters but "\\"; 255 with the suffix
_CONTAINER_ID = re.compile(r"[0-9a-f]{1,64}", re.ASCII)


def check_uid(uid: str) -> str:
    """Returns a pod UID that is safe in a directory name.

    :raises UnsafeNameError: it is not safe. The kubelet forbids "/" and "_" (NewCgroupName). This engine allows only
        letters, digits, "-" and single ".".
    """
    if not _UID.fullmatch(uid):
        raise UnsafeNameError(
            f"{quoted(uid)} is not a pod UID", value=uid, todo='use letters, digits and inner "-" or ".", at most 128'
        )
    return uid


def check_container_id(text: str) -> str:
    """Returns a container id that consists of hex digits only.

    :raises UnsafeNameError: it has other characters.
    """
    if not _CONTAINER_ID.fullmatch(text):
        raise UnsafeNameError(f"{quoted(text)} is not a container id", value=text, todo="use 1 to 64 hex digits, a-f")
    return text


def invented_container_id(uid: str, container: str) -> str:
    """An id for a container that has none yet: sha256 of ``<pod uid>/<container name>`` in 64 hex digits."""
    import hashlib  # it loads OpenSSL, and most containers have an id

    return hashlib.sha256(f"{uid}/{container}".encode()).hexdigest()[:64]


def parse_cgroupfs(path: str) -> CgroupName:
    """``/a/b`` as a name (``ParseCgroupfsToCgroupName``); "" and "/" are the root, an empty tuple.

    :raises UnsafeNameError: an empty or unsafe component ("..", control characters).
    """
    trimmed = path[1:] if path.startswith("/") else path
    if trimmed == "":
        return ()
    return tuple(_component(part, path) for part in trimmed.split("/"))


def parse_reserved(path: str, driver: Driver) -> CgroupName:
    """The name behind kubeReservedCgroup or systemReservedCgroup (``CgroupManager.CgroupName``).

    With the systemd driver only the last component counts and "-" separates: ``/foo/kube-a.slice`` is
    ``("kube", "a")``.

    :raises UnsafeNameError: see ``parse_cgroupfs``.
    """
    if driver == "cgroupfs":
        return parse_cgroupfs(path)
    last = path.rstrip("/").rsplit("/", 1)[-1]
    if last == "":
        return ()
    stem = _component(last, path).removesuffix(_SLICE)
    return tuple(_component(part, path).replace("_", "-") for part in stem.split("-"))


def directory(name: CgroupName, driver: Driver) -> str:
    """The path of a name below the cgroup root, without a leading "/"; "" for the root itself.

    :raises UnsafeNameError: the systemd driver cannot express it.
    """
    return "/".join(components(name, driver))


def components(name: CgroupName, driver: Driver) -> tuple[str, ...]:
    """The directories from the root to a name; see ``directory``."""
    if driver == "cgroupfs":
        return name
    if not name:
        return ()
    return expand_slice("-".join(part.replace("-", "_") for part in name) + _SLICE)


def expand_slice(name: str) -> tuple[str, ...]:
    """``a-b.slice`` as ``("a.slice", "a-b.slice")`` (systemd's rule; ExpandSlice).

    :raises UnsafeNameError: not a slice name.
    """
    stem = name.removesuffix(_SLICE)
    if stem == name or stem == "" or "/" in name:
        raise UnsafeNameError(f"{quoted(name)} is not a slice name", value=name, todo='end it with ".slice"')
    if stem == "-":
        return ()
    parts = stem.split("-")
    if "" in parts:
        raise UnsafeNameError(
            f"{quoted(name)} is not a slice name", value=name, todo='no leading, trailing or doubled "-"'
        )
    if not _UNIT_STEM.fullmatch(stem):
        raise UnsafeNameError(
            f"{quoted(name)} is not a slice name", value=name, todo='use letters, digits and ":-_.", at most 249'
        )
    return tuple("-".join(parts[: n + 1]) + _SLICE for n in range(len(parts)))


def kubepods_name(cgroup_root: CgroupName) -> CgroupName:
    """Where the pods live: ``kubepods`` below cgroupRoot (``NodeAllocatableRoot`` with cgroupsPerQOS)."""
    return (*cgroup_root, KUBEPODS)


def qos_name(cgroup_root: CgroupName, qos: QosClass) -> CgroupName:
    """The cgroup of a QoS class; Guaranteed pods are in kubepods itself."""
    base = kubepods_name(cgroup_root)
    return base if qos == "Guaranteed" else (*base, qos.lower())


def pod_name(cgroup_root: CgroupName, qos: QosClass, uid: str) -> CgroupName:
    """The cgroup of a pod (``GetPodContainerName``).

    :raises UnsafeNameError: the UID may not become a directory.
    """
    return (*qos_name(cgroup_root, qos), "pod" + check_uid(uid))


def container_directory(container_id: str, driver: Driver, runtime: Runtime) -> str:
    """The directory of a container inside its pod's.

    systemd: ``cri-containerd-<id>.scope``, ``crio-<id>.scope``, ``docker-<id>.scope``. cgroupfs: the id, which CRI-O
    writes as ``crio-<id>`` (its cgmgr).

    :raises UnsafeNameError: the id may not become a directory.
    """
    check_container_id(container_id)
    if driver == "systemd":
        return f"{_SCOPE_PREFIX[runtime]}{container_id}.scope"
    return f"crio-{container_id}" if runtime == "crio" else container_id


def misplaced_container(pod: CgroupName, container_id: str, cgroup_version: Literal[1, 2]) -> tuple[str, ...]:
    """The directories of a container if the kubelet uses the systemd driver and containerd does not.

    containerd hands runc ``<pod's slice>:cri-containerd:<id>``, the form for systemd (getCgroupsPath). Without
    SystemdCgroup runc reads it as a relative path: on v1 below containerd's own cgroup, on v2 beside it (libcontainer's
    subsysPath and fs2 defaultDirPath). The pod's limits do not apply there.

    :raises UnsafeNameError: the id may not become a directory.
    """
    slice_name = components(pod, "systemd")[-1]
    return (*misplaced_parent(cgroup_version), f"{slice_name}{_MISPLACED}{check_container_id(container_id)}")


def misplaced_parent(cgroup_version: Literal[1, 2]) -> tuple[str, ...]:
    """The directory that holds all misplaced containers."""
    return ("system.slice", "containerd.service") if cgroup_version == 1 else ("system.slice",)


def is_misplaced_container(directory_name: str, kubepods: str) -> bool:
    """Is this a name that ``misplaced_container`` makes for a pod of this kubepods? ``kubepods``: its directory."""
    slice_name, colons, container_id = directory_name.partition(_MISPLACED)
    top = kubepods.rpartition("/")[2].removesuffix(_SLICE)
    return (
        bool(colons and _CONTAINER_ID.fullmatch(container_id))
        and slice_name.startswith(f"{top}-")
        and is_pod_directory(slice_name, "systemd")
    )


def is_pod_directory(directory_name: str, driver: Driver) -> bool:
    """Is this a pod's directory name, directly below a QoS cgroup (``IsPodCgroup``)?"""
    if driver == "cgroupfs":
        return directory_name.startswith("pod") and bool(_UID.fullmatch(directory_name[3:]))
    stem = directory_name.removesuffix(_SLICE)
    last = stem.rsplit("-", 1)[-1]
    return stem != directory_name and last.startswith("pod") and bool(_UID.fullmatch(last[3:].replace("_", "-")))


def is_container_directory(directory_name: str) -> bool:
    """Is this a container's directory name, inside a pod's, of any runtime and either driver?"""
    stem = directory_name.removesuffix(".scope")
    for prefix in _SCOPE_PREFIX.values():
        stem = stem.removeprefix(prefix)
    return bool(_CONTAINER_ID.fullmatch(stem))


def _component(part: str, whole: str) -> str:
    if part in ("", ".", "..") or not _COMPONENT.fullmatch(part):
        raise UnsafeNameError(
            f"{quoted(whole)} is not a cgroup path",
            value=whole,
            todo='give names of letters, digits and "-._" separated by single "/", without "..", such as "/kube"',
        )
    return part
