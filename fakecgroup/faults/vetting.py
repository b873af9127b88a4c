"""Whether a rule is possible in a kernel, and whether it can ever match."""

from __future__ import annotations

import errno
from fnmatch import fnmatchcase

from ..kernel import Kernel
from .errors import FaultError
from .known_errnos import answered_by
from .operations import ON_FILES
from .rule import Rule
from .source_errnos import from_source

_WILD = "*?["


def vet(rule: Rule, kernel: Kernel, *, any_errno: bool = False) -> None:
    """Raises FaultError for a rule that can never match, and unless `any_errno` for an errno that no call can give."""
    names = _file_names(kernel)
    matching = {name for name in names if fnmatchcase(name, rule.name_glob)}
    where = f"kernel {kernel.personality.name} on {kernel.layout}"
    if rule.op in ON_FILES and not matching:
        raise FaultError(f"{rule.text!r} never matches: no file of {where} is named {rule.name_glob}")
    if any_errno:
        return
    literal = not any(sign in rule.name_glob for sign in _WILD)
    for term in rule.terms:
        if term.kind == "error":
            _vet_errno(rule, errno.errorcode[term.errno], matching if literal or rule.op in ON_FILES else None, kernel)


def _vet_errno(rule: Rule, name: str, files: set[str] | None, kernel: Kernel) -> None:
    known = answered_by(kernel).get(rule.op, {})
    controllers = frozenset(name for hierarchy in kernel.hierarchies for name in hierarchy.controllers)
    possible: set[str] = set()
    for file in sorted(files) if files else [None]:
        possible |= known.get(file or "", frozenset())
        possible |= {
            errno.errorcode[row.errno] for row in from_source(rule.op, file, kernel.personality.version, controllers)
        }
    if name not in possible:
        where = f"{rule.op} of {rule.name_glob}" if files else rule.op
        raise FaultError(
            f"{rule.text!r}: kernel {kernel.personality.name} gives no {name} for {where}, but "
            f"{', '.join(sorted(possible)) or 'none'} (--any-errno takes it all the same)"
        )


def _file_names(kernel: Kernel) -> set[str]:
    """The names of all interface files."""
    names: set[str] = set()
    for hierarchy in kernel.hierarchies:
        names |= hierarchy.root_table.keys() | hierarchy.child_table.keys()
    return names
