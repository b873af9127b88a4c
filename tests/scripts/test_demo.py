"""scripts/demo: its length, that nothing is warned of, and that the picture of it is current."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from cgroup_engine.cli import main
from demonstration import story
from demonstration.shell import ProcessShell
from terminal_picture import shown

REPOSITORY = Path(__file__).resolve().parents[2]
PICTURE = REPOSITORY / "docs" / "demo.svg"
EXAMPLES = ("three-pods", "reserved")


@pytest.fixture(scope="module")
def demo() -> subprocess.CompletedProcess[str]:
    """What the command prints here, on mounted trees or, where nothing can be mounted, on the model."""
    return subprocess.run([REPOSITORY / "scripts" / "demo"], capture_output=True, text=True, check=False)


def told_on_the_model(directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.chdir(directory)
    Path("examples").symlink_to(REPOSITORY / "examples")
    story.tell(ProcessShell(story.TREES), coloured=False)
    out, err = capsys.readouterr()
    assert err == ""
    return out


def test_the_demo_ends_well_and_warns_of_nothing(demo: subprocess.CompletedProcess[str]) -> None:
    assert demo.returncode == 0, demo.stderr
    assert "warning" not in demo.stdout + demo.stderr


def test_the_demo_fits_on_a_screen(demo: subprocess.CompletedProcess[str]) -> None:
    lines = demo.stdout.splitlines()
    assert len(lines) <= 60
    assert max(map(len, lines)) <= 100


def test_the_demo_has_four_parts(demo: subprocess.CompletedProcess[str]) -> None:
    parts = [line.partition(":")[0] for line in demo.stdout.splitlines() if line[:1].isdigit() and line[1:2] == "."]
    assert parts == ["1. Refused", "2. Clamped", "3. Applied", "4. Shared out"]


def test_the_picture_shows_what_the_demo_prints(demo: subprocess.CompletedProcess[str]) -> None:
    lines = demo.stdout.splitlines(keepends=True)
    story_lines = lines[1:] if lines[0].startswith("No mount here") else lines
    assert shown.of_svg(PICTURE.read_text()) == shown.of_terminal("".join(story_lines))


def test_without_a_mount_the_model_tells_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = told_on_the_model(tmp_path, monkeypatch, capsys)
    assert shown.of_svg(PICTURE.read_text()) == shown.of_terminal(told)


def test_a_long_reason_not_to_mount_fits_on_a_line() -> None:
    line = story.without_mount("/dev/fuse: Permission denied: " + "its mode must let you read and write " * 4)
    assert line.startswith("No mount here, so the model answers, in this process: /dev/fuse: Permission denied")
    assert len(line) <= 100


def test_a_command_that_prints_something_else_ends_the_story() -> None:
    class Silent:
        def type(self, line: str) -> str:
            return ""

    with pytest.raises(story.UnexpectedError, match="Invalid argument"):
        story.tell(Silent(), coloured=False)


def test_the_picture_fetches_nothing() -> None:
    assert "url(http" not in PICTURE.read_text()
    assert "@import" not in PICTURE.read_text()


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_are_warned_of_by_nobody(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    node = ["--cpus", "8", "--memory", "8Gi", "--config", str(REPOSITORY / "examples" / f"{name}.kubelet.yaml")]
    assert main(["explain", *node, str(REPOSITORY / "examples" / f"{name}.yaml")]) == 0
    assert capsys.readouterr().err == ""
