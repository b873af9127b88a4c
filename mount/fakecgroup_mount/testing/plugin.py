"""The pytest plugin: the fixtures `cgroupfs` and `cgroup_kernel`, and the marker that describes their tree.

pytest loads it in every project of an environment with this package. So modules that take time are imported in the
fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from argparse import Namespace

    from fakecgroup import Kernel
    from fakecgroup_mount.testing.factory import CgroupfsFactory
    from fakecgroup_mount.testing.tree import CgroupTree

_MARKER = "cgroupfs"
_VARIANT = "_cgroupfs_variant"
_PARAMETERS = (_VARIANT, "cgroupfs_options", "cgroupfs", "cgroup_kernel")  # may be parametrised; the last wins
_SELF_EXPLANATORY = ("layout", "kernel")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        f"{_MARKER}(layout=, kernel=, cpus=, numa_nodes=, memory=, swap=, hugepages=, block_devices=, snapshot=): "
        "which tree the fixtures cgroupfs and cgroup_kernel give, in the words of `fakecgroup mount` (snapshot is its "
        "--from); a list runs the test with each.",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs a test with each combination of the values that its markers list."""
    if _VARIANT not in metafunc.fixturenames:
        return
    listed = {name: value for name, value in _marked(metafunc.definition).items() if isinstance(value, (list, tuple))}
    if listed:
        variants = [dict(zip(listed, values, strict=True)) for values in product(*listed.values())]
        metafunc.parametrize(_VARIANT, variants, ids=map(_id, variants), indirect=True)


@pytest.fixture
def cgroupfs(cgroupfs_options: Namespace, cgroupfs_factory: CgroupfsFactory) -> Iterator[CgroupTree]:
    """The mount point of a cgroup tree, a Path, new for each test. @pytest.mark.cgroupfs says which tree.

    If nothing can be mounted, the test is skipped, or fails if FAKECGROUP_REQUIRE is set. Processes that are left in
    the cgroups are thawed and live on. The test fails if the tree's daemon fails. `spawn` starts simulated processes,
    for which time passes in `advance` alone.
    """
    tree = cgroupfs_factory.mount_as(cgroupfs_options)
    yield tree
    cgroupfs_factory.umount(tree)


@pytest.fixture(scope="session")
def cgroupfs_factory() -> Iterator[CgroupfsFactory]:
    """Mounts more trees with `mount(layout="v1", ...)`, until the end of the session or `umount(TREE)`."""
    from fakecgroup_mount.testing.factory import CgroupfsFactory
    from fakecgroup_mount.testing.trees import Trees

    with Trees() as trees:
        factory = CgroupfsFactory(trees)
        yield factory
        factory.end()


@pytest.fixture
def cgroup_kernel(cgroupfs_options: Namespace) -> Kernel:
    """A `fakecgroup.Kernel`: the same tree without a mount, and with only the processes that the test gives it."""
    from fakecgroup_mount.testing.standing_clock import standing_clock
    from fakecgroup_mount.tree_options import make_kernel

    return make_kernel(cgroupfs_options, clock=standing_clock())


@pytest.fixture
def cgroupfs_options(request: pytest.FixtureRequest, _cgroupfs_variant: object) -> Namespace:
    """All options of the test's tree with their values, `memory` and `swap` in bytes."""
    from fakecgroup_mount.testing.options import read

    given = _marked(request.node)
    parameters = getattr(getattr(request.node, "callspec", None), "params", {})
    try:
        for name in _PARAMETERS:
            parameter = parameters.get(name) or {}
            if not isinstance(parameter, Mapping):
                raise ValueError(f"{parameter!r} is no dictionary of options, such as {{'layout': 'v1'}}")
            given.update(parameter)
        if any(marker.args for marker in request.node.iter_markers(_MARKER)):
            raise ValueError("options are given by name, such as layout='v1'")
        return read(given)
    except ValueError as error:
        complaint = str(error)
    pytest.fail(f"{request.node.nodeid}: {_MARKER}: {complaint}", pytrace=False)


@pytest.fixture
def _cgroupfs_variant() -> None:
    """One combination of the markers' lists. `cgroupfs_options` finds it among the test's parameters."""


def _marked(node: pytest.Item) -> dict[str, object]:
    """The options of the markers on the test, its class and its module. The closest marker wins."""
    options: dict[str, object] = {}
    for marker in reversed(list(node.iter_markers(_MARKER))):
        options.update(marker.kwargs)
    return options


def _id(variant: dict[str, object]) -> str:
    return "-".join(str(value) if name in _SELF_EXPLANATORY else f"{name}={value}" for name, value in variant.items())
