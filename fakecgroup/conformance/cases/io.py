"""io on v2 and blkio on v1: limits and weights per block device (259:0 and 259:1 are there, 8:0 is not)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fakecgroup.conformance.case import Case
from fakecgroup.conformance.cases.place import child
from fakecgroup.conformance.cases.values import each_read_back, padded, parser_cases, short_parser_cases

_NUMBERS = ["0", "1", "2", "10", "1024", "1048576", "4294967294", "4294967295", "4294967296", "9223372036854775807",
    "9223372036854775808", "18446744073709551614",
            "18446744073709551615", "18446744073709551616", "99999999999999999999", "max", "MAX", "maxx", "-1", "+5",
            " 5", "0x10", "010", "1M", "10,", "1.5", "abc", ""]  # fmt: skip
_DEVICES = ["259:0", "259:1", "259:2", "8:0", "8:1", "253:0", "1:3", "1:1", "0:0", "259:00", "0259:0", "259: 0",
    "259 :0", " 259:0", "\t259:0", "259:", ":0", "259", "a:b",
            "nvme0n1", "/dev/nvme0n1", "default", "-1:0", "259:-1", "259:+0", "0x103:0", "4096:0", "259:1048576",
            "4294967555:0", "259:4294967296", "259:0:0", "259.0", ""]  # fmt: skip


def cases() -> Iterator[Case]:
    yield from _v2()
    yield from _v1()


def _v2() -> Iterator[Case]:
    setup = child("v2", "io")
    limit = "a/io.max"
    for key in ("rbps", "wbps", "riops", "wiops"):
        yield Case(f"io.max takes {key}", "v2", (
            *setup, ("read", limit), *each_read_back(limit, [f"259:0 {key}=7000",
            *(f"259:0 {key}={n}" for n in _NUMBERS), f"259:0 {key}=max"])))  # fmt: skip
    yield Case("io.max names devices", "v2", (*setup, *each_read_back(limit, [f"{d} rbps=5000" for d in _DEVICES])))
    yield Case("io.max without keys", "v2", (*setup, *each_read_back(limit, [*_DEVICES, *(f"{d} " for d in _DEVICES)])))
    lines: list[Any] = [
        "259:0 rbps=1000 wbps=2000", "259:0 riops=30 wiops=40", "259:0  rbps=1001", "259:0\trbps=1002",
        "259:0 rbps=1003\twbps=2003", "259:0 rbps=1004 rbps=1005",
        "259:0 rbps=1006\n", "259:0 rbps=1007 ", " 259:0 rbps=1008", "\n259:0 rbps=1009", "259:0\nrbps=1010",
        "259:0 rbps=1011\n259:1 rbps=1012",
        "259:0 rbps=1013\n\n", "259:0 rbps = 1014", "259:0 rbps= 1015", "259:0 rbps =1016", "259:0 rbps1017",
        "259:0 rbps:1018", "259:0 RBPS=1019", "259:0 bps=1020",
        "259:0 rbps=1021 junk", "259:0 junk rbps=1022", "259:0 rbps=1023 nosuch=1", "259:0 nosuch=1 rbps=1024",
        "259:0 wbps=abc rbps=1025", "259:0 rbps=1026,wbps=1027",
        "259:0 rbps=1028;wbps=1029", "259:0 rbps", "259:0 rbps=", "259:0 =1030", "259:0 =", "259:0 rbps=1031\0junk",
        "259:0 rbps=1032 wbps", "259:0 rbps=max wbps=max",
        "259:0 riops=max wiops=max", "rbps=1033", "max", "", "\n", " ", padded("259:0 rbps=1034", " ", 4096),
        padded("259:0 rbps=1035", " ", 4097),
        {"join": ["259:0 rbps=", {"repeat": ["0", 100]}, "7"]}, {"join": ["259:0 ", {"repeat": ["x", 100]}, "=7"]},
        "259:0 rbps=max",
    ]  # fmt: skip
    yield Case("io.max parses keys", "v2", (*setup, *each_read_back(limit, lines)))
    yield Case("io.max shows the latest device first", "v2", (
        *setup, *each_read_back(limit, ["259:0 rbps=1000", "259:1 rbps=2000", "259:0 wbps=3000", "259:1 rbps=max",
        "259:1 wiops=50", "259:0 rbps=max wbps=max", "259:0 riops=5",
        "259:1 wiops=max", "259:0 riops=max"]), ("mkdir", "b"), *each_read_back("b/io.max",
        ["259:1 rbps=1000", "259:0 rbps=2000"])))  # fmt: skip
    yield Case("io.max of parent and child", "v2", (
        *child("v2", "io", "a", "a/b"), ("write", "a/io.max", "259:0 rbps=1000"), ("read", "a/b/io.max"),
        *each_read_back("a/b/io.max", ["259:0 rbps=5000"]),
        ("read", "a/io.max")))  # fmt: skip
    weights = [*("1", "2", "99", "100", "101", "9999", "10000", "10001", "0"), "default 50", "default 0",
        "default 10001", "default", "default ", "default\t60", "default  70",
               " default 80", "default 90 91", "default max", "default -1", "Default 50", "259:0 60", "259:1 60",
               "259:0 default", "259:0 0", "8:0 60", "259:0", "8:0",
               "259:0 abc", "a:b 60", "100 100", "1.5", "50abc", "4294967396", "100"]  # fmt: skip
    yield from parser_cases("v2", "a/io.weight", setup, "200", weights)
    yield from parser_cases("v2", "a/io.bfq.weight", setup, "200", weights)
    for name in ("stat",):
        yield from short_parser_cases("v2", f"a/io.{name}", setup)
    qos = ["259:0 enable=1", "259:0 enable=0", "259:0 enable=2", "259:0 enable=abc",
        "259:0 enable=1 rpct=95.00 rlat=5000", "259:0 rpct=101", "259:0 rpct=-1", "259:0 min=50 max=150",
           "259:0 min=200 max=100", "259:0 min=0", "259:0 max=10001", "259:0 ctrl=user", "259:0 ctrl=auto",
           "259:0 ctrl=abc", "259:0 nosuch=1", "259:0", "259:0 ", "8:0 enable=1",
           "enable=1", "abc", "", "\n", "259:1 enable=1", "259:1 enable=0", "259:0 enable=0"]  # fmt: skip
    yield Case("io.cost.qos of the root", "v2", (("read", "io.cost.qos"), *each_read_back("io.cost.qos", qos)))
    model = ["259:0 ctrl=auto", "259:0 ctrl=user", "259:0 model=linear", "259:0 model=abc",
        "259:0 ctrl=user model=linear rbps=1000 rseqiops=100 rrandiops=100", "259:0 rbps=0",
             "259:0 nosuch=1", "8:0 ctrl=auto", "abc", "", "\n", "259:0 ctrl=auto"]  # fmt: skip
    yield Case("io.cost.model of the root", "v2", (("read", "io.cost.model"), *each_read_back("io.cost.model", model)))
    yield Case("io.weight of a device under io.cost", "v2", (
        *setup, ("write", "io.cost.qos", "259:0 enable=1"), *each_read_back("a/io.weight",
        ["259:0 60", "259:0 0", "259:0 10001", "259:1 60", "default 30", "259:0 default",
        "259:0 default x", "259:0 70"]), ("write", "io.cost.qos", "259:0 enable=0"),
        *each_read_back("a/io.weight", ["259:0 80"])))  # fmt: skip
    yield Case("io.cost.qos parses numbers", "v2", tuple(each_read_back("io.cost.qos", [
        "259:0 rlat=00000000000000000000007", "259:0 rlat=000000000000000000000007", "259:0 rlat=18446744073709551616",
        "259:0 rlat=4294967297", "259:0 wlat=0x10", "259:0 wlat=010", "259:0 rlat=08", "259:0 rlat=-1", "259:0 rlat=+1",
        "259:0 rlat=", "259:0 rlat=5x", "259:0 enable=1x", "259:0 ctrl=", "259:0 rpct=1.005 wpct=1.5",
        "259:0 rpct=100.00", "259:0 rpct=100.01", "259:0 rpct=1.-5", "259:0 rpct=.5", "259:0 rpct=7x wpct=1.abc",
        "259:0 rpct=+7", "259:0 rpct=0x7", "259:0 rpct=0000000000000000000000000000006",
        "259:0 rpct=00000000000000000000000000000008", "259:0 rpct=5.9999999999", "259:0 wpct=5.00000000000005",
        "259:0 max=99999999999999999999", "259:0 rpct=9223372036854775808", "259:0 ctrl=auto rlat=9",
        "259:0 rlat=9 ctrl=auto", "259:0\trlat=11\nwlat=12", "259:0 rlat=13\rwlat=14"])))  # fmt: skip
    yield Case("io.cost.model parses numbers", "v2", tuple(each_read_back("io.cost.model", [
        "259:0 rbps=18446744073709551615 wbps=4294967297", "259:0 rbps=18446744073709551616", "259:0 rseqiops=0x10",
        "259:0 rbps=000000000000000000000000000000008", "259:0 wrandiops=7 model=linear",
        "259:0 rbps=-1"])))  # fmt: skip
    yield Case(
        "io.cost is there after a write that was refused",
        "v2",
        (("write", "io.cost.model", "259:1 nosuch=1"), ("read", "io.cost.qos"), ("read", "io.cost.model")),
    )
    stats = (("read", "a/b/io.stat"), ("read", "a/io.stat"))
    yield Case("io.stat shows the disks that were configured here or below", "v2", (
        *child("v2", "io", "a", "a/b"), *stats, ("write", "a/b/io.max", "259:0 junk"), *stats,
        ("write", "a/b/io.weight", "259:1 60"), *stats, ("write", "a/io.max", "259:1 "), *stats,
        ("write", "a/cgroup.subtree_control", "-io"), ("write", "a/cgroup.subtree_control", "+io"), *stats,
        ("write", "io.cost.qos", "259:0 enable=1"), ("read", "io.stat"), *stats))  # fmt: skip
    yield Case("io has the memory controller with it", "v2", (
        *child("v2", "io", "a"), ("mkdir", "a/b"), ("read", "cgroup.stat"), ("read", "a/cgroup.stat"), ("listdir", "a"),
        ("write", "cgroup.subtree_control", "+memory"), ("read", "cgroup.stat"), ("write", "a/memory.max", "1M"),
        ("write", "cgroup.subtree_control", "-memory"), ("read", "cgroup.stat"),
        ("write", "cgroup.subtree_control", "+memory"), ("read", "a/memory.max"),
        ("write", "cgroup.subtree_control", "-io"), ("read", "cgroup.stat")))  # fmt: skip
    yield Case(
        "the root has no io limits",
        "v2",
        (("read", "io.max"), ("write", "io.max", "259:0 rbps=1000"), ("read", "io.weight"), ("write", "io.stat", "1")),
    )


def _v1() -> Iterator[Case]:
    setup = child("v1", "blkio")
    for way in ("read", "write"):
        for unit in ("bps", "iops"):
            path = f"blkio/a/blkio.throttle.{way}_{unit}_device"
            yield Case(f"blkio.throttle.{way}_{unit}_device takes numbers", "v1", (
                *setup, ("read", path), *each_read_back(path, ["259:0 7000", *(f"259:0 {n}" for n in _NUMBERS),
                "259:0 0"])))  # fmt: skip
    path = "blkio/a/blkio.throttle.read_bps_device"
    yield Case("blkio.throttle names devices", "v1", (*setup, *each_read_back(path, [f"{d} 5000" for d in _DEVICES])))
    yield Case("blkio.throttle parses a line", "v1", (*setup, *each_read_back(path, [
        "259:0 1000", "259:0\t1001", "259:0  1002", " 259:0 1003", "259:0 1004\n", "259:0 1005 ", "259:0 1006 7",
        "259:0 1007x", "259:0\n1008", "259:0 1009\n259:1 1010",
        "259:0,1011", "259:0=1012", "259:0", "259:0 ", "1013", "", "\n", " ", "abc", "259:0 1014\0x", "\0",
        padded("259:0 1015", " ", 4096), padded("259:0 1016", " ", 4097),
        "259:0 0"])))  # fmt: skip
    yield Case("blkio.throttle shows devices in order", "v1", (*setup, *each_read_back(path, [
        "259:0 1000", "259:1 2000", "259:0 3000", "259:1 0", "259:1 4000", "259:0 0", "259:0 5000"]),
        ("mkdir", "blkio/a/b"),
        ("read", "blkio/a/b/blkio.throttle.read_bps_device"),
        ("read", "blkio/a/blkio.throttle.write_bps_device")))  # fmt: skip
    yield Case("blkio.throttle of the root", "v1", (*each_read_back("blkio/blkio.throttle.read_bps_device",
        ["259:0 1000", "8:0 1000", "abc", "259:0 0"]),
        *each_read_back("blkio/blkio.throttle.write_iops_device", ["259:1 10", "259:1 0"])))  # fmt: skip
    yield from parser_cases("v1", "blkio/a/blkio.reset_stats", setup, "1")
    for name in ("io_serviced", "io_serviced_recursive", "io_service_bytes", "io_service_bytes_recursive"):
        yield from short_parser_cases("v1", f"blkio/a/blkio.throttle.{name}", setup)
    counters = (("read", "blkio/a/blkio.throttle.io_serviced"),
                ("read", "blkio/a/blkio.throttle.io_service_bytes_recursive"))  # fmt: skip
    yield Case("blkio.throttle counts the disks that were configured here or below", "v1", (
        *setup, ("mkdir", "blkio/a/b"), *counters,
        ("write", "blkio/a/b/blkio.throttle.read_bps_device", "259:0 junk"), *counters,
        ("write", "blkio/a/blkio.throttle.write_iops_device", "259:1 5"), *counters))  # fmt: skip
    yield Case("blkio has no weights without bfq", "v1", (
        *setup, *(("read", f"blkio/a/blkio.{n}") for n in ("weight", "weight_device", "leaf_weight", "bfq.weight",
        "sectors", "time"))))  # fmt: skip
    bfq = ("weight", "weight_device", "io_serviced", "io_serviced_recursive", "io_service_bytes",
           "io_service_bytes_recursive", "time", "sectors")  # fmt: skip
    yield Case("bfq's files, where it is built in", "v1", (
        *setup, *(op for n in bfq for op in (("stat", f"blkio/a/blkio.bfq.{n}"), ("read", f"blkio/a/blkio.bfq.{n}"))),
        *(("write", f"blkio/a/blkio.bfq.{n}", "1") for n in bfq[2:])))  # fmt: skip
    yield from short_parser_cases("v1", "blkio/a/blkio.bfq.weight", setup, ["1000", "1001", "100", "999"])
    yield Case("bfq's weights of disks, where it is built in", "v1", (
        *setup, *each_read_back("blkio/a/blkio.bfq.weight_device", ["", "\n", "200", "default 300", "default", "0",
        "1001", "default 0", "default 1001", "default  400", " 500", "600 ", "700\n", "abc", "default abc", "-1", "+8",
        "0x10", "010", "800 9", "default 800 9", "8:0", "8:0 100", "8:0 default", "8:0 0", ":", "x:y 1"]),
        ("read", "blkio/a/blkio.bfq.weight"), ("write", "blkio/a/blkio.bfq.weight", "42"),
        ("read", "blkio/a/blkio.bfq.weight_device"), ("mkdir", "blkio/a/b"),
        ("read", "blkio/a/b/blkio.bfq.weight")))  # fmt: skip
