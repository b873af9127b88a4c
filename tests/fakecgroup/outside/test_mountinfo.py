"""What /proc shows of a cgroup mount, from the model alone. The answers are those of booted kernels."""

from __future__ import annotations

import pytest

from fakecgroup import Kernel
from fakecgroup.outside.mountinfo import (
    escape,
    file_system,
    mounts_line,
    mountstats_line,
    options,
    shown_root,
)

LINE = b"31 24 0:27 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        ("unified", ("cgroup2", "rw,nsdelegate,memory_recursiveprot")),
        ("systemd", ("cgroup", "rw,xattr,name=systemd")),
        ("cpu,cpuacct", ("cgroup", "rw,cpu,cpuacct")),
        ("memory", ("cgroup", "rw,memory")),
    ],
)
def test_each_hierarchy_has_its_options(place: str, shown: tuple[str, str]) -> None:
    played = Kernel(layout="hybrid", kernel="6.1", mount_options="nsdelegate,memory_recursiveprot")
    by_name = {"unified" if one.dfl else one.label: one for one in played.hierarchies}
    hierarchy = by_name.get(place) or by_name[f"name={place}"]
    assert (file_system(hierarchy).decode(), options(hierarchy)) == shown


def test_a_mount_is_shown_from_the_root_of_the_readers_namespace() -> None:
    played = Kernel(layout="v2")
    played.mkdir("/a")
    cgroup = played.hierarchies[0].root
    (child,) = cgroup.descendants()
    assert shown_root(cgroup, b"/a") == b"/a"
    assert shown_root(child, b"/") == b"/.."
    assert shown_root(child, b"/a/b") == b"/b"


def test_spaces_tabs_newlines_backslashes_and_hashes_are_escaped() -> None:
    assert escape(b"a b\tc\nd\\e#") == rb"a\040b\011c\012d\134e\043"


def test_a_line_of_mounts_and_of_mountstats() -> None:
    assert mounts_line(LINE) == b"cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid,nodev,noexec,relatime,nsdelegate 0 0\n"
    assert mountstats_line(LINE) == b"device cgroup2 mounted on /sys/fs/cgroup with fstype cgroup2\n"


def test_a_mount_that_may_only_be_read_is_shown_as_one() -> None:
    assert mounts_line(LINE.replace(b" rw,nosuid", b" ro,nosuid")).split()[3].startswith(b"ro,nosuid")
