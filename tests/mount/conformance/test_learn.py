"""`fakecgroup learn`: what it writes and prints, and what it refuses before it asks anything."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from fakecgroup import Kernel
from fakecgroup.conformance import recording
from fakecgroup.conformance.ask_again import ask_again
from fakecgroup.conformance.recording import NOT_ASKED, VARIES, Recording
from fakecgroup.conformance.target_model import ModelTarget
from fakecgroup_mount.cli.program import main
from fakecgroup_mount.conformance import learn as command
from fakecgroup_mount.conformance.asked_kernel import AskedKernel, options_of


def recorded(kernel: str) -> Recording:
    whole = recording.load("v2", kernel)
    return replace(whole, cases=tuple(one for one in whole.cases if one.family == "file_sets"))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """In place of this machine's kernel, one that answers as 6.1 does."""
    answered = recorded("6.1")
    kernel = AskedKernel("6.6.6-test", frozenset({"NR_CPUS_256"}), answered.header["machine"], [answered])
    monkeypatch.setattr(command, "ask_host", lambda layouts, report: kernel)


@pytest.mark.usefixtures("asked")
def test_what_was_learnt_can_be_played(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.kernel"
    assert main(["learn", "-o", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "6.6.6-test, learnt in mine.kernel"
    assert lines[1] == "  v2: 666 operations; with the rules of 6.1, 0 are answered otherwise"
    assert Kernel(kernel=str(path)).personality.name == "6.6.6-test"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.hostile("a file to write in a directory that is not there or a name that is a directory's", times=3)
@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("mine.json", "call the file NAME.kernel, so that --kernel takes it for a file"),
        ("no/such/mine.kernel", "cannot be written: asking takes minutes, so this is looked at first"),
        ("dir.kernel", "cannot be written: asking takes minutes, so this is looked at first"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_first(
    name: str, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "dir.kernel").mkdir()
    assert main(["learn", "-o", str(tmp_path / name)]) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("fakecgroup learn: ") and line.endswith(complaint)


def test_build_options_are_read_from_the_first_file_that_is_there(tmp_path: Path) -> None:
    packed, plain = tmp_path / "config.gz", tmp_path / "config"
    packed.write_bytes(
        gzip.compress(b"CONFIG_MEMCG_V1=y\n# CONFIG_CPUSETS_V1 is not set\nCONFIG_NR_CPUS=64\nCONFIG_X=y\n")
    )
    plain.write_text("CONFIG_CPUSETS_V1=y\nCONFIG_NR_CPUS=8192\n")
    assert options_of([tmp_path / "missing", packed, plain]) == {"MEMCG_V1", "NR_CPUS_256"}
    assert options_of([plain, packed]) == {"CPUSETS_V1", "NR_CPUS_8192"}
    assert options_of([tmp_path / "missing"]) == frozenset()


@pytest.mark.hostile("a kernel's configuration that is damaged", times=1)
def test_a_damaged_configuration_is_none(tmp_path: Path) -> None:
    damaged = tmp_path / "config.gz"
    damaged.write_bytes(gzip.compress(b"CONFIG_MEMCG_V1=y\n" * 99)[:20])
    assert options_of([damaged]) == frozenset()


def test_a_target_is_asked_as_if_nobody_knew_the_answers() -> None:
    """The model of 6.12 answers the cases of 6.1's recording as 6.12 does."""
    answered = ask_again(ModelTarget("v2", "6.12"), recorded("6.1"), lambda done, of: None)
    expected = {one.case.digest: one.answers for one in recorded("6.12").cases}
    assert all(
        mine in (theirs, VARIES, NOT_ASKED) or list(mine) == list(theirs)
        for one in answered.cases
        for mine, theirs in zip(one.answers, expected[one.case.digest], strict=True)
    )
    assert len(answered.cases) == len(expected)
