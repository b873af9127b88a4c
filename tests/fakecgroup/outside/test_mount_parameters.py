"""Which options a kernel takes for a cgroup mount, and which hierarchy they name, as booted kernels answer."""

from __future__ import annotations

import errno

import pytest

from fakecgroup import Kernel
from fakecgroup.outside.mount_parameters import MountOptions, hierarchy_named, hierarchy_to_mount
from fakecgroup.outside.subsystems import bound


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ("pids", "rw,pids"),
        ("cpu", errno.EBUSY),
        ("cpuacct,cpu", "rw,cpu,cpuacct"),
        ("none,name=systemd", "rw,xattr,name=systemd"),
        ("name=systemd", "rw,xattr,name=systemd"),
        ("systemd", errno.EINVAL),
        ("all", errno.EBUSY),
        ("memory,pids", errno.EBUSY),
        ("bogus", errno.EINVAL),
    ],
)
def test_mounts_of_v1_are_by_what_they_name(options: str, shown: str | int) -> None:
    hierarchies = Kernel(layout="v1", kernel="6.1").hierarchies
    if isinstance(shown, int):
        with pytest.raises(OSError) as caught:
            hierarchy_named(hierarchies, options.split(","), bound(hierarchies), inside=False)
        assert caught.value.errno == shown
    else:
        found = hierarchy_named(hierarchies, options.split(","), bound(hierarchies), inside=False)
        assert found is not None
        assert found.label == shown.removeprefix("rw,").removeprefix("xattr,")


@pytest.mark.parametrize("options", ["cpu", "memory,pids", "all", "none,name=new"])
def test_in_a_cgroup_namespace_no_hierarchy_is_made(options: str) -> None:
    hierarchies = Kernel(layout="v1", kernel="6.1").hierarchies
    assert hierarchy_named(hierarchies, options.split(","), bound(hierarchies), inside=True) is None  # which is EPERM


def options_of(layout: str, kernel: str) -> MountOptions:
    played = Kernel(layout=layout, kernel=kernel)
    return MountOptions(played.hierarchies, played.personality)


@pytest.mark.parametrize(
    ("name", "value", "given", "answer"),
    [
        ("ro", "anything", (), None),
        ("pids", None, (), "pids"),
        ("pids", "any", (), "pids"),
        ("name", "own", (), "name=own"),
        ("name", "own", ("name=other",), errno.EINVAL),
        ("name", "no/such", (), errno.EINVAL),
        ("name", None, (), errno.EINVAL),
        ("release_agent", "/agent", (), "release_agent=/agent"),
        ("xattr", None, (), "xattr"),
        ("xattr", "1", (), errno.EINVAL),
        ("all", None, (), "all"),
        ("bogus", None, (), errno.EINVAL),
        ("nsdelegate", None, (), errno.EINVAL),
        ("source", "mine", (), "source=mine"),
        ("source", "mine", ("source=other",), errno.EINVAL),
    ],
)
def test_options_of_v1_are_taken_one_by_one(
    name: str, value: str | None, given: tuple[str, ...], answer: str | int | None
) -> None:
    options = options_of("v1", "6.1")
    if isinstance(answer, int):
        with pytest.raises(OSError) as caught:
            options.parse(False, name, value, given)
        assert caught.value.errno == answer
    else:
        assert options.parse(False, name, value, given) == answer


@pytest.mark.parametrize(
    ("kernel", "known"),
    [
        ("5.10", {"nsdelegate", "memory_localevents", "memory_recursiveprot"}),
        ("6.1", {"nsdelegate", "favordynmods", "memory_localevents", "memory_recursiveprot"}),
    ],
)
def test_options_of_v2_are_those_of_the_kernel(kernel: str, known: set[str]) -> None:
    assert set(options_of("v2", kernel).unified) == known


def test_an_option_of_v2_has_no_value() -> None:
    options = options_of("v2", "6.12")
    assert options.parse(True, "nsdelegate", None, ()) == "nsdelegate"
    with pytest.raises(OSError, match="Invalid argument"):
        options.parse(True, "nsdelegate", "1", ())


@pytest.mark.parametrize(
    ("data", "outside", "inside"),
    [
        ("bogus", errno.EINVAL, errno.EINVAL),
        ("pids", errno.EPERM, "pids"),
        ("name=a/b", errno.EINVAL, errno.EINVAL),
        ("name=new", errno.EPERM, errno.EINVAL),
        ("none,name=new", errno.EPERM, errno.EPERM),
        ("none", errno.EPERM, errno.EINVAL),
        ("", errno.EPERM, errno.EPERM),
        ("pids,memory", errno.EPERM, errno.EPERM),
        ("pids,all", errno.EPERM, errno.EINVAL),
        ("name=a,name=b", errno.EINVAL, errno.EINVAL),
        ("pids=5", errno.EPERM, "pids"),
        ("xattr=1", errno.EINVAL, errno.EINVAL),
        ("ro,,pids", errno.EPERM, "pids"),
        ("source=x,pids", errno.EINVAL, errno.EINVAL),
    ],
)
def test_the_options_are_looked_at_before_the_owner_of_the_cgroup_namespace(
    data: str, outside: int, inside: int | str
) -> None:
    hierarchies = Kernel(layout="v1", kernel="6.1").hierarchies
    known = options_of("v1", "6.1")

    def found(*, owned: bool) -> int | str | None:
        try:
            options = known.parse_data(False, data, ())
            return hierarchy_to_mount(hierarchies, known, options, unified=False, owned=owned, inside=True).label
        except OSError as error:
            return error.errno

    assert (found(owned=False), found(owned=True)) == (outside, inside)


def test_the_unified_hierarchy_is_mounted_where_the_cgroup_namespace_is_owned() -> None:
    v2, v1 = (Kernel(layout=layout, kernel="6.1").hierarchies for layout in ("v2", "v1"))
    known = options_of("v2", "6.1")
    assert hierarchy_to_mount(v2, known, (), unified=True, owned=True, inside=True) is v2[0]
    for hierarchies, owned in ((v2, False), (v1, True)):
        with pytest.raises(PermissionError):
            hierarchy_to_mount(hierarchies, known, (), unified=True, owned=owned, inside=True)
    with pytest.raises(OSError, match="Invalid argument"):
        known.parse_data(True, "bogus", ())
