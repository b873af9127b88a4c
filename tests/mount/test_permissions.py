"""Several users in a tree that root has mounted."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from .conftest import OTHER_UID, needs_root, shell

pytestmark = needs_root

THIRD_UID = OTHER_UID + 1
GROUP = OTHER_UID + 2


def test_another_user_reads(group: Path) -> None:
    assert shell("cat pids.max", group, OTHER_UID) == (0, "max\n", "")


@pytest.mark.hostile("another user writes a file of root's")
def test_another_user_does_not_write(group: Path) -> None:
    status, _, said = shell("echo 1 > pids.max", group, OTHER_UID)
    assert status != 0
    assert "Permission denied" in said


@pytest.mark.hostile("another user makes a cgroup in root's")
def test_another_user_makes_no_cgroup(group: Path) -> None:
    status, _, said = shell("mkdir a", group, OTHER_UID)
    assert (status, said.rstrip().rpartition(": ")[2]) == (1, "Permission denied")


@pytest.mark.hostile("another user removes root's cgroup")
def test_another_user_removes_no_cgroup(group: Path) -> None:
    (group / "a").mkdir()
    status, _, said = shell("rmdir a", group, OTHER_UID)
    assert (status, said.rstrip().rpartition(": ")[2]) == (1, "Permission denied")


def test_the_owner_of_a_directory_makes_cgroups_in_it(group: Path) -> None:
    os.chown(group, OTHER_UID, OTHER_UID)
    assert shell("mkdir a && rmdir a", group, OTHER_UID) == (0, "", "")


def test_a_cgroup_belongs_to_whoever_makes_it(group: Path) -> None:
    os.chown(group, OTHER_UID, OTHER_UID)
    assert shell("mkdir a", group, OTHER_UID)[0] == 0
    found = (group / "a").stat()
    procs = (group / "a" / "cgroup.procs").stat()
    assert (found.st_uid, found.st_gid, procs.st_uid) == (OTHER_UID, OTHER_UID, OTHER_UID)


def test_the_umask_counts_for_a_new_cgroup(group: Path) -> None:
    assert shell("umask 027; mkdir a; stat -c %a a", group) == (0, "750\n", "")


@pytest.mark.hostile("another user reads below a directory of mode 0700")
def test_a_directory_without_search_permission_hides_what_is_in_it(group: Path) -> None:
    (group / "a").mkdir(mode=0o700)
    status, _, said = shell("cat a/cgroup.procs", group, OTHER_UID)
    assert (status, said.rstrip().rpartition(": ")[2]) == (1, "Permission denied")


def test_a_directory_without_read_permission_is_not_listed(group: Path) -> None:
    (group / "a").mkdir()
    (group / "a").chmod(0o711)
    status, _, said = shell("ls a", group, OTHER_UID)
    assert (status, said.rstrip().rpartition(": ")[2]) == (2, "Permission denied")


def test_a_directory_without_search_permission_is_not_entered(group: Path) -> None:
    (group / "a").mkdir()
    (group / "a").chmod(0o600)
    status, _, said = shell("cd a", group, OTHER_UID)
    assert status != 0
    assert "can't cd" in said or "Permission denied" in said


def test_a_supplementary_group_counts(group: Path) -> None:
    os.chown(group / "pids.max", 0, GROUP)
    (group / "pids.max").chmod(0o664)
    assert shell("echo 7 > pids.max", group, OTHER_UID, groups=(GROUP,))[0] == 0
    assert shell("echo 8 > pids.max", group, OTHER_UID)[0] != 0
    assert (group / "pids.max").read_text() == "7\n"


def test_an_open_file_is_written_by_whoever_gets_it(group: Path) -> None:
    fd = os.open(group / "pids.max", os.O_WRONLY)
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setresgid(OTHER_UID, OTHER_UID, OTHER_UID)
            os.setresuid(OTHER_UID, OTHER_UID, OTHER_UID)
            os.write(fd, b"6")
            os._exit(0)
        finally:
            os._exit(1)
    os.close(fd)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert (group / "pids.max").read_text() == "6\n"


@pytest.mark.hostile("another user changes a mode")
def test_only_the_owner_changes_the_mode(group: Path) -> None:
    os.chown(group / "pids.max", OTHER_UID, OTHER_UID)
    assert shell("chmod 600 pids.max", group, THIRD_UID)[0] == 1
    assert shell("chmod 600 pids.max", group, OTHER_UID)[0] == 0
    assert (group / "pids.max").stat().st_mode & 0o7777 == 0o600


@pytest.mark.hostile("another user gives a file away")
def test_only_root_gives_a_file_away(group: Path) -> None:
    os.chown(group / "pids.max", OTHER_UID, OTHER_UID)
    status, _, said = shell(f"chown {THIRD_UID} pids.max", group, OTHER_UID)
    assert (status, said.rstrip().rpartition(": ")[2]) == (1, "Operation not permitted")


def test_access_answers_for_the_real_user(group: Path) -> None:
    script = "test -r pids.max && echo reads; test -w pids.max || echo 'writes not'"
    assert shell(script, group, OTHER_UID) == (0, "reads\nwrites not\n", "")


def test_root_opens_what_its_mode_forbids(group: Path) -> None:
    (group / "pids.max").chmod(0)
    assert (group / "pids.max").read_text() == "max\n"


@pytest.mark.hostile("another user lists trusted attributes")
def test_a_trusted_attribute_is_roots(group: Path) -> None:
    os.setxattr(group, "trusted.note", b"x")
    assert os.getxattr(group, "trusted.note") == b"x"
    script = "import os; print(os.listxattr('.'))"
    assert shell(f'python3 -c "{script}"', group, OTHER_UID)[1] == "[]\n"


@pytest.mark.hostile("a write through a descriptor for reading")
def test_another_user_opens_a_file_for_reading_and_does_not_write_it(group: Path) -> None:
    with (group / "pids.max").open() as file, pytest.raises(OSError) as refused:
        os.write(file.fileno(), b"1")
    assert refused.value.errno == errno.EBADF
