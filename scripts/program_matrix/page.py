"""docs/programs.md: a section for each program, with the version that it was run in."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from pathlib import Path

from .errors import ProgramsError
from .gaps import gap
from .program import LAYOUTS, Program
from .programs import PROGRAMS
from .run import Ran
from .user import REPOSITORY

PAGE = REPOSITORY / "docs" / "programs.md"
_BEGIN, _END = "<!-- from here on written by scripts/programs -->\n", "<!-- to here -->\n"


def section(program: Program, version: str, wrong: dict[str, set[str]]) -> str:
    """A program's section; `wrong` has the commands that went wrong, by layout."""
    steps = {layout: {step.command: step for step in program.steps(layout)} for layout in program.layouts}
    layouts = [layout for layout in LAYOUTS if layout in program.layouts]
    lines = [f"### {program.name} {version}".rstrip(), "", f"| | seen then | {' | '.join(layouts)} |"]
    lines.append("|---|---|" + "---|" * len(layouts))
    notes: list[str] = []
    for command, step in {command: step for found in steps.values() for command, step in found.items()}.items():
        cells = []
        for layout in layouts:
            if command not in steps[layout]:
                cells.append("-")
            elif command not in wrong[layout]:
                cells.append("yes")
            else:
                reason = gap(program.name, layout, command) or "**this is new**"
                if reason not in notes:
                    notes.append(reason)
                cells.append(f"no ({notes.index(reason) + 1})")
        lines.append(f"| `{_escaped(command)}` | {_escaped(step.then)} | {' | '.join(cells)} |")
    lines += [""] * bool(notes) + [f"{number}. {note}" for number, note in enumerate(notes, start=1)]
    return "\n".join(lines) + "\n"


def as_known(program: Program, version: str) -> str:
    """The section as it is when all goes as it is known to."""
    wrong = {
        layout: {step.command for step in program.steps(layout) if gap(program.name, layout, step.command)}
        for layout in program.layouts
    }
    return section(program, version, wrong)


def matrix(runs: Sequence[Ran]) -> str:
    """The sections of what was run."""
    return "\n".join(_sections(runs).values())


def versions(text: str) -> dict[str, str]:
    """The version of each program that the page has."""
    names = {program.name for program in PROGRAMS}
    heads = re.findall(r"^### (\S+) ?(.*)$", text, re.MULTILINE)
    return {name: version for name, version in heads if name in names}


def update(runs: Sequence[Ran], *, check: bool, page: Path = PAGE) -> None:
    """Puts the sections of what was run into the page; the others stay.

    With `check` it changes nothing. Raises ProgramsError where the page then has something else.
    """
    text = page.read_text()
    head, begin, rest = text.partition(_BEGIN)
    middle, end, tail = rest.partition(_END)
    if not begin or not end:
        raise ProgramsError(f"{page}: the lines {_BEGIN.strip()} and {_END.strip()} are not there")
    kept = {
        part.split()[1]: part.rstrip("\n") + "\n" for part in re.split(r"^(?=### )", middle, flags=re.MULTILINE)[1:]
    }
    kept.update(_sections(runs))
    known = [kept[program.name] for program in PROGRAMS if program.name in kept]
    new = head + begin + "\n" + "\n".join(known) + "\n" + end + tail
    if not check:
        page.write_text(new)
    elif new != text:
        lines = difflib.unified_diff(text.splitlines(), new.splitlines(), "docs/programs.md", "as run", lineterm="")
        raise ProgramsError("docs/programs.md is not what was run:\n" + "\n".join(lines))


def _sections(runs: Sequence[Ran]) -> dict[str, str]:
    found = {}
    for program in PROGRAMS:
        mine = {ran.layout: ran for ran in runs if ran.program is program and not ran.reason}
        if set(mine) == set(program.layouts):
            wrong = {layout: {done.step.command for done in ran.steps if done.wrong} for layout, ran in mine.items()}
            found[program.name] = section(program, mine[program.layouts[0]].version, wrong)
    return found


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")
