"""deploy/systemd/cgroup-engine.service, as far as systemd-analyze knows."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from cgroup_engine.cli.program import parser

UNIT = Path(__file__).parents[2] / "deploy" / "systemd" / "cgroup-engine.service"
needs_systemd = pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze")


@pytest.fixture
def unit() -> dict[str, str]:
    """Its settings; a line that ends with a backslash goes on."""
    text = UNIT.read_text().replace("\\\n", " ")
    return dict(line.split("=", 1) for line in text.splitlines() if re.match(r"[A-Za-z]+=", line))


@pytest.fixture
def runnable(tmp_path: Path) -> Path:
    """The unit with a program that is there."""
    path = tmp_path / UNIT.name
    path.write_text(UNIT.read_text().replace("/opt/cgroup-engine/bin/cgroup-engine", "/bin/true"))
    return path


def _analyze(*arguments: str | Path) -> tuple[int, str]:
    done = subprocess.run(["systemd-analyze", *map(str, arguments)], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@needs_systemd
def test_systemd_finds_nothing_wrong_with_it(runnable: Path) -> None:
    code, said = _analyze("verify", "--man=no", runnable)
    assert (code, [line for line in said.splitlines() if UNIT.name in line]) == (0, [])


@needs_systemd
def test_systemd_finds_little_exposed(runnable: Path) -> None:
    code, said = _analyze("security", "--offline=yes", "--threshold=35", runnable)
    if "unrecognized option" in said:
        pytest.skip("systemd-analyze is older than 251")
    assert code == 0, said


def test_its_command_line_is_accepted(unit: dict[str, str]) -> None:
    program, *arguments = shlex.split(unit["ExecStart"])
    assert program.endswith("/cgroup-engine")
    options = parser().parse_args(arguments)
    assert options.interval * 2 < 180  # WatchdogSec


def test_it_can_write_where_it_has_to(unit: dict[str, str]) -> None:
    assert unit["ReadWritePaths"] == "/sys/fs/cgroup"
    assert unit["ProtectControlGroups"] == "no"
    assert unit["RuntimeDirectory"] == "cgroup-engine"
    assert unit["RuntimeDirectoryPreserve"] == "yes"


def test_others_may_read_the_cgroups_that_it_makes(unit: dict[str, str]) -> None:
    assert unit["UMask"] == "0022"
