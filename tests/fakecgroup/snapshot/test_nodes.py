"""Nodes of which `scripts/systemd snapshot` took the tree: booted kernels with systemd, services, a user and pods."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakecgroup.snapshot import compare, read_snapshot, redacted, restore
from fakecgroup.snapshot.files import unpack
from fakecgroup.snapshot.lines import pack
from fakecgroup.snapshot.of_kernel import files_of

NODES = sorted(Path(__file__).with_name("nodes").glob("*.cgs"))
BY_ROOT = [node for node in NODES if node.stem.endswith("-root")]


def test_there_are_nodes_of_each_layout() -> None:
    assert {node.stem.split("-")[1] for node in BY_ROOT} == {"v1", "v2", "hybrid"}


@pytest.mark.parametrize("node", NODES, ids=lambda node: node.stem)
def test_every_file_reads_as_on_the_node(node: Path) -> None:
    snapshot = read_snapshot(node)
    restored = restore(snapshot)
    assert restored.differs == ()
    assert compare(snapshot, files_of(restored)) == []


@pytest.mark.parametrize("node", BY_ROOT, ids=lambda node: node.stem)
def test_a_redacted_node_is_restored_too(node: Path) -> None:
    snapshot = redacted(read_snapshot(node))
    paths = [cgroup.path for _, cgroup in snapshot.cgroups()]
    assert any("kubepods" in path for path in paths)
    assert not any("manager" in path or "0aa1a5e2" in path for path in paths)
    assert compare(snapshot, files_of(restore(unpack(pack(snapshot))))) == []


@pytest.mark.parametrize("node", BY_ROOT, ids=lambda node: node.stem)
def test_a_plain_user_took_the_same_but_for_what_was_told(node: Path) -> None:
    theirs = node.with_stem(node.stem.replace("-root", "-user"))
    if not theirs.exists():
        pytest.skip("no plain user took this one")
    snapshot = read_snapshot(theirs)
    unread = {
        name
        for _, cgroup in snapshot.cgroups()
        for name, file in cgroup.files.items()
        if file.error in ("EACCES", "EPERM")
    }
    by_root = {cgroup.path: cgroup for _, cgroup in read_snapshot(node).cgroups()}
    assert unread
    assert all(cgroup.files[name].data is None for cgroup in by_root.values() for name in unread & cgroup.files.keys())
    told = " ".join(snapshot.left_out)
    assert "Permission denied" in told
    assert "trusted.* attributes: only root sees them" in told
