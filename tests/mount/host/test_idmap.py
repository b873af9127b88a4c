from __future__ import annotations

import os

from fakecgroup_mount.host.idmap import IdMap


def no_files(descriptor: int) -> object:
    return None


def test_root_sees_ids_as_they_are() -> None:
    ids = IdMap(0, 0)
    assert ids.caller(1000, 100, 1, no_files)[:3] == (1000, 100, 1)
    assert ids.shown_uid.get(0, 0) == 0


def test_another_mounter_plays_root() -> None:
    assert IdMap(1000, 100).caller(1000, 100, 1, no_files)[:2] == (0, 0)


def test_root_is_root_in_the_mount_of_another() -> None:
    assert IdMap(1000, 100).caller(0, 0, 1, no_files)[:2] == (0, 0)


def test_a_third_user_stays_who_they_are() -> None:
    assert IdMap(1000, 100).caller(2000, 200, 1, no_files)[:2] == (2000, 200)


def test_what_belongs_to_root_is_shown_as_the_mounters() -> None:
    ids = IdMap(1000, 100)
    assert (ids.shown_uid[0], ids.shown_gid[0]) == (1000, 100)


def test_supplementary_groups_come_from_the_calling_process() -> None:
    assert set(IdMap(0, 0).caller(1000, 100, os.getpid(), no_files).groups()) == set(os.getgroups())


def test_a_caller_that_is_gone_has_no_supplementary_groups() -> None:
    assert not IdMap(0, 0).caller(1000, 100, 2**22 + 1, no_files).groups()
