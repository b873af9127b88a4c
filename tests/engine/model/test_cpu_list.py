"""Lists of CPUs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cgroup_engine.model.cpu_list import cpu_list, parse_cpu_list


@pytest.mark.parametrize(("text", "cpus"), [("", []), ("0", [0]), ("0-2,7", [0, 1, 2, 7]), ("5,1-1", [1, 5])])
def test_a_list_is_read(text: str, cpus: list[int]) -> None:
    assert sorted(parse_cpu_list(text)) == cpus


@pytest.mark.parametrize("text", ["a", "2-1", "1,", ",", "1-", "-1", "0-1-2", " 1", "1-2:1/2", "999999"])
def test_what_is_no_list_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        parse_cpu_list(text)


@given(st.frozensets(st.integers(0, 300)))
def test_a_list_reads_back_as_itself(cpus: frozenset[int]) -> None:
    assert parse_cpu_list(cpu_list(cpus)) == cpus
