"""What a booted kernel says of itself: a case that is asked beside the others."""

from __future__ import annotations

import gzip
import re
import zlib
from dataclasses import dataclass

from fakecgroup.conformance.case import Case
from fakecgroup_mount.vm.asking import AnsweredCase

_RELEASE = "/proc/sys/kernel/osrelease"
_FILESYSTEMS = "/proc/filesystems"
_CONTROLLERS = "/proc/cgroups"
_PARTITIONS = "/proc/partitions"
_CONFIGURATION = "/proc/config.gz"
_LAYOUT_NEEDS = {"v2": {"cgroup2"}, "v1": {"cgroup"}, "hybrid": {"cgroup", "cgroup2"}}


@dataclass(frozen=True)
class Survey:
    """``release``: as uname -r has it; ``filesystems`` that it knows; ``controllers`` of /proc/cgroups;
    ``block_devices``: MAJOR:MINOR of the machine's disks; ``configuration``: the text of /proc/config.gz, "" if the
    kernel does not have that.
    """

    release: str
    filesystems: frozenset[str]
    controllers: frozenset[str]
    block_devices: frozenset[str]
    configuration: str

    @property
    def version(self) -> tuple[int, int]:
        """(6, 12) for 6.12.117+deb13-cloud-amd64; (0, 0) for a release that does not begin with two numbers."""
        found = re.match(r"(\d{1,4})\.(\d{1,4})", self.release)
        return (int(found[1]), int(found[2])) if found else (0, 0)

    def has_layout(self, layout: str) -> bool:
        """Whether the kernel has the file systems of a layout."""
        return self.filesystems >= _LAYOUT_NEEDS[layout]


def survey_case(layout: str) -> Case:
    """The case to ask."""
    files = (_RELEASE, _FILESYSTEMS, _CONTROLLERS, _PARTITIONS, _CONFIGURATION)
    return Case("survey", layout, tuple(("read", file) for file in files))


def read_survey(answered: AnsweredCase) -> Survey:
    """What the answers to the case say. A file that could not be read counts as empty."""
    texts = {
        str(op[1]): str(value or "") for op, (_, value) in zip(answered.case.ops, answered.answers(), strict=False)
    }
    disks = [line.split() for line in texts.get(_PARTITIONS, "").splitlines()[2:]]
    return Survey(
        release=texts.get(_RELEASE, "").strip(),
        filesystems=frozenset(line.split()[-1] for line in texts.get(_FILESYSTEMS, "").splitlines() if line.split()),
        controllers=frozenset(line.split()[0] for line in texts.get(_CONTROLLERS, "").splitlines()[1:] if line.split()),
        block_devices=frozenset(f"{disk[0]}:{disk[1]}" for disk in disks if len(disk) > 3),
        configuration=_unzipped(texts.get(_CONFIGURATION, "")),
    )


def _unzipped(text: str) -> str:
    try:
        return gzip.decompress(text.encode("utf-8", "surrogateescape")).decode("utf-8", "replace")
    except (OSError, EOFError, zlib.error, UnicodeEncodeError):
        return ""
