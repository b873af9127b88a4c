"""Which file an operation of a case is about."""

from __future__ import annotations

from fakecgroup.conformance.case import Case, Op, arguments
from fakecgroup.conformance.stand_in import innermost


def file_named(case: Case, index: int) -> str:
    """The last part of the path that an operation names, or of the one that its handle was opened on.

    The operation's own name, if it is about no file.
    """
    op = innermost(case.ops[index])
    for kind, value in arguments(op):
        if kind == "path":
            return _last_part(value)
        if kind == "handle" and op[0] != "open":
            for earlier in reversed(case.ops[:index]):
                opening: Op = innermost(earlier)
                if opening[0] == "open" and opening[1] == value:
                    return _last_part(opening[2])
    return str(op[0])


def _last_part(path: str | bytes) -> str:
    return (path if isinstance(path, str) else path.decode(errors="replace")).rpartition("/")[2]
