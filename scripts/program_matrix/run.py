"""Runs the steps of a program in one sandbox."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from . import debian, plain_user
from .gaps import ALL, gap
from .program import Program, Step
from .release import this_release

PATIENCE = 90.0  # seconds for all steps of a program
_EMPTY_RUN = """
set -e
mount -t tmpfs -o mode=755 tmpfs /mnt
if [ -d /run/fakecgroup ]; then # the control sockets of root's trees
    mkdir /mnt/fakecgroup
    mount --bind /run/fakecgroup /mnt/fakecgroup
fi
mount --no-mtab --move /mnt /run
cd /run
exec "$@"
"""
_IN_RUN = ("sh", "-c", _EMPTY_RUN, "sh")
_BEGIN, _END = "\036", "\037"


@dataclass(frozen=True)
class StepResult:
    """A step that was run; `wrong` says what differed from the expected output, or ""."""

    step: Step
    wrong: str


@dataclass(frozen=True)
class ProgramResult:
    """A program that was run on a layout; `reason` says why it was not run, or ""."""

    program: Program
    layout: str
    version: str
    steps: tuple[StepResult, ...] = ()
    reason: str = ""


def why_not(program: Program) -> str:
    """Why a program cannot be run here, or ""."""
    missing = [name for name in program.needs if shutil.which(name, path=plain_user.SEARCH_PATH) is None]
    if missing:
        return f"not installed: {', '.join(missing)}"
    if program.many_users and not plain_user.has_many_users():
        return "needs root, or ranges of ids in /etc/subuid and /etc/subgid"
    return program.missing()


def run(program: Program, layout: str) -> ProgramResult:
    """Runs it, if it can be run here."""
    reason = why_not(program) or gap(this_release(), program.name, layout, ALL)
    if reason:
        return ProgramResult(program, layout, "", reason=reason)
    steps = program.steps(layout)
    with tempfile.TemporaryDirectory(prefix="fcg-programs-") as name:
        home = Path(name)
        if os.geteuid() == 0 and not program.many_users:
            os.chown(home, plain_user.UID, plain_user.UID)
        sandbox = [
            *plain_user.fakecgroup_command(program.many_users),
            "run",
            "--layout",
            layout,
            *program.options,
            "--",
        ]
        try:
            done = subprocess.run(
                [*sandbox, *_IN_RUN, *program.inside, "sh", "-c", script(steps)],
                env=plain_user.environment(home),
                cwd="/",
                capture_output=True,
                timeout=PATIENCE,
                check=False,
                stdin=subprocess.DEVNULL,
            )
            printed, complaint = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
        except subprocess.TimeoutExpired as late:
            printed, complaint = (late.stdout or b"").decode(errors="replace"), f"no end after {PATIENCE:g} s"
        log = home / "fakecgroup" / "daemon.log"
        if log.exists():
            complaint += "; the daemon logged: " + log.read_text()
    return ProgramResult(program, layout, debian.version(program), read(steps, printed, complaint.strip()))


def script(steps: Sequence[Step]) -> str:
    """All steps for one shell, with marks between what they print."""
    lines: list[str] = []
    for number, step in enumerate(steps):
        lines.append(f"printf '\\036{number}\\n'\n{{ {step.script}\n}} 2>&1 </dev/null\nprintf '\\037%s\\n' $?")
    return "\n".join(lines)


def read(steps: Sequence[Step], printed: str, complaint: str) -> tuple[StepResult, ...]:
    """Compares what the steps printed with what they must print. A complaint of the sandbox goes to the last step."""
    found: dict[int, str] = {}
    for part in printed.split(_BEGIN)[1:]:
        number, _, rest = part.partition("\n")
        found[int(number)] = rest
    done = []
    for index, step in enumerate(steps):
        if index not in found:
            done.append(StepResult(step, f"was not reached; {complaint}".strip("; ")))
            continue
        text, _, status = found[index].rpartition(_END)
        done.append(
            StepResult(step, _wrong(step, text.rstrip("\n"), status.strip()) if status else f"did not end; {complaint}")
        )
    if complaint and not any(step.wrong for step in done):
        done[-1] = StepResult(steps[-1], complaint)
    return tuple(done)


def _wrong(step: Step, text: str, status: str) -> str:
    right = re.fullmatch(step.shows, text) if step.pattern else text == step.shows
    if right and status == "0":
        return ""
    return f"exit status {status}, shown {text!r}" + ("" if right else f" instead of {step.shows!r}")


def surprises(ran: ProgramResult) -> list[str]:
    """A line for each step that went otherwise than docs/evidence/programs.md has it."""
    return [line for done in ran.steps if (line := _surprise(ran, done))]


def _surprise(ran: ProgramResult, done: StepResult) -> str:
    reason = gap(this_release(), ran.program.name, ran.layout, done.step.command)
    if done.wrong and not reason:
        return f"{done.step.command}: {done.wrong}"
    if reason and not done.wrong:
        return f"{done.step.command}: works, and is in gaps.py: {reason}"
    return ""
