"""When events are told: at once, a little later, or not at all. What real kernels wake is in the recordings."""

from __future__ import annotations

from select import POLLPRI

import pytest

from fakecgroup import Kernel
from fakecgroup.core.cgroup import NOTIFY_INTERVAL
from fakecgroup.core.cgroup_file import CgroupFile


class Listener:
    """A kernel whose clock stands still until it is told, with an event to come on a/cgroup.events."""

    def __init__(self, version: str = "6.12") -> None:
        self.time = 1_000_000_000
        self.told: list[str] = []
        self.later: list[tuple[CgroupFile, int]] = []
        self.kernel = Kernel("v2", version, clock=lambda: self.time)
        self.kernel.on_notify = lambda file: self.told.append(file.row.name)
        self.kernel.on_notify_later = lambda file, wait: self.later.append((file, wait))
        self.kernel.mkdir("a")
        self.file = self.kernel.open("a/cgroup.events")

    def flip(self, value: int) -> None:
        self.kernel.write("a/cgroup.freeze", str(value))

    def polled(self) -> bool:
        """Whether there is an event, which is read with this."""
        found = bool(self.file.poll() & POLLPRI)
        self.file.read(0, 100)
        return found

    def come_due(self) -> None:
        for file, _ in self.later:
            file.cgroup.notify_now(file)
        self.later.clear()


@pytest.fixture
def listener() -> Listener:
    return Listener()


def test_a_second_event_is_put_off(listener: Listener) -> None:
    listener.flip(1)
    first = (len(listener.told), listener.polled())
    listener.time += 2_000_000
    listener.flip(0)
    second = (len(listener.told), listener.polled())
    waits = [wait for _, wait in listener.later]
    listener.come_due()
    third = (len(listener.told), listener.polled())
    assert (first, second, waits, third) == ((1, True), (1, False), [NOTIFY_INTERVAL - 2_000_000], (2, True))


def test_all_that_comes_until_then_is_one_event(listener: Listener) -> None:
    for value in (1, 0, 1, 0, 1):
        listener.flip(value)
    assert (len(listener.told), len(listener.later)) == (1, 1)


def test_what_was_put_off_puts_off_the_next(listener: Listener) -> None:
    listener.flip(1)
    listener.flip(0)
    listener.time += NOTIFY_INTERVAL
    listener.come_due()
    listener.flip(1)
    assert (len(listener.told), len(listener.later)) == (2, 1)


def test_an_event_after_a_rest_is_told_at_once(listener: Listener) -> None:
    listener.flip(1)
    listener.time += NOTIFY_INTERVAL
    listener.flip(0)
    assert (len(listener.told), listener.later) == (2, [])


def test_a_clock_that_was_put_back_puts_nothing_off(listener: Listener) -> None:
    listener.flip(1)
    listener.time -= 10 * NOTIFY_INTERVAL
    listener.flip(0)
    assert (len(listener.told), listener.later) == (2, [])


def test_nothing_is_told_of_a_cgroup_that_was_removed_meanwhile(listener: Listener) -> None:
    listener.flip(1)
    listener.flip(0)
    listener.kernel.rmdir("a")
    listener.come_due()
    assert listener.told == ["cgroup.events"]


def test_a_kernel_without_a_timer_tells_at_once() -> None:
    kernel = Kernel("v2", clock=lambda: 7)
    told: list[str] = []
    kernel.on_notify = lambda file: told.append(file.row.name)
    kernel.mkdir("a")
    kernel.read("a/cgroup.events")
    for value in "10":
        kernel.write("a/cgroup.freeze", value)
    assert told == ["cgroup.events"] * 2


@pytest.mark.parametrize("remove", ["rmdir", "switch off"])
def test_the_end_of_a_pressure_trigger_wakes(remove: str) -> None:
    kernel = Kernel("v2", "6.12")
    told: list[str] = []
    kernel.on_notify = lambda file: told.append(file.row.name)
    kernel.mkdir("a")
    for name in ("cpu.pressure", "io.pressure", "cgroup.events"):
        kernel.read(f"a/{name}")
    kernel.write("a/cpu.pressure", "some 150000 1000000")
    if remove == "rmdir":
        kernel.rmdir("a")
    else:
        kernel.write("a/cgroup.pressure", "0")
    assert told == ["cpu.pressure"]
