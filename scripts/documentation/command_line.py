"""The two command lines as data: each command with its options, read from its argparse parser."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from cgroup_engine.cli import kubectl, program
from fakecgroup_mount.cli import program as mount_program


@dataclass(frozen=True)
class Option:
    """One option or argument as it is typed, such as `-o, --output FORMAT`, and its help."""

    names: str
    help: str


@dataclass(frozen=True)
class Group:
    """Options under one heading of the help."""

    title: str
    options: tuple[Option, ...]


@dataclass(frozen=True)
class Command:
    """A program or one of its commands. `usage` is one line; `epilog` has paragraphs as the help shows them."""

    name: str
    summary: str
    description: str
    usage: str
    groups: tuple[Group, ...]
    epilog: str
    commands: tuple[Command, ...] = ()


def fakecgroup_parser() -> argparse.ArgumentParser:
    """The parser of `fakecgroup` with the options of every command."""
    parser = mount_program.parser()
    for _, command in _commands(parser):
        fill: Callable[[argparse.ArgumentParser], None] | None = getattr(command, "fill", None)
        if fill is not None:
            fill(command)
            vars(command)["fill"] = None
    return parser


PARSERS: dict[str, Callable[[], argparse.ArgumentParser]] = {
    "fakecgroup": fakecgroup_parser,
    "cgroup-engine": program.parser,
    "kubectl-cgroups": kubectl.parser,
}
"""The parsers by the name of the program."""

COMPLETED = ("fakecgroup", "cgroup-engine")
"""The programs with completions of their own; kubectl completes its plugins itself."""


def read(parser: argparse.ArgumentParser, summary: str = "") -> Command:
    """What a parser knows of its command line."""
    return Command(
        name=parser.prog,
        summary=summary,
        description=" ".join((parser.description or "").split()),
        usage=_usage(parser),
        groups=tuple(group for group in map(_group, parser._action_groups) if group.options),
        epilog=(parser.epilog or "").strip("\n"),
        commands=tuple(read(command, summary) for summary, command in _commands(parser)),
    )


def _commands(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """The commands below a parser, each with its summary."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            summaries = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, command in action.choices.items():
                yield summaries.get(name, ""), command


def _usage(parser: argparse.ArgumentParser) -> str:
    return " ".join(parser.format_usage().removeprefix("usage: ").split())


def _group(group: argparse._ArgumentGroup) -> Group:
    actions = [action for action in group._group_actions if not isinstance(action, argparse._SubParsersAction)]
    shown = [action for action in actions if action.help is not argparse.SUPPRESS]
    return Group(group.title or "", tuple(_option(action) for action in shown))


def _option(action: argparse.Action) -> Option:
    formatter = argparse.HelpFormatter(prog="")
    names = formatter._format_action_invocation(action)
    return Option(names, " ".join(formatter._expand_help(action).split()) if action.help else "")
