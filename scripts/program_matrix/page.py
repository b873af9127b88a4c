"""docs/evidence/programs.md: a section for each program, with a column for each release and the version in it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .errors import ProgramsError
from .gaps import ALL, gap
from .plain_user import REPOSITORY
from .program import LAYOUTS, Program
from .programs import PROGRAMS
from .release import RELEASES
from .run import ProgramResult

PAGE = REPOSITORY / "docs" / "evidence" / "programs.md"
_BEGIN, _END = "<!-- from here on written by scripts/programs -->\n", "<!-- to here -->\n"


@dataclass(frozen=True)
class ReleaseResult:
    """A program in one release: its version, and by layout the commands that failed."""

    version: str
    wrong: dict[str, set[str]]


def section(program: Program, seen: Mapping[str, ReleaseResult]) -> str:
    """A program's section; `seen` is by release."""
    steps = {layout: {step.command: step for step in program.steps(layout)} for layout in program.layouts}
    heads = [f"{release}: {seen[release].version}".rstrip(": ") for release in seen]
    lines = [f"### {program.name}", "", f"| | seen then | {' | '.join(heads)} |", "|---|---|" + "---|" * len(heads)]
    notes: list[str] = []
    for command, step in {command: step for found in steps.values() for command, step in found.items()}.items():
        layouts = [layout for layout in LAYOUTS if command in steps.get(layout, {})]
        cells = [_cell(program, release, seen[release], layouts, command, notes) for release in seen]
        lines.append(f"| `{_escaped(command)}` | {_escaped(step.then)} | {' | '.join(cells)} |")
    lines += [""] * bool(notes) + [f"{number}. {note}" for number, note in enumerate(notes, start=1)]
    return "\n".join(lines) + "\n"


def _cell(
    program: Program, release: str, seen: ReleaseResult, layouts: list[str], command: str, notes: list[str]
) -> str:
    """The layouts on which a command works, and those on which it fails, with the number of a note that says why."""
    shown = []
    for layout in layouts:
        if command not in seen.wrong[layout]:
            shown.append(layout)
            continue
        reason = gap(release, program.name, layout, command) or "**this is new**"
        if reason not in notes:
            notes.append(reason)
        shown.append(f"not {layout} ({notes.index(reason) + 1})")
    return ", ".join(shown)


def as_known(program: Program, versions: Mapping[str, str]) -> str:
    """The section of a run without surprises; `versions` are by release."""
    return section(program, {release: _known(program, release, version) for release, version in versions.items()})


def _known(program: Program, release: str, version: str) -> ReleaseResult:
    wrong = {
        layout: {step.command for step in program.steps(layout) if gap(release, program.name, layout, step.command)}
        for layout in program.layouts
    }
    return ReleaseResult(version, wrong)


def matrix(runs: Sequence[ProgramResult], release: str) -> str:
    """The sections of what was run."""
    return "\n".join(section(program, {release: seen}) for program, seen in _seen(runs, release).items())


def versions(text: str) -> dict[str, dict[str, str]]:
    """The versions of each program that the page has, by release."""
    heads = re.findall(r"^### (\S+)\n\n\| \| seen then \| (.*) \|$", text, re.MULTILINE)
    return {
        name: {release: version for release, _, version in (column.partition(": ") for column in columns.split(" | "))}
        for name, columns in heads
    }


def update(runs: Sequence[ProgramResult], release: str, *, check: bool, page: Path = PAGE) -> None:
    """Writes the results into the column of their release. Other columns stay.

    With `check` it writes nothing, and raises ProgramsError if the page differs.
    """
    text = page.read_text()
    head, begin, rest = text.partition(_BEGIN)
    middle, end, tail = rest.partition(_END)
    if not begin or not end:
        raise ProgramsError(f"{page}: the lines {_BEGIN.strip()} and {_END.strip()} are not there")
    if release not in RELEASES:
        raise ProgramsError(f"the page has {', '.join(RELEASES)}; this is {release or 'none of them'}")
    before, now = versions(middle), _seen(runs, release)
    sections = []
    for program in PROGRAMS:
        seen = {name: _known(program, name, version) for name, version in before.get(program.name, {}).items()}
        if program in now:
            seen[release] = now[program]
        if seen:
            sections.append(section(program, {name: seen[name] for name in RELEASES if name in seen}))
    new = head + begin + "\n" + "\n".join(sections) + "\n" + end + tail
    if not check:
        page.write_text(new)
    elif new != text:
        lines = difflib.unified_diff(
            text.splitlines(), new.splitlines(), "docs/evidence/programs.md", "as run", lineterm=""
        )
        raise ProgramsError("docs/evidence/programs.md is not what was run:\n" + "\n".join(lines))


def _seen(runs: Sequence[ProgramResult], release: str) -> dict[Program, ReleaseResult]:
    """The results of the programs that were run on all of their layouts."""
    found = {}
    for program in PROGRAMS:
        mine = {ran.layout: ran for ran in runs if ran.program is program and not ran.reason}
        gone = {layout for layout in program.layouts if gap(release, program.name, layout, ALL)}
        if mine and set(mine) == set(program.layouts) - gone:
            wrong = dict(_known(program, release, "").wrong)
            wrong |= {layout: {done.step.command for done in ran.steps if done.wrong} for layout, ran in mine.items()}
            found[program] = ReleaseResult(next(iter(mine.values())).version, wrong)
    return found


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")
