"""The reference of the two programs: Markdown for the site, from which Sphinx also makes the man pages."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator

from .command_line import PARSERS, Command, Group, read

_EXITS = {
    "0": "The command did what it was asked.",
    "1": "It failed. One line on stderr says why.",
    "2": "The command line is wrong.",
}
_WIDTH = 78  # characters of a line of usage, as for a terminal


def page(program: str) -> str:
    """Every command of a program, each with usage, options and what its help says below them."""
    top = read(PARSERS[program]())
    lines = [_plain(top.description), "", "## Synopsis", "", *_usage(top)]
    for one in top.commands:
        lines += [f"`{one.name}`", f": {_plain(_sentence(one.summary))}", ""]
    for one in top.commands:
        lines += _section(one)
    lines += ["## Exit status", ""]
    for status, meaning in _EXITS.items():
        lines += [f"`{status}`", f": {meaning}", ""]
    return "\n".join(lines)


def _section(command: Command) -> Iterator[str]:
    yield from (f"## {command.name}", "", _plain(command.description), "", *_usage(command))
    for group in command.groups:
        yield from _options(group)
    if command.epilog:
        yield from _epilog(command.epilog.splitlines())
    for one in command.commands:
        yield from _section(one)


def _usage(command: Command) -> Iterator[str]:
    """What is typed. A line is not broken inside of brackets."""
    whole = re.sub(r"\[[^]]*\]", lambda option: option[0].replace(" ", "\0"), command.usage)
    lines = textwrap.fill(whole, _WIDTH, subsequent_indent="    ", break_on_hyphens=False)
    yield from ("```text", lines.replace("\0", " "), "```", "")


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _options(group: Group) -> Iterator[str]:
    yield from (f"### {_heading(group.title)}", "")
    for option in group.options:
        yield from (f"`{option.names}`", f": {_plain(option.help)}" if option.help else ": Must be given.", "")


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
