"""Memory of simulated processes on v1."""

from __future__ import annotations

from errno import EBUSY

import pytest

from fakecgroup import Caller, EventFd, Kernel, Workload

from .held import tables, with_tables

_MIB = 1 << 20


def _kernel(**machine: object) -> Kernel:
    return Kernel("v1", clock=lambda: 0, **machine)  # type: ignore[arg-type]


def _make(kernel: Kernel, path: str, **limits: int) -> None:
    kernel.mkdir(f"/memory{path}")
    for name, mib in limits.items():
        kernel.write(f"/memory{path}/memory.{name}", str(mib * _MIB))


def _spawn(kernel: Kernel, path: str, words: dict[str, object], **options: object) -> int:
    (pid,) = kernel.spawn(f"/memory{path}", Workload([{"for": "1h", **words}], **options))  # type: ignore[arg-type]
    kernel.advance(0)
    return pid


def _number(kernel: Kernel, file: str) -> int:
    return int(kernel.read(f"/memory{file}"))


def _mib(kernel: Kernel, file: str) -> float:
    return _number(kernel, file) / _MIB


_GROWS: dict[str, object] = {"memory": {"grow": "10Mi/s"}}


def test_a_process_over_the_limit_is_killed_and_failures_are_counted() -> None:
    """6.1.192 counts 25 to 36 failures beside a kill, and the greatest usage is the limit."""
    kernel = _kernel()
    _make(kernel, "/a", limit_in_bytes=50)
    _spawn(kernel, "/a", _GROWS)
    kernel.advance(6)
    assert kernel.read("/memory/a/memory.oom_control") == "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n"
    assert 25 <= _number(kernel, "/a/memory.failcnt") <= 37
    assert _mib(kernel, "/a/memory.max_usage_in_bytes") == 50


def test_with_oom_kill_disable_the_process_waits_until_the_limit_is_raised() -> None:
    """6.1.192: under_oom 1 and 19 failures while it waits; then it goes on, and waits at the next limit."""
    kernel = _kernel()
    _make(kernel, "/a", limit_in_bytes=50)
    kernel.write("/memory/a/memory.oom_control", "1")
    _spawn(kernel, "/a", {"memory": "80Mi"})
    kernel.advance(5)
    assert kernel.read("/memory/a/memory.oom_control") == "oom_kill_disable 1\nunder_oom 1\noom_kill 0\n"
    assert _number(kernel, "/a/memory.failcnt") == 19
    kernel.write("/memory/a/memory.limit_in_bytes", "60M")
    kernel.advance(1)
    assert _mib(kernel, "/a/memory.usage_in_bytes") == 60
    assert kernel.read("/memory/a/memory.oom_control") == "oom_kill_disable 1\nunder_oom 1\noom_kill 0\n"
    kernel.write("/memory/a/memory.limit_in_bytes", "90M")
    kernel.advance(1)
    assert _mib(kernel, "/a/memory.usage_in_bytes") == with_tables(80)
    assert kernel.read("/memory/a/memory.oom_control") == "oom_kill_disable 1\nunder_oom 0\noom_kill 0\n"


def test_the_killer_takes_a_waiting_process_once_it_is_enabled_again() -> None:
    kernel = _kernel()
    _make(kernel, "/a", limit_in_bytes=50)
    kernel.write("/memory/a/memory.oom_control", "1")
    _spawn(kernel, "/a", {"memory": "80Mi"})
    kernel.write("/memory/a/memory.oom_control", "0")
    kernel.advance(1)
    assert kernel.read("/memory/a/memory.oom_control") == "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n"


def test_a_limit_below_what_cannot_be_reclaimed_is_refused() -> None:
    kernel = _kernel()
    _make(kernel, "/a")
    _spawn(kernel, "/a", {"memory": "40Mi", "file": "40Mi"})
    with pytest.raises(OSError, match=r".*") as refused:
        kernel.write("/memory/a/memory.limit_in_bytes", "30M")
    assert refused.value.errno == EBUSY
    kernel.write("/memory/a/memory.limit_in_bytes", "50M")
    assert _mib(kernel, "/a/memory.usage_in_bytes") <= 50


def test_memsw_bounds_memory_and_swap_together() -> None:
    kernel = _kernel(swap="1Gi")
    _make(kernel, "/a", limit_in_bytes=40)
    kernel.write("/memory/a/memory.memsw.limit_in_bytes", "60M")
    pid = _spawn(kernel, "/a", _GROWS)
    kernel.advance(5.9)
    assert _number(kernel, "/a/memory.memsw.usage_in_bytes") > _number(kernel, "/a/memory.usage_in_bytes")
    kernel.advance(0.5)
    assert [kill.pid for kill in kernel.kills] == [pid]
    assert _mib(kernel, "/a/memory.memsw.max_usage_in_bytes") == 60


def test_the_machine_takes_first_from_those_over_their_soft_limit() -> None:
    kernel = _kernel(memory="1Gi")
    _make(kernel, "/over", soft_limit_in_bytes=100)
    _make(kernel, "/under", soft_limit_in_bytes=600)
    _make(kernel, "/grows")
    _spawn(kernel, "/over", {"memory": "0", "file": "400Mi"})
    _spawn(kernel, "/under", {"memory": "0", "file": "500Mi"})
    _spawn(kernel, "/grows", {"memory": {"grow": "100Mi/s"}})
    kernel.advance(3)
    assert _mib(kernel, "/under/memory.usage_in_bytes") == 500
    assert _mib(kernel, "/over/memory.usage_in_bytes") < 300


def test_force_empty_drops_file_pages() -> None:
    kernel = _kernel()
    _make(kernel, "/a")
    _spawn(kernel, "/a", {"memory": "40Mi", "file": "40Mi"})
    kernel.write("/memory/a/memory.force_empty", "1")
    assert _mib(kernel, "/a/memory.usage_in_bytes") == with_tables(40)


def test_charges_move_along_with_move_charge_at_immigrate() -> None:
    kernel = _kernel()
    _make(kernel, "/a")
    _make(kernel, "/b")
    kernel.write("/memory/b/memory.move_charge_at_immigrate", "1")
    pid = _spawn(kernel, "/a", {"memory": "40Mi", "file": "20Mi"})
    kernel.write("/memory/b/cgroup.procs", str(pid))
    assert _mib(kernel, "/a/memory.usage_in_bytes") == 20 + tables(40)
    assert _mib(kernel, "/b/memory.usage_in_bytes") == 40


def _listener(kernel: Kernel, file: str, args: str = "") -> list[int]:
    """Registers an eventfd for a file of /a. Returns a list that gets an item for each signal."""
    heard: list[int] = []
    files = {3: EventFd(lambda: heard.append(1)), 4: kernel.walk(f"/memory/a/{file}")}
    caller = Caller(uid=0, gid=0, files=files.get)
    kernel.write("/memory/a/cgroup.event_control", f"3 4 {args}".rstrip(), caller)
    return heard


def test_a_threshold_is_signalled_on_the_way_up_and_down() -> None:
    kernel = _kernel()
    _make(kernel, "/a")
    heard = _listener(kernel, "memory.usage_in_bytes", "30M")
    kernel.spawn("/memory/a", Workload([{"for": "10s", **_GROWS}]))
    kernel.advance(2.9)
    assert len(heard) == 0
    kernel.advance(0.2)
    assert len(heard) == 1
    kernel.advance(10)
    assert len(heard) == 2


def test_listeners_for_out_of_memory_hear_of_a_kill_and_of_a_wait() -> None:
    for disable in (0, 1):
        kernel = _kernel()
        _make(kernel, "/a", limit_in_bytes=50)
        kernel.write("/memory/a/memory.oom_control", str(disable))
        heard = _listener(kernel, "memory.oom_control")
        _spawn(kernel, "/a", {"memory": "80Mi"})
        assert len(heard) == 1


class Listener:
    """An eventfd of a caller, with a descriptor for the file that it listens to."""

    def __init__(self, kernel: Kernel, group: str, level: str) -> None:
        self.count = 0
        control = kernel.walk(f"/memory{group}/memory.pressure_level")
        files = {3: EventFd(self._signal), 4: control}
        kernel.write(f"/memory{group}/cgroup.event_control", f"3 4 {level}", Caller(files=files.get))

    def _signal(self) -> None:
        self.count += 1


def test_reclaim_for_a_limit_is_low_pressure_once_for_512_pages_and_a_kill_is_critical() -> None:
    kernel = _kernel()
    _make(kernel, "/a", limit_in_bytes=50)
    low, critical = Listener(kernel, "/a", "low"), Listener(kernel, "/a", "critical")
    _spawn(kernel, "/a", {"file": "40Mi", "memory": {"grow": "10Mi/s"}})
    kernel.advance(4)
    assert 10 <= low.count <= 15  # 30 MiB of 2 MiB each
    assert critical.count == 0
    kernel.advance(4)
    assert critical.count == 35 * 4  # rounds of reclaim, as booted 5.10 and 6.1 have it


def test_pressure_below_is_heard_above_in_mode_hierarchy_and_by_default_if_nobody_below_hears() -> None:
    kernel = _kernel()
    _make(kernel, "/a")
    _make(kernel, "/a/b", limit_in_bytes=50)
    kernel.mkdir("/memory/c")
    levels = ("low", "low,hierarchy", "low,local")
    heard = {level: Listener(kernel, "/a", level) for level in levels}
    below, elsewhere = Listener(kernel, "/a/b", "critical"), Listener(kernel, "/c", "low")
    _spawn(kernel, "/a/b", {"file": "40Mi", "memory": {"grow": "10Mi/s"}})
    kernel.advance(4)
    seen = [heard[level].count for level in levels]
    assert seen[0] == seen[1] > 0
    assert (seen[2], below.count, elsewhere.count) == (0, 0, 0)
    kernel.advance(4)
    assert below.count == 35 * 4
    assert heard["low,hierarchy"].count == heard["low"].count + 35 * 4
