"""What a marker says about a tree, in the command line's words and with its defaults."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from fakecgroup.machine import options
from fakecgroup_mount.tree_options import add_tree_options, make_kernel


def read(given: Mapping[str, object]) -> argparse.Namespace:
    """Every tree option with its value, `kernel` by its name, from some of them with underscores for dashes; None is
    the default.

    Raises ValueError, one line, for an unknown option, a value that `Kernel` would refuse, and a kernel that does not
    have the layout.
    """
    parser = argparse.ArgumentParser(add_help=False)
    add_tree_options(parser)
    tree = parser.parse_args([])
    for name, value in options.current(given).items():
        if value is not None:
            setattr(tree, name, _value(name, value))
    tree.kernel = make_kernel(tree).personality.name
    return tree


def _value(name: str, value: object) -> object:
    try:
        return options.read(name, value)
    except ValueError as error:
        if not isinstance(value, (list, tuple)):
            raise
        raise ValueError(f"{error}; a list of values in a marker is for test functions") from None
