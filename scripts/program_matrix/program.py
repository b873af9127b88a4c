"""What is run of a program, and what must be seen then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

LAYOUTS = ("v2", "v1", "hybrid")


@dataclass(frozen=True)
class Step:
    """One thing that a program does.

    `command` is what the page shows of it, `then` what is looked at afterwards. `script` is sh that does it and prints
    what is seen; it must exit with 0 and print `shows`, or with `pattern` something that this regular expression
    matches as a whole. The steps of a program share a shell, which is in a directory of its own.
    """

    command: str
    then: str
    script: str
    shows: str
    pattern: bool = False


@dataclass(frozen=True)
class Program:
    """A program with the steps that are run in one sandbox, in order.

    `package` is the Debian package that its version is taken from, if `version` does not say it; `also` is what else
    must be installed for it. `needs` are the commands without which it is not run; `missing` gives another reason not
    to, or "". `inside` is a command that the steps' shell is started by. `options` are those of `fakecgroup run`.
    With `many_users` it needs more ids than one: it is run by root, or by a plain user with ranges in /etc/subuid.
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
