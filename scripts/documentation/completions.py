"""Completions for shells, made by shtab from the parsers of the two programs."""

from __future__ import annotations

import shtab

from .command_line import PARSERS

FILES = {"bash": "{}", "zsh": "_{}", "fish": "{}.fish"}
"""What a completion file is called, by shell."""


def completion(program: str, shell: str) -> str:
    """The completions of `fakecgroup` or `cgroup-engine` for bash, zsh or fish."""
    text: str = shtab.complete(PARSERS[program](), shell=shell)
    return text
