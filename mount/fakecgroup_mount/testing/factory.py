"""What the fixture `cgroupfs_factory` is."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import pytest

from fakecgroup_mount.errors import MountError
from fakecgroup_mount.testing.options import read
from fakecgroup_mount.testing.trees import Trees

REQUIRE = "FAKECGROUP_REQUIRE"
"""In the environment, and neither empty nor 0: what cannot have its tree fails, where it would be skipped."""


class CgroupfsFactory:
    """Mounts trees that last until the end of the session, for fixtures of a wider scope and tests of several trees."""

    def __init__(self, trees: Trees) -> None:
        self._trees = trees
        self._mounted: set[Path] = set()

    def mount(self, **options: object) -> Path:
        """The mount point of a new tree; the options are those of the marker, without lists.

        Raises ValueError for wrong ones; skips or fails where nothing can be mounted, as `cgroupfs` does.
        """
        return self.mount_as(read(options))

    def mount_as(self, options: argparse.Namespace) -> Path:
        """`mount`, with the options as the fixture `cgroupfs_options` gives them."""
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
        """Unmounts trees of `mount` before the session ends, used or not; fails if a daemon has failed.

        Raises ValueError, and unmounts nothing, where one is none of its trees or was unmounted before.
        """
        for tree in trees:
            if tree not in self._mounted:
                raise ValueError(f"{tree} is none of the mounted trees of cgroupfs_factory")
        self._mounted.difference_update(trees)
        complaints = "\n".join(filter(None, map(self._trees.take_down, dict.fromkeys(trees))))
        if complaints:
            pytest.fail(complaints, pytrace=False)

    def end(self) -> None:
        """`umount` of all that is left."""
        self.umount(*self._mounted)
