"""The options of a marker: the command line's tree options, with the same defaults."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from functools import cache

from fakecgroup.machine import options
from fakecgroup.machine.learnt import LearntKernel
from fakecgroup_mount.tree_options import add_tree_options, make_kernel, vet_snapshot

_SNAPSHOT = "snapshot"  # of the command line: --from


def read(given: Mapping[str, object]) -> argparse.Namespace:
    """All tree options with their values; `kernel` is the full name, or a learnt kernel.

    `given` has some of them, with underscores for dashes; `snapshot` is the path of a file, as --from. None stands for
    the default.

    Raises ValueError, in one line: an unknown option, a value that `Kernel` refuses, a kernel without the layout, a
    file that is no snapshot, an option that says otherwise than the snapshot.
    """
    tree = argparse.Namespace(**_defaults())
    rest = {name: value for name, value in given.items() if name != _SNAPSHOT}
    for name, value in options.current(rest).items():
        if value is not None:
            setattr(tree, name, _value(name, value))
            tree.given = {*getattr(tree, "given", ()), name}
    if given.get(_SNAPSHOT) is not None:
        tree.snapshot = _snapshot(given[_SNAPSHOT])
        vet_snapshot(tree)
        return tree
    name = make_kernel(tree).personality.name
    tree.kernel = tree.kernel if isinstance(tree.kernel, LearntKernel) else name
    return tree


@cache
def _defaults() -> Mapping[str, object]:
    """The values of all tree options that are not given. They are the same for each test."""
    parser = argparse.ArgumentParser(add_help=False)
    add_tree_options(parser)
    return vars(parser.parse_args([]))


def _snapshot(value: object) -> object:
    from fakecgroup.snapshot import read_snapshot  # takes a while to load

    if not isinstance(value, (str, os.PathLike)):
        raise ValueError(f"{_SNAPSHOT}: {value!r} is no path of a file")
    return read_snapshot(value)


def _value(name: str, value: object) -> object:
    try:
        return options.read(name, value)
    except ValueError as error:
        if not isinstance(value, (list, tuple)):
            raise
        raise ValueError(f"{error}; a list of values in a marker is for test functions") from None
