"""What a booted kernel says of itself."""

from __future__ import annotations

import gzip

import pytest

from fakecgroup_mount.vm.asking import AnsweredCase
from fakecgroup_mount.vm.survey import read_survey, survey_case
from fakecgroup_mount.vm.wire import RawCase

RELEASE, FILESYSTEMS, CONTROLLERS, PARTITIONS = (
    "6.8.0-1-generic\n",
    "nodev\tcgroup\nnodev\tcgroup2\n\text4\n",
    "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpuset\t0\t1\t1\npids\t0\t1\t1\n",
    "major minor  #blocks  name\n\n 259        0      65536 nvme0n1\n 259        1      65536 nvme1n1\n",
)


def answered(*texts: str | None) -> AnsweredCase:
    answers = [("ENOENT@open", None) if text is None else (None, text) for text in texts]
    return AnsweredCase(survey_case("v2"), RawCase({}, list(answers), "ok"))


def test_a_survey_has_the_release_the_layouts_and_the_disks() -> None:
    zipped = gzip.compress(b"CONFIG_CGROUPS=y\n").decode("utf-8", "surrogateescape")
    found = read_survey(answered(RELEASE, FILESYSTEMS, CONTROLLERS, PARTITIONS, zipped))
    assert (found.release, found.version) == ("6.8.0-1-generic", (6, 8))
    assert found.controllers == {"cpuset", "pids"}
    assert found.block_devices == {"259:0", "259:1"}
    assert found.configuration == "CONFIG_CGROUPS=y\n"
    assert all(map(found.has_layout, ("v1", "v2", "hybrid")))


def test_a_kernel_without_cgroup_v1_has_only_v2() -> None:
    found = read_survey(answered(RELEASE, "nodev\tcgroup2\n", None, PARTITIONS, None))
    assert [layout for layout in ("v1", "v2", "hybrid") if found.has_layout(layout)] == ["v2"]


@pytest.mark.parametrize("texts", [(), (None,) * 5, ("",) * 5, ("x", "\n\n", "\n", "a\nb\nc\nd", "junk")])
def test_what_cannot_be_read_counts_as_empty(texts: tuple[str | None, ...]) -> None:
    found = read_survey(answered(*texts))
    assert (found.version, found.configuration) == ((0, 0), "")
    assert not found.controllers | found.block_devices
