"""Rules of io and blkio that people get wrong."""

from __future__ import annotations

from errno import EINVAL, ENODEV, EOPNOTSUPP, ERANGE

import pytest

from fakecgroup import Kernel

DISKS = ("259:0", "259:1")


def machine(version: str = "6.12", layout: str = "v2") -> Kernel:
    """`/a` and `/a/b` with the controller."""
    kernel = Kernel(layout, version, block_devices=DISKS)
    if layout == "v1":
        kernel.mkdir("blkio/a")
        return kernel
    for directory in ("", "a/"):
        kernel.write(f"{directory}cgroup.subtree_control", "+io")
        kernel.mkdir(f"{directory}{'b' if directory else 'a'}")
    return kernel


def refused(kernel: Kernel, path: str, text: str) -> int | None:
    with pytest.raises(OSError) as caught:
        kernel.write(path, text)
    return caught.value.errno


def test_a_key_that_is_not_written_keeps_its_limit() -> None:
    kernel = machine()
    kernel.write("a/io.max", "259:0 rbps=1000")
    kernel.write("a/io.max", "259:0 wiops=20")
    assert kernel.read("a/io.max") == "259:0 rbps=1000 wbps=max riops=max wiops=20\n"


def test_a_bad_key_undoes_the_good_ones_before_it() -> None:
    kernel = machine()
    assert refused(kernel, "a/io.max", "259:0 rbps=1000 nosuch=1") == EINVAL
    assert kernel.read("a/io.max") == ""


def test_the_disk_is_judged_before_the_keys() -> None:
    assert refused(machine(), "a/io.max", "8:0 nosuch=1") == ENODEV


def test_a_limit_of_zero_is_out_of_range_and_not_no_limit() -> None:
    assert refused(machine(), "a/io.max", "259:0 rbps=0") == ERANGE


@pytest.mark.parametrize(("version", "error"), [("5.10", EINVAL), ("6.1", EINVAL), ("6.12", EINVAL), ("7.2", None)])
def test_a_limit_of_one_is_accepted_since_7_2(version: str, error: int | None) -> None:
    kernel = machine(version)
    if error is None:
        kernel.write("a/io.max", "259:0 rbps=1")
    else:
        assert refused(kernel, "a/io.max", "259:0 rbps=1") == error


def test_a_size_with_a_suffix_loses_it() -> None:
    kernel = machine()
    kernel.write("a/io.max", "259:0 rbps=10M")
    assert kernel.read("a/io.max").startswith("259:0 rbps=10 ")


def test_the_disk_that_was_named_last_is_listed_first_and_keeps_its_place() -> None:
    kernel = machine()
    for line in ("259:0 rbps=1000", "259:1 rbps=1000", "259:1 rbps=max", "259:0 rbps=3000", "259:1 rbps=4000"):
        kernel.write("a/io.max", line)
    assert [line.split()[0] for line in kernel.read("a/io.max").splitlines()] == ["259:1", "259:0"]


def test_a_disk_without_a_limit_is_not_listed_but_has_a_line_in_io_stat() -> None:
    kernel = machine()
    kernel.write("a/b/io.max", "259:0 rbps=max")
    assert kernel.read("a/b/io.max") == ""
    assert kernel.read("a/b/io.stat") == kernel.read("a/io.stat") == "259:0 \n"


def test_5_10_leaves_an_idle_disk_out_of_io_stat() -> None:
    kernel = machine("5.10")
    kernel.write("a/io.max", "259:0 rbps=1000")
    assert kernel.read("a/io.stat") == ""


def test_io_weight_counts_to_32_bits() -> None:
    kernel = machine()
    kernel.write("a/io.weight", "4294967396")
    assert kernel.read("a/io.weight") == "default 100\n"


def test_a_weight_per_disk_needs_io_cost_on_that_disk() -> None:
    kernel = machine()
    assert refused(kernel, "a/io.weight", "259:0 60") == EOPNOTSUPP
    kernel.write("io.cost.qos", "259:0 enable=1")
    kernel.write("a/io.weight", "259:0 60")
    assert kernel.read("a/io.weight") == "default 100\n259:0 60\n"


def test_a_refused_write_to_io_cost_sets_it_up_all_the_same() -> None:
    kernel = machine()
    assert refused(kernel, "io.cost.qos", "259:0 nosuch=1") == EINVAL
    assert kernel.read("io.cost.qos").startswith("259:0 enable=0 ctrl=auto ")


def test_ctrl_auto_forgets_what_the_user_had_set() -> None:
    kernel = machine()
    kernel.write("io.cost.qos", "259:0 rlat=7")
    assert " ctrl=user rpct=0.00 rlat=7 " in kernel.read("io.cost.qos")
    kernel.write("io.cost.qos", "259:0 ctrl=auto")
    assert " ctrl=auto rpct=0.00 rlat=25000 " in kernel.read("io.cost.qos")


def test_io_has_a_memory_controller_without_files() -> None:
    kernel = machine()
    assert "nr_subsys_memory 3\n" in kernel.read("cgroup.stat")
    assert "memory.max" not in kernel.listdir("a")


def test_without_a_block_device_every_disk_is_missing() -> None:
    kernel = Kernel("v2", "6.12")
    assert kernel.read("io.stat") == ""
    assert refused(kernel, "io.cost.qos", "259:0 enable=1") == ENODEV


def test_on_v1_zero_takes_a_limit_away() -> None:
    kernel = machine("6.1", "v1")
    path = "blkio/a/blkio.throttle.read_bps_device"
    kernel.write(path, "259:0 1000")
    assert kernel.read(path) == "259:0 1000\n"
    kernel.write(path, "259:0 0")
    assert kernel.read(path) == ""


def test_on_v1_operations_per_second_are_cut_to_32_bits() -> None:
    kernel = machine("6.1", "v1")
    path = "blkio/a/blkio.throttle.read_iops_device"
    kernel.write(path, "259:0 4294967296")
    assert kernel.read(path) == "259:0 0\n"


@pytest.mark.parametrize(("version", "before"), [("6.1", 13), ("6.12", 1)])
def test_since_6_12_a_disk_is_counted_once_it_was_throttled_anywhere(version: str, before: int) -> None:
    kernel = machine(version, "v1")
    path = "blkio/blkio.throttle.io_serviced"
    assert len(kernel.read(path).splitlines()) == before
    for disk in DISKS:
        kernel.write("blkio/a/blkio.throttle.read_bps_device", f"{disk} 1000")
    assert len(kernel.read(path).splitlines()) == 13
