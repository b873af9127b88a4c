"""Operations that a plain user's mount cannot answer."""

from __future__ import annotations

from fakecgroup.conformance.case import Case
from fakecgroup_mount.conformance import needs_root


def test_what_follows_a_change_of_user_needs_root() -> None:
    ops = (("mkdir", "a"), ("stat", "a"), ("as", 1000, 1000), ("mkdir", "b"), ("stat", "b"))
    others = {"tell the owner, which is root": 1, "act as another user": 3}
    assert needs_root.counted([Case("c", "v2", ops)]) == others


def test_a_change_of_user_in_another_process_counts_too() -> None:
    ops = (("fork", "x"), ("in", "x", "as", 1000, 1000), ("in", "x", "mkdir", "a"))
    assert needs_root.counted([Case("c", "v2", ops)]) == {"act as another user": 2}


def test_a_trusted_attribute_needs_root_and_a_users_does_not() -> None:
    ops = (("setxattr", ".", "trusted.a", "1"), ("setxattr", ".", "user.a", "1"), ("listxattr", "."))
    assert needs_root.counted([Case("c", "v2", ops)]) == {"see trusted attributes": 2}


def test_most_operations_need_no_root() -> None:
    assert not needs_root.counted([Case("c", "v2", (("mkdir", "a"), ("write", "a/pids.max", "1"), ("rmdir", "a")))])


def test_who_need_not_change_can_act_as_all_that_are_named() -> None:
    assert needs_root.acts_as_others([Case("c", "v2", (("mkdir", "a"),))])
