"""A cgroup with very many children lists them in the order in which it would list a few."""

from __future__ import annotations

import pytest

from fakecgroup import Kernel
from fakecgroup.core import cgroup as cgroups
from fakecgroup.kernfs.namehash import name_key

MANY = 1500
LAYOUTS = ("v2", "v1")


def top(layout: str) -> str:
    return "a" if layout == "v2" else "cpu,cpuacct/a"


@pytest.fixture(params=LAYOUTS)
def tree(request: pytest.FixtureRequest) -> tuple[Kernel, str]:
    """A kernel, and a cgroup with many children that has been listed before."""
    kernel, path = Kernel(request.param), top(request.param)
    kernel.mkdir(path)
    for number in range(MANY):
        kernel.mkdir(f"{path}/n{number}")
    assert kernel.listdir(path) == expected(kernel, path)
    return kernel, path


def expected(kernel: Kernel, path: str) -> list[str]:
    """All names there, as they are sorted one by one."""
    cgroup = kernel.walk(path)
    assert isinstance(cgroup, cgroups.Cgroup)
    signed = not kernel.personality.at_least(6, 2)
    files = [name for _, name, _ in cgroup.hierarchy.listing(cgroup)]
    return sorted([*files, *cgroup.children], key=lambda name: name_key(name, signed))


@pytest.mark.parametrize("count", [1, 30, 200])
def test_children_that_come_and_go_are_listed_in_order(tree: tuple[Kernel, str], count: int) -> None:
    kernel, path = tree
    for number in range(count):
        kernel.mkdir(f"{path}/new{number}")
        kernel.rmdir(f"{path}/n{number * 3}")
    assert kernel.listdir(path) == expected(kernel, path)


def test_a_child_that_was_made_again_is_listed_with_its_new_inode(tree: tuple[Kernel, str]) -> None:
    kernel, path = tree
    kernel.rmdir(f"{path}/n7")
    kernel.mkdir(f"{path}/n7")
    entries = {name: ino for name, ino, _ in kernel.vfs.readdir(kernel.walk(path))}
    assert entries["n7"] == kernel.stat(f"{path}/n7").ino


def test_a_child_that_was_renamed_is_listed_under_its_new_name() -> None:
    kernel = Kernel("v1")
    kernel.mkdir("pids/a")
    for number in range(MANY):
        kernel.mkdir(f"pids/a/n{number}")
    kernel.listdir("pids/a")
    kernel.rename("pids/a/n7", "pids/a/seven")
    assert kernel.listdir("pids/a") == expected(kernel, "pids/a")


def test_children_are_listed_after_most_of_them_are_gone(tree: tuple[Kernel, str]) -> None:
    kernel, path = tree
    for number in range(1, MANY):
        kernel.rmdir(f"{path}/n{number}")
    assert kernel.listdir(path) == expected(kernel, path)
