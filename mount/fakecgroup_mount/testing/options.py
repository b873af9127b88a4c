"""The options of a marker: the command line's tree options, with the same defaults."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from fakecgroup.machine import options
from fakecgroup.machine.learnt import LearntKernel
from fakecgroup_mount.tree_options import add_tree_options, make_kernel


def read(given: Mapping[str, object]) -> argparse.Namespace:
    """All tree options with their values; `kernel` is the full name, or a learnt kernel.

    `given` has some of them, with underscores for dashes. None stands for the default.

    Raises ValueError, in one line: an unknown option, a value that `Kernel` refuses, a kernel without the layout.
    """
    parser = argparse.ArgumentParser(add_help=False)
    add_tree_options(parser)
    tree = parser.parse_args([])
    for name, value in options.current(given).items():
        if value is not None:
            setattr(tree, name, _value(name, value))
    name = make_kernel(tree).personality.name
    tree.kernel = tree.kernel if isinstance(tree.kernel, LearntKernel) else name
    return tree


def _value(name: str, value: object) -> object:
    try:
        return options.read(name, value)
    except ValueError as error:
        if not isinstance(value, (list, tuple)):
            raise
        raise ValueError(f"{error}; a list of values in a marker is for test functions") from None
