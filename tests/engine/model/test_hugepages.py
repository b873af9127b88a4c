"""Names of sizes of huge pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from cgroup_engine.errors import QuantityError
from cgroup_engine.model.hugepages import (
    huge_pages_of_machine,
    kernel_name,
    page_size_of_file,
    page_size_of_resource,
    resource_of_page_size,
)


@pytest.mark.parametrize(
    ("resource", "size", "kernel"),
    [
        ("hugepages-64Ki", 64 << 10, "64KB"),
        ("hugepages-2Mi", 2 << 20, "2MB"),
        ("hugepages-32Mi", 32 << 20, "32MB"),
        ("hugepages-1Gi", 1 << 30, "1GB"),
        ("hugepages-16Gi", 16 << 30, "16GB"),
    ],
)
def test_a_size_has_a_name_for_pods_and_one_for_the_kernel(resource: str, size: int, kernel: str) -> None:
    assert page_size_of_resource(resource) == size
    assert resource_of_page_size(size) == resource
    assert kernel_name(size) == kernel
    for file in (f"hugetlb.{kernel}.max", f"hugetlb.{kernel}.limit_in_bytes"):
        assert page_size_of_file(file) == size


@pytest.mark.parametrize("file", ["hugetlb.2MB.rsvd.max", "hugetlb.2MB.current", "memory.max", "hugetlb..max"])
def test_other_files_name_no_size(file: str) -> None:
    assert page_size_of_file(file) is None


@pytest.mark.parametrize("name", ["hugepages-", "hugepages-x", "hugepages-0", "hugepages--2Mi", "hugepages-1m"])
def test_what_is_no_size_is_refused(name: str) -> None:
    with pytest.raises(QuantityError):
        page_size_of_resource(name)


def test_a_machine_has_the_sizes_that_its_kernel_lists(tmp_path: Path) -> None:
    for name, pages in (("hugepages-2048kB", 64), ("hugepages-1048576kB", 0)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "nr_hugepages").write_text(f"{pages}\n")
    assert huge_pages_of_machine(tmp_path) == {2 << 20: 128 << 20, 1 << 30: 0}


def test_a_kernel_without_huge_pages_has_no_size(tmp_path: Path) -> None:
    assert huge_pages_of_machine(tmp_path / "none") == {}
