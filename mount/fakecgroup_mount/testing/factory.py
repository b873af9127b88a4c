"""The fixture `cgroupfs_factory`."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import pytest

from fakecgroup_mount.errors import MountError
from fakecgroup_mount.testing.options import read
from fakecgroup_mount.testing.tree import CgroupTree
from fakecgroup_mount.testing.trees import Trees

REQUIRE = "FAKECGROUP_REQUIRE"
"""An environment variable. If it is set, and not to 0, a test without its tree fails; else it is skipped."""


class CgroupfsFactory:
    """Mounts trees until the end of the session, for fixtures of a wider scope and for tests with several trees."""

    def __init__(self, trees: Trees) -> None:
        self._trees = trees
        self._mounted: set[Path] = set()

    def mount(self, **options: object) -> CgroupTree:
        """Mounts a tree, and returns it. The options are the marker's, without lists.

        Raises ValueError for wrong options. Skips or fails the test if nothing can be mounted, as `cgroupfs` does.
        """
        return self.mount_as(read(options))

    def mount_as(self, options: argparse.Namespace) -> CgroupTree:
        """`mount` with options of the fixture `cgroupfs_options`."""
        try:
            tree = self._trees.mount(options)
        except MountError as error:
            forbidden = f"no cgroup tree here: {error}"
        else:
            self._mounted.add(tree)
            return tree
        if os.environ.get(REQUIRE, "0") in ("", "0"):
            pytest.skip(forbidden)
        pytest.fail(f"{forbidden} ({REQUIRE} is set)", pytrace=False)

    def umount(self, *trees: Path) -> None:
        """Unmounts trees of `mount`, even trees in use. Fails the test if a daemon has failed.

        Raises ValueError, and unmounts nothing, if one of them is not mounted by this factory.
        """
        for tree in trees:
            if tree not in self._mounted:
                raise ValueError(f"{tree} is none of the mounted trees of cgroupfs_factory")
        self._mounted.difference_update(trees)
        complaints = "\n".join(filter(None, map(self._trees.take_down, dict.fromkeys(trees))))
        if complaints:
            pytest.fail(complaints, pytrace=False)

    def end(self) -> None:
        """Unmounts all trees."""
        self.umount(*self._mounted)
