"""--enforce of the command line."""

from __future__ import annotations

from fakecgroup_mount.enforce.options import ENFORCEABLE, read_enforced

from ..conftest import run


def test_a_list_names_controllers() -> None:
    assert read_enforced("memory") == frozenset({"memory"})


def test_all_and_none_are_understood() -> None:
    assert (read_enforced("all"), read_enforced("none")) == (frozenset(ENFORCEABLE), frozenset())


def test_what_cannot_be_enforced_is_said_in_a_line() -> None:
    done = run("run", "--enforce", "memory,pids", "--", "true")
    assert done.returncode == 2
    assert "'pids' cannot be enforced: all, none, or of memory" in done.stderr.splitlines()[-1]


def test_fusepy_enforces_nothing(tmp_path: object) -> None:
    done = run("mount", "--enforce", "memory", "--transport", "fusepy", str(tmp_path))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "--enforce: limits on real processes take --transport native" in done.stderr
