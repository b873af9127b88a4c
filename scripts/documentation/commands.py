"""The reference of the two programs: Markdown for the site, from which Sphinx also makes the man pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .command_line import PARSERS, Command, Group, read

_EXITS = """\
| status | meaning |
|---|---|
| 0 | The command did what it was asked. |
| 1 | The command failed. One line on stderr says why. |
| 2 | The command line is wrong. |
"""


def page(program: str) -> str:
    """Every command of a program, each with usage, options and what its help says below them."""
    top = read(PARSERS[program]())
    lines = [_plain(top.description), "", "```text", *(one.usage for one in top.commands), "```", ""]
    lines += ["## Exit status", "", _EXITS]
    for one in top.commands:
        lines += _section(one)
    return "\n".join(lines)


def _section(command: Command) -> Iterator[str]:
    yield from (f"## {command.name}", "", _plain(command.description), "", "```text", command.usage, "```", "")
    for group in command.groups:
        yield from _options(group)
    if command.epilog:
        yield from _epilog(command.epilog.splitlines())


def _options(group: Group) -> Iterator[str]:
    yield from (f"### {_heading(group.title)}", "")
    for option in group.options:
        yield from (f"`{option.names}`", f": {_plain(option.help) or '(no text)'}", "")


def _heading(title: str) -> str:
    return {"positional arguments": "Arguments", "options": "Options"}.get(title, title[:1].upper() + title[1:])


def _epilog(lines: Iterable[str]) -> Iterator[str]:
    """Paragraphs as text; what is indented, such as examples, as it stands."""
    inside = False
    for line in lines:
        example = line.startswith("  ") or (inside and not line)
        if example != inside:
            yield from ("```", "") if inside else ("", "```text")
            inside = example
        yield line if example else _plain(line)
    if inside:
        yield "```"
    yield ""


def _plain(text: str) -> str:
    """Text with what Markdown would take for markup escaped."""
    return "".join(f"\\{letter}" if letter in "\\`*_{}[]<>#$" else letter for letter in text)
