"""scripts/hostile: what the tests' markers say, as a page that is current."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with the program and a directory for tests."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "tests").mkdir()
    for name in ("hostile_page.py", "generated_page.py"):
        shutil.copy(SCRIPTS / name, tmp_path / "scripts")
    return tmp_path


def hostile(checkout: Path, *arguments: str) -> tuple[int, str]:
    """Exit status and stderr of the program."""
    command = [sys.executable, str(checkout / "scripts" / "hostile_page.py"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def rows(checkout: Path) -> list[str]:
    text = (checkout / "docs" / "evidence" / "hostile.md").read_text()
    return [line for line in text.splitlines() if line.startswith("|")][2:]


def test_each_marker_is_a_row_sorted_by_its_test(checkout: Path) -> None:
    (checkout / "tests" / "test_b.py").write_text("""
import pytest

@pytest.mark.hostile("a name with | in it")
def test_name() -> None: ...

class TestAll:
    @pytest.mark.root
    @pytest.mark.hostile("a text "
                         "in two parts", times=1_000)
    @pytest.mark.hostile("another thing", times=2)
    def test_parts(self) -> None: ...
""")
    (checkout / "tests" / "test_a.py").write_text("""
import pytest

@pytest.mark.parametrize("path", [pytest.param("..", marks=pytest.mark.hostile("a path upwards"))])
def test_path(path: str) -> None: ...
""")
    assert hostile(checkout) == (0, "")
    assert rows(checkout) == [
        "| a path upwards | 1 | `tests/test_a.py::test_path` | nothing |",
        "| a text in two parts | 1000 | `tests/test_b.py::TestAll::test_parts` | nothing |",
        "| another thing | 2 | `tests/test_b.py::TestAll::test_parts` | nothing |",
        "| a name with \\| in it | 1 | `tests/test_b.py::test_name` | nothing |",
    ]


def test_check_says_whether_the_page_is_current(checkout: Path) -> None:
    stale = (1, "hostile: docs/evidence/hostile.md is not current: run scripts/hostile and commit it\n")
    assert hostile(checkout, "--check") == stale
    assert hostile(checkout) == (0, "")
    assert hostile(checkout, "--check") == (0, "")
    (checkout / "tests" / "test_a.py").write_text('@pytest.mark.hostile("it")\ndef test_it() -> None: ...\n')
    assert hostile(checkout, "--check") == stale


@pytest.mark.parametrize(
    ("marker", "why"),
    [
        ('@pytest.mark.hostile("it", times=COUNT)', "hostile takes times=N, a whole number from 1 up, written out"),
        ('@pytest.mark.hostile("it", times=0)', "hostile takes times=N, a whole number from 1 up, written out"),
        ('@pytest.mark.hostile("it", often=3)', "hostile takes times=N, a whole number from 1 up, written out"),
        ("@pytest.mark.hostile(WHAT)", "hostile takes one text, what was tried, written out"),
        ("@pytest.mark.hostile()", "hostile takes one text, what was tried, written out"),
        ("@pytest.mark.hostile", "write @pytest.mark.hostile(TRIED, times=N) at the test itself"),
        ('pytestmark = pytest.mark.hostile("it")', "write @pytest.mark.hostile(TRIED, times=N) at the test itself"),
    ],
)
def test_a_marker_that_cannot_be_read_is_named_with_its_line(checkout: Path, marker: str, why: str) -> None:
    (checkout / "tests" / "test_a.py").write_text(f"{marker}\ndef test_it() -> None: ...\n")
    assert hostile(checkout) == (1, f"hostile: tests/test_a.py:1: {why}\n")
