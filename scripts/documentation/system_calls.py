"""The system calls that `fakecgroup run` answers in the kernel's place: the table of `fakecgroup_mount.calls.table`."""

from __future__ import annotations

from errno import errorcode

from fakecgroup_mount.calls.table import REFUSED_CALLS, TRAPPED_CALLS, WORKLOAD
from fakecgroup_mount.seccomp.filter import Condition, When
from fakecgroup_mount.seccomp.syscalls import ARCHITECTURES

from .tables import table


def page() -> str:
    """The trapped calls and the refused ones, each with when it is, and why or by which file it is answered."""
    trapped = (
        (
            f"`{name}`{_processors(name)}",
            _condition(call.when) + _part(call.part),
            call.gets,
            f"`calls/{call.module}.py`",
        )
        for name, call in TRAPPED_CALLS.items()
    )
    refused = (
        (f"`{name}`{_processors(name)}", _condition(call.when), f"`{errorcode[call.errno]}`", call.why)
        for name, call in REFUSED_CALLS.items()
    )
    return "\n".join(
        [
            "## Answered\n",
            table(("system call", "trapped", "what a program gets", "answered in"), trapped),
            "## Refused\n",
            table(("system call", "when", "errno", "why"), refused),
        ]
    )


def _processors(name: str) -> str:
    """The processors that have the call, where not all do: " (x86_64)"."""
    having = [machine for machine, architecture in ARCHITECTURES.items() if name in architecture.numbers]
    return "" if len(having) == len(ARCHITECTURES) else f" ({', '.join(having)})"


def _part(part: str) -> str:
    """Which option has the call trapped, if one must."""
    if part == WORKLOAD:
        return ", with `--workload`"
    return f", with another machine's {part}" if part else ""


def _condition(condition: Condition) -> str:
    if condition is None:
        return "always"
    alternatives = (condition,) if isinstance(condition, When) else condition
    return ", or ".join(map(_alternative, alternatives))


def _alternative(when: When) -> str:
    masked = "" if when.bits == 0xFFFFFFFF else f" & {when.bits:#x}"
    return f"argument {when.argument + 1}{masked} is {when.value:#x}"
