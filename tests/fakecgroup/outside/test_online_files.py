"""The file `online` of a CPU."""

from __future__ import annotations

from errno import EACCES, EINVAL, ENOENT

import pytest

from fakecgroup import Caller
from fakecgroup.machine.online_cpus import OnlineCpus
from fakecgroup.machine.personality import choose
from fakecgroup.outside import online_files


@pytest.mark.parametrize("cpu", [-1, 0, 4])
def test_the_first_cpu_and_those_that_are_not_there_have_no_such_file(cpu: int) -> None:
    with pytest.raises(OSError) as refused:
        online_files.check_writer(cpu, OnlineCpus(4), Caller(0, 0))
    assert refused.value.errno == ENOENT


def test_it_is_the_superusers() -> None:
    with pytest.raises(OSError) as refused:
        online_files.check_writer(1, OnlineCpus(4), Caller(1000, 1000))
    assert refused.value.errno == EACCES


@pytest.mark.parametrize(("text", "online"), [("0", False), ("1\n", True), ("off", False), ("Yes", True), ("f", False)])
def test_it_takes_a_truth_value(text: str, online: bool) -> None:
    assert online_files.parse(text, choose("v2", "6.12"), now=not online) is online


@pytest.mark.parametrize(("text", "version"), [("2", "7.2"), ("o", "7.2"), (" 1", "7.2"), ("t", "5.10")])
def test_what_is_none_is_refused(text: str, version: str) -> None:
    with pytest.raises(OSError) as refused:
        online_files.parse(text, choose("v2", version), now=True)
    assert refused.value.errno == EINVAL


def test_an_empty_write_changes_nothing() -> None:
    assert online_files.parse("", choose("v2", "6.12"), now=False) is False
