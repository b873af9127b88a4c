"""What the guest is sent."""

from __future__ import annotations

import os

from fakecgroup.conformance.case import Case
from fakecgroup_mount.vm.wire import encode_case, open_flags


def test_flags_of_open_are_the_numbers_of_the_guests_architecture() -> None:
    flags = os.O_RDWR | os.O_CREAT | os.O_DIRECTORY | os.O_NOFOLLOW
    assert open_flags(flags, "amd64") == 0o2 | 0o100 | 0o200000 | 0o400000
    assert open_flags(flags, "arm64") == 0o2 | 0o100 | 0o40000 | 0o100000


def test_a_case_has_them_also_where_a_helper_opens() -> None:
    case = Case("c", "v2", (("in", "w", "open", "h", "a", "O_RDONLY|O_DIRECTORY"),))
    assert str(0o40000).encode() in encode_case(case, "arm64")
    assert str(0o40000).encode() not in encode_case(case, "amd64")
