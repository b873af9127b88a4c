"""The release agent of the cases notes how it was run."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

import pytest

from fakecgroup_mount.conformance.agent import Agent


@pytest.fixture
def agent() -> Iterator[Agent]:
    agent = Agent()
    agent.make()
    yield agent
    agent.remove()


def test_each_run_is_told_once(agent: Agent) -> None:
    for path in ("/b", "/a", "/\udcff"):
        subprocess.run([agent.program, path], check=True)
    assert agent.runs(3, "argument") == ["/a", "/b", "/\udcff"]
    assert agent.runs(0, "argument") == []


def test_a_run_tells_its_process(agent: Agent) -> None:
    null = subprocess.DEVNULL
    subprocess.run([agent.program, "/a"], check=True, cwd="/", env={"X": "y"}, umask=0o27, stdin=null, stdout=null)
    assert agent.runs(1, "process") == [
        f"argv $agent /a\nenviron X=y\ncwd /\nuid {os.getuid()} gid {os.getgid()}\numask 027\ndescriptors 0 1 2\n"
    ]


def test_nothing_is_left_of_it(agent: Agent) -> None:
    program = agent.program
    agent.remove()
    assert not agent.made
    assert not os.path.exists(os.path.dirname(program))
