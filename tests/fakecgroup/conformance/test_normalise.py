"""What is taken out of answers before they are compared."""

from __future__ import annotations

import pytest

from fakecgroup.conformance.normalise import Normaliser

PIDS = {100: "self", 101: "w"}


@pytest.mark.parametrize("file", ["cgroup.procs", "tasks", "cgroup.threads"])
def test_pids_become_names_and_strangers_are_left_out(file: str) -> None:
    assert Normaliser(PIDS)(("read", f"a/{file}"), (None, "1\n100\n7\n101\n")) == (None, "$self\n$w\n")


def test_a_handle_is_known_by_its_file() -> None:
    normalise = Normaliser(PIDS)
    normalise(("open", "h", "a/cgroup.procs"), (None, None))
    assert normalise(("fread", "h", 100), (None, "101\n")) == (None, "$w\n")


@pytest.mark.parametrize(
    ("file", "text", "normal"),
    [
        ("cpu.stat", "usage_usec 5\nuser_usec 0\n", "usage_usec #\nuser_usec #\n"),
        ("memory.current", "4096\n", "#\n"),
        ("memory.numa_stat", "anon N0=5 N1=0\n", "anon N0=# N1=#\n"),
        ("cpu.pressure", "some avg10=0.12 total=7\n", "some avg10=# total=#\n"),
        ("memory.events", "low 0\nmax 7\noom_kill 2\n", "low 0\nmax +\noom_kill 2\n"),
        ("memory.failcnt", "12\n", "+\n"),
        ("memory.failcnt", "0\n", "0\n"),
        ("cgroup.stat", "nr_descendants 2\nnr_dying_descendants 3\n", "nr_descendants 2\nnr_dying_descendants #\n"),
        ("io.stat", "259:1 rios=3\n259:0 rios=4\n", "259:0 rios=#\n259:1 rios=#\n"),
        ("cpu.max", "max 100000\n", "max 100000\n"),
        ("pids.current", "3\n", "3\n"),
    ],
)
def test_counters_are_taken_out_and_settings_kept(file: str, text: str, normal: str) -> None:
    assert Normaliser({})(("read", f"a/{file}"), (None, text)) == (None, normal)
    assert Normaliser({})(("read", f"a/{file}"), (None, normal)) == (None, normal)


def test_raw_answers_keep_their_counters() -> None:
    assert Normaliser({}, raw=True)(("read", "cpu.stat"), (None, "usage_usec 5\n")) == (None, "usage_usec 5\n")


def test_the_place_of_a_process_is_named_without_hierarchy_numbers() -> None:
    text = "3:pids:/a\n2:cpu,cpuacct:/\n1:name=systemd:/b\n"
    assert Normaliser({})(("proc", "w", "cgroup"), (None, text)) == (None, "name=systemd:/b\npids:/a\n")
    assert Normaliser({})(("proc", "w", "cgroup"), (None, "0::/a\n")) == (None, "0::/a\n")


def test_an_operation_in_a_helper_is_treated_alike() -> None:
    assert Normaliser(PIDS)(("in", "w", "read", "cgroup.procs"), (None, "101\n")) == (None, "$w\n")


def test_errors_are_left_alone() -> None:
    assert Normaliser({})(("read", "cpu.stat"), ("ENOENT@open", None)) == ("ENOENT@open", None)
