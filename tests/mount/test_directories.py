from __future__ import annotations

import ctypes
import errno
import os
import stat
from pathlib import Path

import pytest

from .conftest import shell

RENAME_NOREPLACE = 1


def test_a_new_cgroup_has_files(group: Path) -> None:
    assert "cgroup.procs" in os.listdir(group)


def test_a_cgroup_that_exists_is_not_made_again(group: Path) -> None:
    (group / "a").mkdir()
    with pytest.raises(FileExistsError):
        (group / "a").mkdir()


def test_a_cgroup_below_nothing_is_not_made(group: Path) -> None:
    with pytest.raises(FileNotFoundError):
        (group / "a" / "b").mkdir()


def test_the_name_of_a_file_is_taken(group: Path) -> None:
    with pytest.raises(FileExistsError):
        (group / "cgroup.procs").mkdir()


def test_a_file_is_no_directory(group: Path) -> None:
    with pytest.raises(NotADirectoryError):
        (group / "cgroup.procs" / "a").mkdir()


@pytest.mark.parametrize("length", [255, 256, 1024])
def test_a_name_may_be_longer_than_on_other_file_systems(group: Path, length: int) -> None:
    (group / ("n" * length)).mkdir()
    assert (group / ("n" * length) / "cgroup.procs").exists()


@pytest.mark.hostile("a cgroup with a newline in its name")
def test_a_newline_in_a_name_is_refused(group: Path) -> None:
    with pytest.raises(OSError, match="Invalid argument"):
        (group / "a\nb").mkdir()


@pytest.mark.hostile("names of blanks, backslashes and bytes of no character set", times=6)
@pytest.mark.parametrize("name", ["käse", "日本", os.fsdecode(b"\xff\xfe"), " ", "-", "a\\040b"])
def test_a_name_is_bytes(group: Path, name: str) -> None:
    (group / name).mkdir()
    assert name in os.listdir(group)


def test_a_removed_cgroup_is_gone(group: Path) -> None:
    (group / "a").mkdir()
    (group / "a").rmdir()
    assert not (group / "a").exists()


def test_a_cgroup_with_children_is_not_removed(group: Path) -> None:
    (group / "a" / "b").mkdir(parents=True)
    with pytest.raises(OSError, match="Device or resource busy"):
        (group / "a").rmdir()


def test_a_file_is_not_removed(group: Path) -> None:
    with pytest.raises(PermissionError) as refused:
        (group / "cgroup.procs").unlink()
    assert refused.value.errno == errno.EPERM


def test_a_file_is_not_removed_as_a_directory(group: Path) -> None:
    with pytest.raises(NotADirectoryError):
        (group / "cgroup.procs").rmdir()


def test_touch_makes_no_file(group: Path) -> None:
    status, _, said = shell("touch x", group)
    assert (status, said.strip()) == (1, "touch: cannot touch 'x': Permission denied")


def test_open_with_o_creat_makes_no_file(group: Path) -> None:
    with pytest.raises(PermissionError) as refused:
        os.open(group / "x", os.O_CREAT | os.O_WRONLY)
    assert refused.value.errno == errno.EACCES


def test_open_with_o_excl_of_a_file_says_that_it_exists(group: Path) -> None:
    with pytest.raises(FileExistsError):
        os.open(group / "cgroup.procs", os.O_CREAT | os.O_EXCL | os.O_WRONLY)


def test_a_symbolic_link_is_refused(group: Path) -> None:
    with pytest.raises(PermissionError) as refused:
        os.symlink("cgroup.procs", group / "x")
    assert refused.value.errno == errno.EPERM


def test_a_hard_link_is_refused(group: Path) -> None:
    with pytest.raises(PermissionError) as refused:
        os.link(group / "cgroup.procs", group / "x")
    assert refused.value.errno == errno.EPERM


def test_a_fifo_is_refused(group: Path) -> None:
    with pytest.raises(PermissionError) as refused:
        os.mkfifo(group / "x")
    assert refused.value.errno == errno.EPERM


def test_the_unified_hierarchy_renames_nothing(group: Path) -> None:
    (group / "a").mkdir()
    with pytest.raises(PermissionError) as refused:
        (group / "a").rename(group / "b")
    assert refused.value.errno == errno.EPERM


def test_rename_noreplace_of_an_existing_name_says_so(group: Path) -> None:
    (group / "a").mkdir()
    (group / "b").mkdir()
    libc = ctypes.CDLL(None, use_errno=True)
    status = libc.renameat2(-100, os.fsencode(group / "a"), -100, os.fsencode(group / "b"), RENAME_NOREPLACE)
    assert (status, ctypes.get_errno()) == (-1, errno.EEXIST)


def test_v1_renames_a_cgroup_within_its_parent(cpu_group: Path) -> None:
    (cpu_group / "a").mkdir()
    (cpu_group / "a").rename(cpu_group / "b")
    assert (cpu_group / "b" / "cpu.shares").exists()
    assert not (cpu_group / "a").exists()


def test_v1_renames_no_cgroup_out_of_its_parent(cpu_group: Path) -> None:
    (cpu_group / "a").mkdir()
    (cpu_group / "b").mkdir()
    with pytest.raises(OSError, match="Input/output error"):
        (cpu_group / "a").rename(cpu_group / "b" / "a")


def test_v1_keeps_its_inode_when_renamed(cpu_group: Path) -> None:
    (cpu_group / "a").mkdir()
    before = (cpu_group / "a").stat().st_ino
    (cpu_group / "a").rename(cpu_group / "b")
    assert (cpu_group / "b").stat().st_ino == before


def test_cpu_and_cpuacct_are_links_to_their_common_directory(v1: Path) -> None:
    assert [os.readlink(v1 / name) for name in ("cpu", "cpuacct")] == ["cpu,cpuacct", "cpu,cpuacct"]


def test_a_cgroup_is_the_same_through_both_links(v1: Path, cpu_group: Path) -> None:
    assert (v1 / "cpu" / cpu_group.name).stat().st_ino == (v1 / "cpuacct" / cpu_group.name).stat().st_ino


def test_the_top_of_v1_takes_no_cgroup(v1: Path) -> None:
    with pytest.raises(OSError, match="Read-only file system"):
        (v1 / "x").mkdir()


def test_the_kinds_in_a_listing_are_those_of_stat(v1: Path, cpu_group: Path) -> None:
    for directory in (v1, cpu_group):
        for entry in os.scandir(directory):
            kinds = (entry.is_dir(follow_symlinks=False), entry.is_file(follow_symlinks=False), entry.is_symlink())
            mode = os.lstat(entry).st_mode
            assert kinds == (stat.S_ISDIR(mode), stat.S_ISREG(mode), stat.S_ISLNK(mode))


def test_the_inode_numbers_in_a_listing_are_those_of_stat(group: Path) -> None:
    for entry in os.scandir(group):
        assert entry.inode() == entry.stat().st_ino


def test_a_listing_begins_anew_after_rewinddir(group: Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.fdopendir.restype = ctypes.c_void_p
    libc.readdir.restype = ctypes.c_void_p
    stream = libc.fdopendir(os.open(group, os.O_RDONLY))

    def names() -> int:
        number = 0
        while libc.readdir(ctypes.c_void_p(stream)):
            number += 1
        return number

    try:
        before = names()
        (group / "a").mkdir()
        libc.rewinddir(ctypes.c_void_p(stream))
        assert names() == before + 1
    finally:
        libc.closedir(ctypes.c_void_p(stream))


def test_a_listing_after_its_end_is_empty(group: Path) -> None:
    fd = os.open(group, os.O_RDONLY)
    try:
        os.lseek(fd, 0x7FFFFFFF, os.SEEK_SET)
        buffer = ctypes.create_string_buffer(4096)
        assert ctypes.CDLL(None, use_errno=True).getdents64(fd, buffer, 4096) == 0
    finally:
        os.close(fd)


def test_ten_thousand_children_are_all_listed(group: Path) -> None:
    wanted = {f"child{number}" for number in range(10_000)}
    for name in wanted:
        os.mkdir(group / name)
    listed = [name for name in os.listdir(group) if name.startswith("child")]
    assert (len(listed), set(listed)) == (10_000, wanted)


def test_children_removed_while_listing_hide_none(group: Path) -> None:
    for number in range(1000):
        os.mkdir(group / f"child{number}")
    with os.scandir(group) as entries:
        for entry in entries:
            if entry.is_dir():
                os.rmdir(entry.path)
    assert not [name for name in os.listdir(group) if name.startswith("child")]


def test_statfs_knows_how_long_a_name_may_be(group: Path) -> None:
    assert os.statvfs(group).f_namemax == 255


def test_a_link_counts_its_children(group: Path) -> None:
    (group / "a").mkdir()
    (group / "b").mkdir()
    assert group.stat().st_nlink == 4


def test_a_directory_takes_no_fsync(group: Path) -> None:
    fd = os.open(group, os.O_RDONLY)
    try:
        with pytest.raises(OSError, match="Invalid argument"):
            os.fsync(fd)
    finally:
        os.close(fd)


def test_a_directory_that_was_looked_at_shows_what_is_set_then(group: Path) -> None:
    place = group / "looked-at"
    place.mkdir()
    for seconds, mode in ((1, 0o755), (2, 0o751), (3, 0o755)):
        os.utime(place, (seconds, seconds))
        place.chmod(mode)
        os.listdir(place)
        for _ in range(2):
            found = place.stat()
            assert (found.st_atime, found.st_mtime, stat.S_IMODE(found.st_mode)) == (seconds, seconds, mode)
            os.listdir(place)
