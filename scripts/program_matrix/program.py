"""A program of the matrix: its steps, and what each must print."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

LAYOUTS = ("v2", "v1", "hybrid")


@dataclass(frozen=True)
class Step:
    """One thing that a program does.

    `command` is its name on the page, `then` says what is looked at. `script` is sh: it must exit with 0 and print
    `shows`. With `pattern`, `shows` is a regular expression that must match the whole output. The steps of a program
    share a shell in a directory of its own.
    """

    command: str
    then: str
    script: str
    shows: str
    pattern: bool = False


@dataclass(frozen=True)
class Program:
    """A program with the steps that are run in one sandbox, in order.

    `package`: its Debian package, which also gives the version unless `version` does. `also`: packages that it needs
    besides. `needs`: commands without which it is not run; `missing` gives another reason not to run it, or "".
    `inside`: a command that starts the steps' shell. `options`: those of `fakecgroup run`. `many_users`: it needs more
    than one user id, so root runs it, or a plain user with ranges in /etc/subuid.
    """

    name: str
    package: str
    needs: tuple[str, ...]
    steps: Callable[[str], Sequence[Step]]
    layouts: tuple[str, ...] = ("v2", "v1")
    also: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()
    options: tuple[str, ...] = ("--cpus", "4")
    missing: Callable[[], str] = lambda: ""
    version: Callable[[], str] | None = None
    many_users: bool = False
