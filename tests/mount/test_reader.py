"""A command whose reader has gone, as in `fakecgroup conformance | head -1`, ends without a word."""

from __future__ import annotations

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
