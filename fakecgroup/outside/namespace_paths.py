"""How a cgroup is named in a cgroup namespace (cgroup_namespaces(7))."""

from __future__ import annotations

from ..core.cgroup import Cgroup


def path_from(root: Cgroup, cgroup: Cgroup) -> str:
    """The path of a cgroup in a namespace whose root is `root` (fs/kernfs/dir.c, kernfs_path_from_node)."""
    return relative(root.path, cgroup.path)


def relative(root: str, path: str) -> str:
    """The path from `root` to `path`: /.. for each step up, then down. Both begin at the root of the hierarchy."""
    above, below = ([name for name in where.split("/") if name] for where in (root, path))
    while above and below and above[0] == below[0]:
        del above[0], below[0]
    return "/" + "/".join([".."] * len(above) + below)
