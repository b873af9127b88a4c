"""Who may see and set limits, and to which values. The answers are those of Linux 6.18."""

from __future__ import annotations

from errno import EINVAL, EPERM

import pytest

from fakecgroup.outside.resource_limits import INFINITY, check, may_access, with_file_locks

ONE, OTHER = 1234, 4321
SAME = (ONE, ONE, ONE)


@pytest.mark.parametrize(
    ("uids", "gids", "allowed"),
    [
        (SAME, SAME, True),
        ((OTHER, OTHER, OTHER), SAME, False),
        (SAME, (OTHER, OTHER, OTHER), False),
        (SAME, (ONE, OTHER, ONE), False),
        ((ONE, OTHER, ONE), SAME, False),
        ((ONE, ONE, OTHER), SAME, False),
        ((OTHER, ONE, ONE), SAME, False),
        ((OTHER, ONE, OTHER), SAME, False),
        ((ONE, OTHER, OTHER), SAME, False),
    ],
)
def test_all_ids_of_the_target_are_the_callers_real_ones(
    uids: tuple[int, ...], gids: tuple[int, ...], allowed: bool
) -> None:
    assert may_access(ONE, ONE, uids, gids, capable=False) is allowed


@pytest.mark.parametrize(("uid", "gid"), [(OTHER, ONE), (ONE, OTHER)])
def test_the_callers_effective_ids_do_not_count(uid: int, gid: int) -> None:
    assert not may_access(uid, gid, SAME, SAME, capable=False)


def test_cap_sys_resource_allows_it_for_everybody() -> None:
    others = (OTHER, OTHER, OTHER)
    assert may_access(ONE, ONE, others, others, capable=True)


@pytest.mark.parametrize(
    ("wanted", "errno"),
    [
        ((81, 80), EINVAL),
        ((70, 90), EPERM),
        ((91, 90), EINVAL),  # which is looked at first
        ((INFINITY, 80), EINVAL),
        ((70, INFINITY), EPERM),
    ],
)
def test_a_limit_that_is_refused(wanted: tuple[int, int], errno: int) -> None:
    with pytest.raises(OSError) as caught:
        check((50, 80), wanted)
    assert caught.value.errno == errno


@pytest.mark.parametrize("wanted", [(60, 80), (80, 80), (10, 20), (0, 0)])
def test_a_limit_that_is_taken(wanted: tuple[int, int]) -> None:
    check((50, 80), wanted)


def test_the_line_of_file_locks() -> None:
    rest = b"Max nice priority         0                    0                    \n"
    line = b"Max file locks            unlimited            unlimited            locks     \n"
    assert with_file_locks(line + rest, (INFINITY, INFINITY)) == line + rest
    assert (
        with_file_locks(line + rest, (70, 80))
        == line.replace(b"unlimited", b"70       ", 1).replace(b"unlimited", b"80       ") + rest
    )
