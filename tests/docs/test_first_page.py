"""README.md is short, and what it says is so; the tests that pages show pass."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
README = (REPOSITORY / "README.md").read_text()
PARITY = (REPOSITORY / "docs" / "evidence" / "parity.md").read_text()
LINES_OF_A_DOOR = 8


def test_it_has_at_most_600_words() -> None:
    assert len(README.split()) <= 600


def test_a_door_has_at_most_eight_lines() -> None:
    doors = README.partition("## Four doors")[2].partition("## ")[0]
    blocks = re.findall(r"^```\w+\n(.*?)^```$", doors, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 4
    assert max(block.count("\n") for block in blocks) <= LINES_OF_A_DOOR


def test_the_test_command_stands_there() -> None:
    assert re.search(r"^scripts/test\b", README, re.MULTILINE)


def test_the_parity_table_has_the_sums_of_the_parity_page() -> None:
    sums: dict[tuple[str, str], str] = {}
    for part in PARITY.split("## cgroup ")[1:]:
        layout = part.split("\n", 1)[0]
        head, *rows = [line.strip("| ").split(" | ") for line in part.splitlines() if re.match(r"\| (what|all) ", line)]
        sums |= {(layout, kernel): cell for kernel, cell in zip(head[1:], rows[0][1:], strict=True)}
    table = README.partition("## How far it can be believed")[2].partition("## ")[0]
    head, _, *rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("|")]
    shown = {(row[0], kernel): cell for row in rows for kernel, cell in zip(head, row[1:], strict=True) if cell != "–"}
    assert shown == sums


@pytest.mark.usefixtures("fuse", "state_home")
@pytest.mark.parametrize(
    ("page", "passed"),
    [("README.md", 4), ("docs/guides/tests.md", 7), ("docs/guides/simulate.md", 1), ("docs/guides/faults.md", 2)],
)
def test_the_tests_that_a_page_shows_pass(page: str, passed: int, tmp_path: Path) -> None:
    shown = re.findall(r"^```python\n(.*?)^```$", (REPOSITORY / page).read_text(), re.MULTILINE | re.DOTALL)
    for number, block in enumerate(block for block in shown if "def test_" in block):
        (tmp_path / f"test_shown_{number}.py").write_text(block)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
    assert f"{passed} passed" in done.stdout, done.stdout
