"""A command whose reader has gone, as in `fakecgroup conformance | head -1`, ends quietly; a full disk is told."""

from __future__ import annotations

import os
import subprocess

import pytest

from .conftest import COMMAND


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["conformance", "--kernel=6.12", "--family=pids", "-o", "json"], id="while it writes"),
        pytest.param(["list"], id="at its end"),
    ],
)
def test_a_command_ends_without_a_word_when_its_reader_has_gone(arguments: list[str]) -> None:
    with subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
    assert (process.returncode, said) == (1, "")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_told_in_one_line(unbuffered: str) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, "list"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )
    assert (done.returncode, done.stderr) == (1, "fakecgroup list: standard output: No space left on device\n")
