"""The table of nodes: which inodes the kernel module knows, under which node ids."""

from __future__ import annotations

import sys

import pytest

from fakecgroup import ROOT, Kernel
from fakecgroup.kernfs.inode import Inode
from fakecgroup_mount.fuse import wire
from fakecgroup_mount.fuse.nodes import Nodes


@pytest.fixture
def kernel() -> Kernel:
    return Kernel()


@pytest.fixture
def file(kernel: Kernel) -> Inode:
    return kernel.vfs.lookup(kernel.vfs.root, "cgroup.procs", ROOT)


@pytest.fixture
def nodes(kernel: Kernel) -> Nodes:
    return Nodes(kernel.vfs.root)


def test_the_root_is_never_forgotten(nodes: Nodes, kernel: Kernel) -> None:
    nodes.forget(wire.ROOT_ID, 1)
    assert nodes.by_id[wire.ROOT_ID].inode is kernel.vfs.root


def test_a_node_is_forgotten_with_its_last_reference(nodes: Nodes, file: Inode) -> None:
    node = nodes.add(file)
    node.lookups = 3
    nodes.forget(node.id, 2)
    assert nodes.find(file.ino) is file
    nodes.forget(node.id, 1)
    assert (nodes.find(file.ino), node.id in nodes.by_id) == (None, False)


def test_a_node_id_is_not_used_again(nodes: Nodes, file: Inode) -> None:
    first = nodes.add(file)
    nodes.forget(first.id, 1)
    assert nodes.add(file).id != first.id


def test_a_further_node_takes_the_place_of_a_forgotten_one(nodes: Nodes, file: Inode) -> None:
    first, further = nodes.add(file), nodes.add_extra(file)
    assert nodes.number_of(file) == 2
    nodes.forget(first.id, 1)
    assert (nodes.by_inode[file], nodes.number_of(file)) == (further, 1)


def test_the_nodes_of_a_file_take_turns(nodes: Nodes, file: Inode) -> None:
    first, second, third = nodes.add(file), nodes.add_extra(file), nodes.add_extra(file)
    assert [nodes.next_of(file) for _ in range(4)] == [second, third, first, second]


def test_the_tables_are_small_again_when_most_nodes_are_forgotten(nodes: Nodes, kernel: Kernel) -> None:
    tables = (nodes.by_id, nodes.by_inode)
    added = [nodes.add(Inode(number, 0)) for number in range(50_000)]
    full = [sys.getsizeof(table) for table in tables]
    for node in added[100:]:
        nodes.forget(node.id, 1)
    assert [sys.getsizeof(table) < size / 4 for table, size in zip(tables, full, strict=True)] == [True, True]
    assert (nodes.by_id, nodes.by_inode) == tables
    assert set(nodes.by_inode) == {kernel.vfs.root, *(node.inode for node in added[:100])}
