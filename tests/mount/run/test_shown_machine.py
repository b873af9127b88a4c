"""Only what is stated, and not as this machine has it, is shown instead of this machine."""

from __future__ import annotations

import argparse
import os

import pytest

from fakecgroup_mount.run.shown_machine import shown_machine
from fakecgroup_mount.tree_options import add_tree_options, make_kernel

MEMORY = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
MORE = str(4 * (os.cpu_count() or 1))


def parts(*arguments: str) -> set[str]:
    """The parts that are shown for a command line."""
    parser = argparse.ArgumentParser()
    add_tree_options(parser)
    options = parser.parse_args(arguments)
    return set(shown_machine(options, make_kernel(options).machine).parts)


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ([], set()),
        (["--cpus", str(os.cpu_count())], {"cpus"}),
        (["--layout", "v1", "--block-devices", "8:0"], set()),
        (["--cpus", MORE], {"cpus"}),
        (["--memory", str(2 * MEMORY)], {"memory"}),
        (["--swap", "77Mi"], {"memory"}),
        (["--hugepages", "2Mi=12345", "--memory", "64Gi"], {"memory"}),
        (["--numa-nodes", "9"], {"cpus", "memory"}),
    ],
)
def test_an_option_shows_its_part(arguments: list[str], shown: set[str]) -> None:
    assert parts(*arguments) == shown


def test_huge_pages_need_memory() -> None:
    with pytest.raises(ValueError, match="state more memory or fewer pages"):
        parts("--hugepages", "1Gi=2", "--memory", "1Gi")
