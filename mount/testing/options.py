"""What a marker says about a tree, read as the command line's tree options are."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import NoReturn

from ..tree_options import add_tree_options, make_kernel


def read(given: Mapping[str, object]) -> argparse.Namespace:
    """Every tree option with its value, `kernel` by its name, from some of them with underscores for dashes; None is
    the default.

    Raises ValueError, one line, for an unknown option, a value that the command line would refuse, and a kernel that
    does not have the layout.
    """
    parser = _Parser(prog="", add_help=False, allow_abbrev=False)
    add_tree_options(parser)
    known = [action.dest for action in parser._actions]
    arguments = []
    for name, value in given.items():
        if name not in known:
            raise ValueError(f"there is no option {name!r}; there are {', '.join(known)}")
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, (str, int)):
            hint = "; a list of values in a marker is for test functions" if isinstance(value, (list, tuple)) else ""
            hint = f": write kernel='{value}'" if name == "kernel" and isinstance(value, float) else hint
            raise ValueError(f"{name}={value!r} is neither text nor a whole number{hint}")
        arguments.append(f"--{name.replace('_', '-')}={value}")
    options = parser.parse_args(arguments)
    options.kernel = make_kernel(options).personality.name
    return options


class _Parser(argparse.ArgumentParser):
    """Raises what it would print."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(message.removeprefix("argument --")) from None
