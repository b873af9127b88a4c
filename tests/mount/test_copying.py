"""Files can be copied through the page cache: by sendfile(2) and programs that use it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import shell


@pytest.fixture
def limit(native_group: Path) -> Path:
    return native_group / "cgroup.max.descendants"


@pytest.fixture
def copy(tmp_path: Path) -> Iterator[int]:
    fd = os.open(tmp_path / "copy", os.O_RDWR | os.O_CREAT)
    yield fd
    os.close(fd)


def sent(source: int, copy: int) -> bytes:
    """What sendfile(2) copies from the position of `source` to its end."""
    start = os.lseek(copy, 0, os.SEEK_END)
    while os.sendfile(copy, source, None, 1 << 20):
        pass
    return os.pread(copy, 1 << 20, start)


def test_sendfile_after_fstat_copies_the_value(limit: Path, copy: int) -> None:
    limit.write_text("12345")
    with limit.open() as source:
        size = os.fstat(source.fileno()).st_size
        assert (size, sent(source.fileno(), copy)) == (0, b"12345\n")


def test_shutil_copies_the_value(limit: Path, tmp_path: Path) -> None:
    limit.write_text("12345")
    shutil.copyfile(limit, tmp_path / "copy")
    assert (tmp_path / "copy").read_text() == "12345\n"


@pytest.mark.parametrize("program", ["cp", "cat", "busybox cp", "busybox cat"])
def test_a_program_copies_the_value(limit: Path, tmp_path: Path, program: str) -> None:
    if shutil.which(program.split()[0]) is None:
        pytest.skip(f"there is no {program}")
    to = ">" if program.endswith("cat") else ""
    assert shell(f"{program} cgroup.max.descendants {to} {tmp_path}/copy; cat {tmp_path}/copy", limit.parent) == (
        0,
        "max\n",
        "",
    )


def test_a_copy_after_a_change_is_of_the_new_value(limit: Path, copy: int) -> None:
    with limit.open() as source:
        first = sent(source.fileno(), copy)
        limit.write_text("1234567")
        os.lseek(source.fileno(), 0, os.SEEK_SET)
        second = sent(source.fileno(), copy)
        shell("echo 1 > cgroup.max.descendants", limit.parent)
        os.lseek(source.fileno(), 0, os.SEEK_SET)
        assert (first, second, sent(source.fileno(), copy)) == (b"max\n", b"1234567\n", b"1\n")


def test_a_file_that_was_opened_with_truncation_meanwhile_is_copied(limit: Path, copy: int) -> None:
    with limit.open() as source:
        limit.open("w").close()
        assert sent(source.fileno(), copy) == b"max\n"


def test_an_empty_file_is_copied_as_such_and_then_with_what_is_in_it(native_group: Path, copy: int) -> None:
    with (native_group / "cgroup.procs").open() as source:
        empty = sent(source.fileno(), copy)
        (native_group / "cgroup.procs").write_text(str(os.getpid()))
        os.lseek(source.fileno(), 0, os.SEEK_SET)
        full = sent(source.fileno(), copy)
        (native_group.parent / "cgroup.procs").write_text(str(os.getpid()))
    assert (empty, full) == (b"", b"%d\n" % os.getpid())


def test_a_file_that_was_copied_has_the_same_inode_number(limit: Path, copy: int) -> None:
    before = limit.stat().st_ino
    with limit.open() as source:
        sent(source.fileno(), copy)
        assert {os.fstat(source.fileno()).st_ino, limit.stat().st_ino} == {before}
