"""The script that bisects an ordered list of kernel images; another program takes the place of `fakecgroup`."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "examples" / "bisect-images.sh"
#: The exit status of an image is the end of its name.
PROGRAM = """\
#!/bin/sh
echo "$@" >>"$(dirname "$0")/calls"
echo "what has changed"
while [ "$1" != --image ]; do shift; done
exit "${2##*-}"
"""


@pytest.fixture
def bin_directory(tmp_path: Path) -> Path:
    program = tmp_path / "fakecgroup"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    return tmp_path


def bisect(directory: Path, *words: str) -> subprocess.CompletedProcess[str]:
    path = f"{directory}:{os.environ['PATH']}"
    return subprocess.run(
        [SCRIPT, *words], env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False, timeout=60
    )


def images(*statuses: int) -> list[str]:
    return [f"image{number}-{status}" for number, status in enumerate(statuses)]


@pytest.mark.parametrize("first", range(6))
def test_the_first_that_answers_otherwise_is_found(first: int, bin_directory: Path) -> None:
    found = bisect(bin_directory, "--baseline", "6.1", "--", *images(*[0] * first, *[1] * (6 - first)))
    assert found.returncode == 0
    assert found.stdout.endswith(f"\nThe first that answers otherwise: image{first}-1\n\nwhat has changed\n")
    assert len((bin_directory / "calls").read_text().splitlines()) <= 3


def test_all_the_same_is_said(bin_directory: Path) -> None:
    assert bisect(bin_directory, "--", *images(0, 0, 0)).stdout.endswith("all that booted answer the same\n")


def test_images_that_do_not_boot_are_left_out(bin_directory: Path) -> None:
    found = bisect(bin_directory, "--", *images(0, 125, 125, 1, 125, 1))
    assert "The first that answers otherwise: image3-1\n" in found.stdout


def test_none_that_boots_is_said(bin_directory: Path) -> None:
    assert bisect(bin_directory, "--", *images(125, 125)).stdout.endswith("all that booted answer the same\n")


def test_an_interrupt_ends_it(bin_directory: Path) -> None:
    found = bisect(bin_directory, "--", *images(0, 130, 1))
    assert (found.returncode, found.stderr) == (1, "the bisection ends at image1-130\n")


def test_the_options_are_passed_on(bin_directory: Path) -> None:
    bisect(bin_directory, "--baseline", "6.1", "--family", "partitions", "--", "a b-1")
    assert (bin_directory / "calls").read_text() == (
        "conformance --target vm --image a b-1 --show 0 --baseline 6.1 --family partitions\n"
    )


@pytest.mark.parametrize("words", [(), ("--baseline", "6.1"), ("--",)])
def test_without_images_it_says_how_it_is_used(words: tuple[str, ...], bin_directory: Path) -> None:
    found = bisect(bin_directory, *words)
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr == "usage: bisect-images.sh OPTIONS -- IMAGE...\n"
