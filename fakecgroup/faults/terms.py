"""The right side of a rule: what happens, how often, and what then.

The words are those of fail(9) of FreeBSD, as containerd's failpoints have them: ``[P%][N*]KIND[(ARGUMENT)]``, joined by
``->``. A term is passed over once it has happened N times, or with a chance of 1 - P; then the next one is asked. Where
no term is left nothing happens.
"""

from __future__ import annotations

import errno
import re
from dataclasses import dataclass

from .errors import FaultError

KINDS = ("off", "error", "delay", "vanish", "panic")
"""off: nothing. error(ERRNO). delay(TIME). vanish: the cgroup is removed first. panic: the daemon dies."""

LONGEST_DELAY = 60_000_000_000  # ns
_TERM = re.compile(
    r"(?:(?P<chance>\d{1,3}(?:\.\d+)?)%)?(?:(?P<times>\d{1,9})\*)?(?P<kind>[a-z]+)(?:\((?P<text>[^()]*)\))?"
)
_TIME = re.compile(r"(?P<number>\d{1,9}(?:\.\d+)?)(?P<unit>us|ms|s)?")
_UNITS = {"us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_NOT_THROUGH_FUSE = ("ENOSYS",)  # fuse(4): the kernel would never ask for this operation again


@dataclass(frozen=True)
class Term:
    """One term. `chance` is from 0 to 1; `times` is None for always. `errno` of error, `delay` in ns of delay."""

    kind: str
    chance: float = 1.0
    times: int | None = None
    errno: int = 0
    delay: int = 0


def read_terms(text: str) -> tuple[Term, ...]:
    """The terms of a rule's right side. Raises FaultError."""
    terms = [_term(part.strip()) for part in text.split("->")]
    for number, term in enumerate(terms[:-1]):
        if term.times is None and term.chance >= 1:
            raise FaultError(f"what follows {text.split('->')[number].strip()!r} is never reached: it has no N* or P%")
    return tuple(terms)


def _term(text: str) -> Term:
    found = _TERM.fullmatch(text)
    if found is None:
        raise FaultError(f"{text!r} is no term: such as error(EBUSY), 2*error(EIO), 50%delay(20ms), vanish, panic, off")
    kind, argument = found["kind"], found["text"]
    if kind not in KINDS:
        raise FaultError(f"there is no {kind!r}: {', '.join(KINDS)}")
    chance = 1.0 if found["chance"] is None else float(found["chance"]) / 100
    times = None if found["times"] is None else int(found["times"])
    if chance > 1:
        raise FaultError(f"{found['chance']}% is more than 100%")
    if chance == 0 or times == 0:
        raise FaultError(f"{text!r} never happens")
    if kind == "error":
        return Term(kind, chance, times, errno=_errno(argument))
    if kind == "delay":
        return Term(kind, chance, times, delay=_time(argument))
    if argument and kind != "panic":  # containerd's panic has a text
        raise FaultError(f"{kind} takes nothing in brackets")
    return Term(kind, chance, times)


def _errno(name: str | None) -> int:
    if not name:
        raise FaultError("error takes the name of an errno, such as error(EBUSY)")
    number = getattr(errno, name, None)
    if not name.startswith("E") or not isinstance(number, int):
        raise FaultError(f"{name!r} is no errno")
    if name in _NOT_THROUGH_FUSE:
        raise FaultError(f"{name} cannot be had: it tells FUSE that the operation does not exist")
    return number


def _time(text: str | None) -> int:
    """ns. A number alone is ms, as in containerd."""
    found = _TIME.fullmatch(text or "")
    if found is None:
        raise FaultError(f"{text or ''!r} is no time: such as delay(50ms)")
    time = int(float(found["number"]) * _UNITS[found["unit"] or "ms"])
    if time > LONGEST_DELAY:
        raise FaultError(f"delay({text}) is longer than {LONGEST_DELAY // _UNITS['s']}s")
    return time
