"""The tables of interface files hold together, and every file that takes writes was asked on a real kernel."""

from __future__ import annotations

import pytest

from fakecgroup import Kernel, personalities
from fakecgroup.conformance import recording
from fakecgroup.conformance.case import bytes_data, data_bytes
from fakecgroup.core.cftype import CFType, Where
from fakecgroup.core.hierarchy import Hierarchy

PAIRS = personalities()


def hierarchies() -> list[tuple[str, str, Hierarchy]]:
    return [(layout, version, h) for layout, version in PAIRS for h in Kernel(layout, version).hierarchies]


def rows(hierarchy: Hierarchy) -> list[CFType]:
    entries = [*hierarchy.root_table.values(), *hierarchy.child_table.values()]
    return list({id(entry.row): entry.row for entry in entries}.values())


@pytest.mark.parametrize(("layout", "version", "hierarchy"), hierarchies())
def test_a_name_stands_for_one_row_in_one_kernel(layout: str, version: str, hierarchy: Hierarchy) -> None:
    for where in (Where.ROOT, Where.CHILD):
        names = [row.name for row in rows(hierarchy) if row.where & where]
        assert len(names) == len(set(names))


@pytest.mark.parametrize(("layout", "version", "hierarchy"), hierarchies())
def test_a_row_reads_in_one_way_and_writes_in_one_way(layout: str, version: str, hierarchy: Hierarchy) -> None:
    for row in rows(hierarchy):
        assert sum(map(bool, (row.show, row.show_records, row.read_u64, row.read_s64))) <= 1, row.name
        assert sum(map(bool, (row.write, row.write_of, row.write_u64, row.write_s64))) <= 1, row.name


@pytest.mark.parametrize(("layout", "version"), PAIRS)
def test_every_file_was_read_and_written_on_the_real_kernel(layout: str, version: str) -> None:
    asked: set[tuple[str, str]] = set()
    layouts = ("hybrid", "v1", "v2") if layout == "hybrid" else (layout,)  # hybrid's hierarchies are those of both
    for recorded in (case for each in layouts for case in recording.load(each, version).cases):
        for op in recorded.case.ops:
            if op[0] in ("read", "write"):
                asked.add((op[0], bytes_data(data_bytes(op[1])).rpartition("/")[2]))
            elif op[0] == "open":
                asked |= {("read", op[2].rpartition("/")[2]), ("write", op[2].rpartition("/")[2])}
    for hierarchy in Kernel(layout, version).hierarchies:
        for row in rows(hierarchy):
            if version == "6.18" and row.where is Where.ROOT:
                continue  # asked in own cgroups of a machine in use, never in its roots
            assert ("read", row.name) in asked, f"{row.name} was never read on {layout} {version}"
            assert ("write", row.name) in asked, f"{row.name} was never written on {layout} {version}"
