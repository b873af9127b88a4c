"""Completions are scripts that their shell takes, and complete a word."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from documentation.command_line import COMPLETED

pytest.importorskip("shtab")
from documentation.completions import FILES, completion

_ASK = """\
source "$1"
COMP_WORDS=("${@:2}") COMP_CWORD=$(($# - 2)) COMPREPLY=()
function=$(complete -p "$2" | sed 's/.*-F \\([^ ]*\\) .*/\\1/')
"$function" "$2" "${@: -1}" "${@: -2:1}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def script(tmp_path: Path, program: str) -> Path:
    file = tmp_path / "completion"
    file.write_text(completion(program, "bash"))
    return file


@pytest.mark.parametrize("program", COMPLETED)
@pytest.mark.parametrize("shell", FILES)
def test_the_shell_takes_it(program: str, shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    file = tmp_path / "completion"
    file.write_text(completion(program, shell))
    done = subprocess.run([shell, "-n", file], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("program", "words", "completed"),
    [
        ("fakecgroup", ["mo"], ["mount"]),
        ("fakecgroup", ["mount", "--lay"], ["--layout"]),
        ("fakecgroup", ["mount", "--layout", "h"], ["hybrid"]),
        ("cgroup-engine", ["st"], ["status"]),
        ("cgroup-engine", ["plan", "--driver", "s"], ["systemd"]),
    ],
)
def test_bash_completes_a_word(program: str, words: list[str], completed: list[str], script: Path) -> None:
    asked = ["bash", "--norc", "-c", _ASK, "bash", str(script), program, *words]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert (done.stdout.split(), done.stderr) == (completed, "")
