"""What a child costs its parent, and who hears of it."""

from __future__ import annotations

from errno import EACCES, EBADF, EBUSY, EINVAL, ENOMEM

import pytest

from fakecgroup import Caller, EventFd, Kernel

PAGE = 4096
EVENT, USAGE, OOM, PRESSURE, LIMIT, ELSEWHERE = range(3, 9)


def refusal(function: object, *args: object) -> int | None:
    """The errno that a call is refused with."""
    with pytest.raises(OSError) as refused:
        function(*args)  # type: ignore[operator]
    return refused.value.errno


@pytest.mark.parametrize("version", ["5.10", "6.1"])
def test_a_v1_limit_below_what_the_children_cost_is_busy(version: str) -> None:
    kernel = Kernel("v1", version)
    kernel.mkdir("memory/a")
    kernel.write("memory/a/memory.limit_in_bytes", "0")
    kernel.write("memory/a/memory.limit_in_bytes", "-1")
    kernel.mkdir("memory/a/b")
    assert refusal(kernel.write, "memory/a/memory.limit_in_bytes", str(3 * PAGE)) == EBUSY
    kernel.write("memory/a/memory.limit_in_bytes", str(4 * PAGE))
    kernel.write("memory/a/b/memory.limit_in_bytes", "0")


def test_a_child_that_does_not_fit_above_its_parent_is_not_made() -> None:
    kernel = Kernel("v1", "6.1")
    kernel.mkdir("memory/a")
    kernel.mkdir("memory/a/b")
    kernel.write("memory/a/memory.limit_in_bytes", str(4 * PAGE))
    assert refusal(kernel.mkdir, "memory/a/b/c") == ENOMEM
    assert kernel.stat("memory/a/b").nlink == 2
    assert kernel.read("memory/a/memory.failcnt") == "1\n"
    kernel.rmdir("memory/a/b")
    kernel.mkdir("memory/a/d")


def test_kernel_memory_has_a_limit_of_its_own_on_5_10_alone() -> None:
    for version in ("5.10", "6.1"):
        kernel = Kernel("v1", version)
        kernel.mkdir("memory/a")
        kernel.write("memory/a/memory.kmem.limit_in_bytes", str(PAGE))
        if version == "5.10":
            assert refusal(kernel.mkdir, "memory/a/b") == ENOMEM
        else:
            kernel.mkdir("memory/a/b")


def test_memory_max_below_what_the_children_cost_is_taken_and_no_other_child_fits() -> None:
    kernel = Kernel("v2", "6.12")
    kernel.write("cgroup.subtree_control", "+memory")
    kernel.mkdir("a")
    kernel.write("a/cgroup.subtree_control", "+memory")
    kernel.mkdir("a/b")
    kernel.write("a/memory.max", "0")
    assert refusal(kernel.mkdir, "a/c") == ENOMEM
    assert "max 1\noom 2\n" in kernel.read("a/memory.events")


def test_enabling_memory_where_not_all_children_fit_changes_nothing() -> None:
    kernel = Kernel("v2", "6.12")
    kernel.write("cgroup.subtree_control", "+memory +pids")
    for name in ("a", "a/b", "a/c"):
        kernel.mkdir(name)
    kernel.write("a/memory.max", str(5 * PAGE))
    kernel.write("a/cgroup.subtree_control", "+pids")
    assert refusal(kernel.write, "a/cgroup.subtree_control", "+memory -pids") == ENOMEM
    assert kernel.read("a/cgroup.subtree_control") == "pids\n"
    assert kernel.read("a/memory.current") == "0\n"
    assert "memory.max" not in kernel.listdir("a/b")


class Listener:
    """A program with descriptors on the files of `memory/a`, and an eventfd."""

    def __init__(self, uid: int = 0) -> None:
        self.signals = 0
        self.kernel = Kernel("v1", "6.1")
        self.kernel.mkdir("memory/a")
        self.kernel.mkdir("memory/a/b")
        files = {
            USAGE: "a/memory.usage_in_bytes",
            OOM: "a/memory.oom_control",
            PRESSURE: "a/memory.pressure_level",
            LIMIT: "a/memory.limit_in_bytes",
            ELSEWHERE: "a/b/memory.usage_in_bytes",
        }
        self.files: dict[int, object] = {fd: self.kernel.walk(f"memory/{path}") for fd, path in files.items()}
        self.files |= {0: "a terminal", EVENT: EventFd(self.hear)}
        self.caller = Caller(uid=uid, gid=uid, files=self.files.get)

    def hear(self) -> None:
        self.signals += 1

    def register(self, text: str) -> None:
        self.kernel.write("memory/a/cgroup.event_control", text, self.caller)


def test_event_control_wants_an_eventfd_and_a_file_of_its_own_group() -> None:
    listener = Listener()
    for text, errno in (
        (f"{EVENT}", EINVAL),
        (f"99 {USAGE} 1M", EBADF),
        (f"0 {USAGE} 1M", EINVAL),
        (f"{EVENT} 99 1M", EBADF),
        (f"{EVENT} {LIMIT} 1M", EINVAL),
        (f"{EVENT} {ELSEWHERE} 1M", EINVAL),
        (f"{EVENT} {USAGE} much", EINVAL),
        (f"{EVENT} {PRESSURE} LOW", EINVAL),
    ):
        assert refusal(listener.register, text) == errno, text


def test_who_may_not_read_the_control_file_hears_nothing_of_it() -> None:
    listener = Listener(uid=1000)
    assert refusal(listener.register, f"{EVENT} {PRESSURE} low") == EACCES
    listener.register(f"{EVENT} {USAGE} 1M")


def test_a_caller_of_whose_descriptors_nothing_is_known_has_none() -> None:
    kernel = Kernel("v1", "6.1")
    assert refusal(kernel.write, "memory/cgroup.event_control", "3 4 1M") == EBADF


def test_a_listener_hears_of_the_end_of_its_group_and_of_a_lack_of_memory_above() -> None:
    listener = Listener()
    listener.kernel.rmdir("memory/a/b")
    listener.register(f"{EVENT} {OOM}")
    listener.kernel.write("memory/a/memory.limit_in_bytes", "0")
    assert refusal(listener.kernel.mkdir, "memory/a/b") == ENOMEM
    assert listener.signals == 1
    listener.kernel.write("memory/a/memory.oom_control", "1")
    assert refusal(listener.kernel.mkdir, "memory/a/b") == ENOMEM
    assert listener.signals == 1
    listener.kernel.rmdir("memory/a")
    assert listener.signals == 2
