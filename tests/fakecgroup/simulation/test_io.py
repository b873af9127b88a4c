"""Disks of simulated processes: limits, counters, pressure."""

from __future__ import annotations

import re

import pytest

from fakecgroup import Kernel, Workload

_DISK = "259:0"
_MI = 1 << 20


def _kernel(layout: str = "v2", kernel: str = "6.12") -> Kernel:
    made = Kernel(layout, kernel, cpus=1, block_devices=_DISK, clock=lambda: 0)
    if layout == "v2":
        made.write("/cgroup.subtree_control", "+io +cpu")
        made.mkdir("/a")
    else:
        made.mkdir("/blkio/a")
        made.mkdir("/blkio/a/b")
    return made


def _writes(rate: str, **more: str) -> Workload:
    return Workload([{"for": "100s", "io": {"device": _DISK, "write": rate}, **more}])


def _total(kernel: Kernel, file: str) -> float:
    found = re.search(r"some .*total=(\d+)", kernel.read(file))
    assert found is not None
    return int(found[1]) / 1e6


def test_io_max_holds_bytes_up_and_the_rest_of_the_time_is_pressure() -> None:
    kernel = _kernel()
    kernel.write("/a/io.max", f"{_DISK} wbps={5 * _MI}")
    kernel.spawn("/a", _writes("20Mi/s"))
    kernel.advance(10)
    assert kernel.read("/a/io.stat") == f"{_DISK} rbytes=0 wbytes={50 * _MI} rios=0 wios=800 dbytes=0 dios=0\n"
    assert _total(kernel, "/a/io.pressure") == pytest.approx(7.5, rel=0.01)


def test_the_root_counts_all_and_what_was_read_at_boot() -> None:
    kernel = _kernel()
    kernel.spawn("/a", _writes("1Mi/s"))
    kernel.advance(10)
    assert kernel.read("/io.stat") == f"{_DISK} rbytes=4096 wbytes={10 * _MI} rios=1 wios=160 dbytes=0 dios=0\n"


def test_a_process_that_is_held_up_uses_less_cpu() -> None:
    kernel = _kernel()
    kernel.write("/a/io.max", f"{_DISK} wbps={5 * _MI}")
    kernel.spawn("/a", _writes("20Mi/s", cpu="1"))
    kernel.advance(10)
    assert kernel.read("/a/cpu.stat").startswith("usage_usec 2500000\n")


def test_a_limit_that_changes_holds_from_then_on() -> None:
    kernel = _kernel()
    kernel.spawn("/a", _writes("20Mi/s"))
    kernel.advance(10)
    kernel.write("/a/io.max", f"{_DISK} wbps={5 * _MI}")
    kernel.advance(10)
    assert f"wbytes={250 * _MI} " in kernel.read("/a/io.stat")


def test_v1_counts_a_cgroup_s_own_and_with_those_below() -> None:
    kernel = _kernel("v1", "6.1")
    kernel.write("/blkio/a/blkio.throttle.write_bps_device", f"{_DISK} {5 * _MI}")
    kernel.spawn("/blkio/a/b", _writes("20Mi/s"))
    kernel.advance(10)
    assert f"{_DISK} Write {50 * _MI}\n" in kernel.read("/blkio/a/b/blkio.throttle.io_service_bytes")
    assert f"{_DISK} Write 0\n" in kernel.read("/blkio/a/blkio.throttle.io_service_bytes")
    assert f"{_DISK} Write 800\n" in kernel.read("/blkio/a/blkio.throttle.io_serviced_recursive")


def test_a_disk_that_the_machine_lacks_is_refused() -> None:
    kernel = _kernel()
    with pytest.raises(ValueError, match="no block device 8:0; there is 259:0"):
        kernel.spawn("/a", Workload([{"for": "1s", "io": {"device": "8:0", "read": "1Mi/s"}}]))
    assert kernel.read("/a/cgroup.procs") == ""


@pytest.mark.parametrize(
    ("io", "why"),
    [
        ({"read": "1Mi/s"}, "device is missing"),
        ({"device": "sda"}, "is no block device"),
        ({"device": _DISK, "reed": "1Mi/s"}, "no key 'reed'; there is device, read, write, block"),
        ({"device": _DISK, "read": "1Mi"}, "is no rate"),
        ({"device": _DISK, "block": "0"}, "a block has a byte at least"),
    ],
)
def test_words_that_mean_nothing_are_named(io: dict[str, str], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Workload([{"for": "1s", "io": io}])
