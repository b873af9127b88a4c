"""What a v1 release agent is told by a kernel without a mount."""

from __future__ import annotations

import pytest

from fakecgroup import Kernel


@pytest.fixture
def kernel() -> Kernel:
    kernel = Kernel("v1", "6.1")
    kernel.write("pids/notify_on_release", "1")
    kernel.write("pids/release_agent", " /sbin/agent\n")
    kernel.mkdir("pids/a")
    return kernel


@pytest.fixture
def told(kernel: Kernel) -> list[tuple[str, str]]:
    runs: list[tuple[str, str]] = []
    kernel.on_release = lambda agent, path, setter: runs.append((agent, path))
    return runs


def enter_and_leave(kernel: Kernel, group: str) -> None:
    pid = kernel.fork(1)
    kernel.write(f"{group}/tasks", str(pid))
    kernel.write("pids/tasks", str(pid))


def test_the_agent_and_the_path_below_the_root_are_told(kernel: Kernel, told: list[tuple[str, str]]) -> None:
    kernel.mkdir("pids/a/b")
    enter_and_leave(kernel, "pids/a/b")
    assert told == [("/sbin/agent", "/a/b")]


def test_a_cgroup_with_a_child_is_told_of_when_the_child_is_removed(
    kernel: Kernel, told: list[tuple[str, str]]
) -> None:
    kernel.mkdir("pids/a/b")
    enter_and_leave(kernel, "pids/a")
    assert told == []
    kernel.rmdir("pids/a/b")
    assert told == [("/sbin/agent", "/a")]


def test_without_an_agent_nothing_is_told(kernel: Kernel, told: list[tuple[str, str]]) -> None:
    kernel.write("pids/release_agent", "\n")
    enter_and_leave(kernel, "pids/a")
    assert told == []


def test_nobody_has_to_listen(kernel: Kernel) -> None:
    enter_and_leave(kernel, "pids/a")
    kernel.rmdir("pids/a")
