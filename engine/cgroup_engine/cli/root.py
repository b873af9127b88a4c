"""The tree at --root, and the machine's systemd if it makes the cgroups there."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from cgroup_engine.cli.messages import warn_of
from cgroup_engine.errors import ConfigError, RootError, SystemdError
from cgroup_engine.kubelet.cgroup_v1 import refused_on_v1
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.tree.found import FoundTree
from cgroup_engine.tree.fs import MACHINE_ROOT, CgroupFs, OsFs
from cgroup_engine.tree.layout import detect

if TYPE_CHECKING:  # it imports the D-Bus library, which only the systemd driver needs
    from cgroup_engine.change.systemd.bus import Systemd


def found_tree(options: argparse.Namespace, node: NodeConfig) -> FoundTree:
    """The tree at --root; the commands that leave and find what there is only warn if no kubelet would start on it.

    :raises ConfigError: a kubelet would not start on it.
    :raises RootError: it is no cgroup tree, or it is read-only and the command changes it.
    """
    fs: CgroupFs = options.open_root(options.root)
    layout = detect(fs, options.root)
    reasons = refused_on_v1(node) if layout.version == 1 else []
    warns = options.accept_invalid or options.config is None  # of defaults nobody says that a node has them
    if reasons and options.command in ("plan", "apply", "run", "status") and not warns:
        raise ConfigError(reasons[0], todo="change the configuration or --kubelet-version, or give --accept-invalid")
    warn_of(reasons)
    changes = options.command in ("apply", "down") or (options.command == "run" and not options.dry_run)
    if isinstance(fs, OsFs) and changes:
        # of a v1 layout the root itself is a tmpfs, which systemd mounts read-only
        for hierarchy in layout.hierarchies:
            path = os.path.join(options.root, hierarchy) if hierarchy else options.root
            if os.statvfs(path).f_flag & os.ST_RDONLY:
                raise RootError(f"{path}: is mounted read-only", path=path, todo="mount it read-write")
    return FoundTree(fs, layout)


def at_root(node: NodeConfig, found: FoundTree) -> NodeConfig:
    """A node with the facts of its root: cgroup version and CPUs."""
    return replace(node, cgroup_version=found.layout.version, cpu_list=found.layout.cpus)


def found_at_root(options: argparse.Namespace, node: NodeConfig) -> tuple[FoundTree, NodeConfig]:
    """``found_tree``, and the node with the facts of its root.

    :raises RootError: as ``found_tree``.
    """
    found = found_tree(options, node)
    return found, with_default_tasks_max(options, at_root(node, found))


def with_default_tasks_max(options: argparse.Namespace, node: NodeConfig) -> NodeConfig:
    """A node with the DefaultTasksMax of the machine's systemd; unchanged if that does not make the units."""
    try:
        with systemd_of(options, node) as systemd:
            return node if systemd is None else replace(node, default_tasks_max=systemd.default_tasks_max())
    except (RootError, SystemdError):  # commands that need systemd say so themselves
        return node


def by_systemd(options: argparse.Namespace, node: NodeConfig) -> bool:
    """Is the driver systemd's, and the root the tree that this machine's systemd manages?"""
    own = os.path.realpath(options.root) == MACHINE_ROOT
    return node.driver == "systemd" and own and not options.systemd_names_only


@contextmanager
def systemd_of(options: argparse.Namespace, node: NodeConfig) -> Iterator[Systemd | None]:
    """The machine's systemd if it makes the units, else None."""
    if not by_systemd(options, node):
        yield None
        return
    from cgroup_engine.change.systemd.bus import connect

    with closing(connect(options.root)) as systemd:
        yield systemd
