"""Handlers of SIGCHLD do not interrupt trapped calls."""

from __future__ import annotations

from .conftest import Sandboxed, said


def test_the_end_of_a_child_interrupts_no_call(sandboxed: Sandboxed) -> None:
    # dash has a handler for SIGCHLD without SA_RESTART
    script = "for i in $(seq 40); do echo a | cat >/dev/null & read line </proc/self/cgroup; wait; done; echo $line"
    assert said(sandboxed(script)) == "0::/\n"
