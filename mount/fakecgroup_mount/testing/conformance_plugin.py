"""The pytest plugin of ``pytest --pyargs fakecgroup.conformance``: its options, and the file that has the cases.

pytest loads it in every project of an environment with this package. So the cases are imported when they are asked for.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

_SUITE = ("fakecgroup", "conformance", "suite.py")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("fakecgroup conformance", "the recorded cases: pytest --pyargs fakecgroup.conformance")
    group.addoption(
        "--cgroup-target",
        default="model",
        metavar="model|DIR|host|vm",
        help="what answers: model (default), the model in each process; DIR, an empty fakecgroup mount; host, own "
        "cgroups on this machine; vm, a kernel that each process boots",
    )
    group.addoption(
        "--cgroup-layout", choices=("v2", "v1", "hybrid"), help="default: v2; for host what is mounted here"
    )
    group.addoption(
        "--cgroup-kernel",
        metavar="VERSION|FILE.kernel",
        help="whose answers to compare with; or a learnt kernel's file",
    )
    group.addoption("--cgroup-image", metavar="FILE", help="the kernel to boot, for vm (default: Debian's)")
    group.addoption("--cgroup-initrd", metavar="FILE", help="has that kernel's modules")
    group.addoption(
        "--cgroup-family",
        action="append",
        default=[],
        metavar="NAME",
        help="only cases of this family; may be given more than once",
    )
    group.addoption("--cgroup-shard", metavar="I/N", help="part I of N of the cases; all parts together are the whole")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The cases, in place of the file that makes tests of them."""
    if file_path.parts[-3:] != _SUITE or not _is_ours(file_path):
        return None
    from fakecgroup.conformance.suite import RecordedCases

    cases: pytest.Collector = RecordedCases.from_parent(parent, path=file_path)
    return cases


def _is_ours(path: Path) -> bool:
    """Whether it is a file of the package that is installed."""
    package = find_spec("fakecgroup")
    places = (package.submodule_search_locations if package else None) or ()
    return any(path.is_relative_to(place) or path.resolve().is_relative_to(Path(place).resolve()) for place in places)
