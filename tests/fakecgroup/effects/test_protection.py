"""What memory.min and memory.low protect."""

from __future__ import annotations

from fakecgroup.effects.protection import effective_protection


def _effective(usage: int, setting: int, siblings: int, *, parent: int = 50, recursive: bool = False) -> int:
    return effective_protection(
        usage=usage,
        setting=setting,
        parent_usage=100,
        parent_effective=parent,
        siblings_protected=siblings,
        recursive=recursive,
    )


def test_a_cgroup_is_protected_up_to_its_setting() -> None:
    assert _effective(usage=40, setting=30, siblings=30) == 30


def test_a_cgroup_that_uses_less_than_its_setting_is_protected_whole() -> None:
    assert _effective(usage=20, setting=30, siblings=20) == 20


def test_siblings_that_claim_more_than_the_parent_has_get_parts_of_it() -> None:
    assert _effective(usage=60, setting=60, siblings=100) == 30


def test_what_the_siblings_leave_protects_nothing_without_memory_recursiveprot() -> None:
    assert _effective(usage=60, setting=0, siblings=0) == 0


def test_what_the_siblings_leave_is_divided_by_unprotected_usage_with_memory_recursiveprot() -> None:
    assert _effective(usage=60, setting=0, siblings=0, recursive=True) == 30


def test_a_cgroup_below_its_setting_gets_nothing_of_what_is_left() -> None:
    assert _effective(usage=20, setting=30, siblings=20, recursive=True) == 20
