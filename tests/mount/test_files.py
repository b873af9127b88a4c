from __future__ import annotations

import errno
import fcntl
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from .conftest import shell

UNKNOWN_IOCTL = 0xAF01  # _IO(0xAF, 1): without data


@pytest.fixture
def pids_max(group: Path) -> Path:
    return group / "pids.max"


def test_what_was_written_is_read(pids_max: Path) -> None:
    pids_max.write_text("77")
    assert pids_max.read_text() == "77\n"


def test_a_file_is_read_in_parts(pids_max: Path) -> None:
    pids_max.write_text("12345")
    fd = os.open(pids_max, os.O_RDONLY)
    try:
        assert [os.read(fd, 2) for _ in range(4)] == [b"12", b"34", b"5\n", b""]
    finally:
        os.close(fd)


def test_a_file_is_read_from_the_middle(pids_max: Path) -> None:
    pids_max.write_text("12345")
    fd = os.open(pids_max, os.O_RDONLY)
    try:
        assert os.pread(fd, 100, 3) == b"45\n"
    finally:
        os.close(fd)


def test_a_value_changed_meanwhile_is_seen_from_the_start_again(pids_max: Path) -> None:
    fd = os.open(pids_max, os.O_RDONLY)
    try:
        first = os.pread(fd, 100, 0)
        pids_max.write_text("5")
        assert (first, os.pread(fd, 100, 0)) == (b"max\n", b"5\n")
    finally:
        os.close(fd)


def test_a_page_is_taken_and_one_byte_more_is_too_big(pids_max: Path) -> None:
    fd = os.open(pids_max, os.O_WRONLY)
    try:
        assert os.write(fd, b"6".ljust(4096, b"\n")) == 4096
        with pytest.raises(OSError, match="Argument list too long"):
            os.write(fd, b"6".ljust(4097, b"\n"))
    finally:
        os.close(fd)


@pytest.mark.hostile("a write of up to 3 MB", times=4)
@pytest.mark.parametrize("size", [65536, 65537, 200_000, 3_000_000])
def test_a_huge_write_is_too_big_as_a_whole(pids_max: Path, size: int) -> None:
    fd = os.open(pids_max, os.O_WRONLY)
    try:
        with pytest.raises(OSError, match="Argument list too long"):
            os.write(fd, b"6".ljust(size, b"\n"))
    finally:
        os.close(fd)
    assert pids_max.read_text() == "max\n"


def test_the_offset_of_a_write_does_not_matter(pids_max: Path) -> None:
    fd = os.open(pids_max, os.O_WRONLY)
    try:
        os.pwrite(fd, b"8", 1000)
    finally:
        os.close(fd)
    assert pids_max.read_text() == "8\n"


def test_an_append_is_a_write(pids_max: Path) -> None:
    assert shell("echo 9 >> pids.max", pids_max.parent)[0] == 0
    assert pids_max.read_text() == "9\n"


def test_a_value_that_is_none_is_refused(pids_max: Path) -> None:
    with pytest.raises(OSError, match="Invalid argument"):
        pids_max.write_text("many")


def test_a_file_shows_the_size_0(pids_max: Path) -> None:
    pids_max.read_text()
    assert pids_max.stat().st_size == 0


def test_an_open_file_shows_the_size_0(pids_max: Path) -> None:
    with pids_max.open() as file:
        assert os.fstat(file.fileno()).st_size == 0


def test_cat_shows_the_value(pids_max: Path) -> None:
    assert shell("cat pids.max", pids_max.parent) == (0, "max\n", "")


@pytest.mark.skipif(shutil.which("busybox") is None, reason="no busybox")
def test_busybox_cat_shows_the_value_though_the_size_is_0(pids_max: Path) -> None:
    assert shell("stat -c %s pids.max; busybox cat pids.max", pids_max.parent) == (0, "0\nmax\n", "")


def test_cp_copies_the_value(pids_max: Path, tmp_path: Path) -> None:
    assert shell(f"cp pids.max {tmp_path}/copy", pids_max.parent)[0] == 0
    assert (tmp_path / "copy").read_text() == "max\n"


def test_cp_writes_the_value(pids_max: Path, tmp_path: Path) -> None:
    (tmp_path / "value").write_text("12\n")
    assert shell(f"cp {tmp_path}/value pids.max", pids_max.parent)[0] == 0
    assert pids_max.read_text() == "12\n"


def test_a_file_of_a_removed_cgroup_is_gone_for_who_has_it_open(group: Path) -> None:
    (group / "a").mkdir()
    fd = os.open(group / "a" / "cgroup.type", os.O_RDWR)
    try:
        (group / "a").rmdir()
        (group / "a").mkdir()
        for operation in (lambda: os.read(fd, 10), lambda: os.write(fd, b"threaded")):
            with pytest.raises(OSError) as refused:
                operation()
            assert refused.value.errno == errno.ENODEV
    finally:
        os.close(fd)


def test_a_file_of_a_removed_cgroup_can_be_asked_for_its_attributes(group: Path) -> None:
    (group / "a").mkdir()
    fd = os.open(group / "a" / "cgroup.type", os.O_RDONLY)
    try:
        before = os.fstat(fd).st_ino
        (group / "a").rmdir()
        assert os.fstat(fd).st_ino == before
    finally:
        os.close(fd)


def test_a_file_goes_with_its_controller(group: Path) -> None:
    (group / "a").mkdir()
    (group / "cgroup.subtree_control").write_text("+pids")
    assert (group / "a" / "pids.max").exists()
    (group / "cgroup.subtree_control").write_text("-pids")
    assert not (group / "a" / "pids.max").exists()


def test_an_open_directory_that_was_removed_is_empty(group: Path) -> None:
    (group / "a").mkdir()
    fd = os.open(group / "a", os.O_RDONLY)
    try:
        (group / "a").rmdir()
        assert os.listdir(fd) == []
    finally:
        os.close(fd)


def test_times_are_set_and_left(pids_max: Path) -> None:
    os.utime(pids_max, ns=(1_500_000_001_000_000_002, 1_600_000_003_000_000_004))
    subprocess.run(["touch", "-a", "-d", "@1700000000", str(pids_max)], check=True)
    found = pids_max.stat()
    assert (found.st_atime_ns, found.st_mtime_ns) == (1_700_000_000_000_000_000, 1_600_000_003_000_000_004)


def test_touch_of_a_file_sets_its_times_to_now(pids_max: Path) -> None:
    os.utime(pids_max, (0, 0))
    os.utime(pids_max)
    assert abs(pids_max.stat().st_mtime - time.time()) < 60


def test_an_attribute_is_set_listed_read_and_removed(pids_max: Path) -> None:
    os.setxattr(pids_max, "user.note", b"hello")
    assert (os.listxattr(pids_max), os.getxattr(pids_max, "user.note")) == (["user.note"], b"hello")
    os.removexattr(pids_max, "user.note")
    assert os.listxattr(pids_max) == []


def test_an_attribute_that_is_not_there_is_said_so(pids_max: Path) -> None:
    with pytest.raises(OSError, match="No data available"):
        os.getxattr(pids_max, "user.note")


def test_an_unknown_ioctl_is_refused_as_on_any_file(pids_max: Path) -> None:
    with pids_max.open() as file, pytest.raises(OSError) as refused:
        fcntl.ioctl(file, UNKNOWN_IOCTL)
    assert refused.value.errno == errno.ENOTTY


def test_fsync_of_a_file_succeeds(pids_max: Path) -> None:
    with pids_max.open("r+") as file:
        os.fsync(file.fileno())


def test_a_seek_to_the_end_goes_nowhere(pids_max: Path) -> None:
    with pids_max.open("rb", buffering=0) as file:
        assert file.seek(0, os.SEEK_END) == 0


def test_a_file_is_not_executed(pids_max: Path) -> None:
    with pytest.raises(PermissionError):
        subprocess.run([str(pids_max)], check=False)


def test_o_direct_is_refused(pids_max: Path) -> None:
    with pytest.raises(OSError, match="Invalid argument"):
        os.open(pids_max, os.O_RDONLY | os.O_DIRECT)
