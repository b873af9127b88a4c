"""Forks that are allowed and not counted yet take room below pids.max."""

from __future__ import annotations

import errno

import pytest

from fakecgroup import Kernel
from fakecgroup.core.cgroup import Cgroup
from fakecgroup.outside import pending_forks
from fakecgroup.outside.pending_forks import counting, have_room, limiting, may_have_room_soon, release, reserve


@pytest.fixture
def kernel() -> Kernel:
    """A machine whose /a has a limit of 2 tasks, and /a/b below it none."""
    kernel = Kernel(layout="v2", kernel="6.12")
    kernel.write("/cgroup.subtree_control", "+pids")
    kernel.mkdir("/a")
    kernel.write("/a/cgroup.subtree_control", "+pids")
    kernel.mkdir("/a/b")
    kernel.write("/a/pids.max", "2")
    return kernel


@pytest.fixture
def below(kernel: Kernel) -> Cgroup:
    """Where a task of /a/b is."""
    _, b = kernel.hierarchies[0].root.descendants()
    return b


def put_a_task(kernel: Kernel) -> None:
    kernel.write("/a/b/cgroup.procs", str(kernel.fork(1)))


def test_a_fork_counts_in_the_limits_above(below: Cgroup) -> None:
    assert [css.cgroup.path for css in limiting(below)] == ["/a"]


def test_where_nothing_is_limited_no_room_is_taken(kernel: Kernel) -> None:
    assert limiting(kernel.hierarchies[0].root) == ()
    assert have_room(())


def test_reserved_room_counts_as_a_task(kernel: Kernel, below: Cgroup) -> None:
    put_a_task(kernel)
    csses = limiting(below)
    assert have_room(csses)
    reserve(csses)
    assert not have_room(csses)
    assert kernel.read("/a/pids.current") == "1\n"


def test_reserved_room_may_be_given_back(kernel: Kernel, below: Cgroup) -> None:
    put_a_task(kernel)
    csses = limiting(below)
    reserve(csses)
    assert may_have_room_soon(csses)
    release(csses)
    assert have_room(csses)


def test_room_that_tasks_take_is_not_given_back(kernel: Kernel, below: Cgroup) -> None:
    put_a_task(kernel)
    put_a_task(kernel)
    assert not may_have_room_soon(limiting(below))


def test_a_refused_fork_is_counted(kernel: Kernel, below: Cgroup) -> None:
    put_a_task(kernel)
    reserve(limiting(below))
    with pytest.raises(OSError) as caught:
        pending_forks.check(below)
    assert caught.value.errno == errno.EAGAIN
    assert kernel.read("/a/pids.events") == "max 1\n"


def test_one_hierarchy_counts_if_any() -> None:
    number = counting(Kernel(layout="v1", kernel="6.1").hierarchies)
    assert number is not None
    assert "pids" in Kernel(layout="v1", kernel="6.1").hierarchies[number].controllers
    assert counting(()) is None
