"""hugetlb: limits rounded to the page size, on both layouts."""

from __future__ import annotations

from collections.abc import Iterator

from fakecgroup.conformance.case import Case
from fakecgroup.conformance.cases.place import at, child
from fakecgroup.conformance.cases.values import each_read_back, parser_cases, short_parser_cases

_SIZES = ["0", "1", "2097151", "2097152", "2097153", "2M", "3M", "4M", "1023M", "1G", "1073741823", "1073741825",
    "2G", "1T", "9223372036852678655", "9223372036852678656",
          "9223372036854775807", "9223372036854775808", "9223372035781033983", "9223372035781033984",
          "18446744073709551615", "18446744073709551616", "8E", "16E", "max", "-1"]  # fmt: skip


def cases() -> Iterator[Case]:
    for size in ("2MB", "1GB"):
        setup = child("v2", "hugetlb")
        for name in ("max", "rsvd.max"):
            yield from parser_cases("v2", f"a/hugetlb.{size}.{name}", setup, "4G", _SIZES)
        for name in ("current", "events", "events.local", "rsvd.current", "numa_stat"):
            yield from short_parser_cases("v2", f"a/hugetlb.{size}.{name}", setup)
        yield Case(f"hugetlb.{size} of parent and child", "v2", (
            *child("v2", "hugetlb", "a", "a/b"), *each_read_back(f"a/hugetlb.{size}.max", ["2G"]),
            *each_read_back(f"a/b/hugetlb.{size}.max", ["4G", "max"]),
            *each_read_back(f"a/hugetlb.{size}.max", ["0"]), ("write", "cgroup.subtree_control", "-hugetlb"),
            ("write", "cgroup.subtree_control", "+hugetlb"),
            ("read", f"a/hugetlb.{size}.max")))  # fmt: skip
        setup = child("v1", "hugetlb")
        for name in ("limit_in_bytes", "rsvd.limit_in_bytes"):
            yield from parser_cases("v1", f"hugetlb/a/hugetlb.{size}.{name}", setup, "4G", _SIZES)
        for name in (
            "usage_in_bytes",
            "max_usage_in_bytes",
            "failcnt",
            "rsvd.usage_in_bytes",
            "rsvd.max_usage_in_bytes",
            "rsvd.failcnt",
            "numa_stat",
        ):
            yield from short_parser_cases("v1", f"hugetlb/a/hugetlb.{size}.{name}", setup)
        for name in ("limit_in_bytes", "rsvd.limit_in_bytes", "failcnt", "max_usage_in_bytes"):
            path = at("v1", "hugetlb", f"hugetlb.{size}.{name}")
            yield Case(
                f"hugetlb.{size}.{name} of the root",
                "v1",
                (("read", path), *each_read_back(path, ["", "\n", "-1", "0", "4G", "abc"])),
            )
        yield Case(f"hugetlb.{size} of parent and child on v1", "v1", (
            *child("v1", "hugetlb", "a", "a/b"), *each_read_back(f"hugetlb/a/hugetlb.{size}.limit_in_bytes", ["2G"]),
            *each_read_back(f"hugetlb/a/b/hugetlb.{size}.limit_in_bytes", ["4G", "-1"]),
            *each_read_back(f"hugetlb/a/hugetlb.{size}.limit_in_bytes", ["0"])))  # fmt: skip
