"""The command line of `fakecgroup run`."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from fakecgroup.machine.machine import HUGE_PAGES
from fakecgroup_mount.run import command


def huge_pages(*arguments: str) -> object:
    parser = argparse.ArgumentParser()
    command.add_options(parser)
    return parser.parse_args([*arguments, "true"]).hugepages


def test_there_are_files_for_the_huge_pages_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "HUGE_PAGES_OF_MACHINE", tmp_path)
    assert huge_pages() == {*HUGE_PAGES}
    for kib in (64, 2048, 524288):  # the last is of no size that is known
        (tmp_path / f"hugepages-{kib}kB").mkdir()
    assert huge_pages() == {*HUGE_PAGES, 64 << 10}
    assert huge_pages("--hugepages", "2Mi=0") == {2 << 20}
