"""Sessions in pages: the commands of ```console blocks, run in one bash, and what they print."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PROMPT = "$ "
_MARK = "\x01"


@dataclass(frozen=True)
class Step:
    """A command of a session and the text that the page shows below it."""

    command: str
    shown: str

    def fits(self, printed: str) -> bool:
        """Whether the page shows what was printed. A line "..." stands for any lines."""
        parts = [re.escape(part) for part in re.split(r"^\.\.\.\n", self.shown, flags=re.MULTILINE)]
        return re.fullmatch(r"(?:.*\n)*".join(parts), printed) is not None


def steps(page: str) -> list[Step]:
    """The commands of all sessions of a page, in order. A line that begins with "> " continues its command."""
    found = []
    for block in _BLOCK.findall(page):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            lines = part.splitlines(keepends=True)
            more = next((at for at, line in enumerate(lines[1:], 1) if not line.startswith("> ")), len(lines))
            command = lines[0] + "".join(line[2:] for line in lines[1:more])
            found.append(Step(command.rstrip("\n"), "".join(lines[more:])))
    return found


def run(commands: list[str], directory: Path, environment: dict[str, str]) -> list[str]:
    """What each command prints on stdout and stderr, in one bash with `directory` as its working directory."""
    script = "".join(f"{command}\nprintf '%s' '{_MARK}'\n" for command in commands)
    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        stdin=subprocess.DEVNULL,
        cwd=directory,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=100,
        check=False,
    )
    return [_plain(said) for said in done.stdout.split(_MARK)[: len(commands)]]


def _plain(said: str) -> str:
    """Without the line numbers of a shell that reads a script, and without spaces at the ends of lines."""
    said = re.sub(r"^bash: line \d+: ", "bash: ", said, flags=re.MULTILINE)
    return re.sub(r" +$", "", said, flags=re.MULTILINE)
