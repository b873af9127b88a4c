"""The command `scripts/demo`."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from . import story
from .shell import MountError, MountShell, ProcessShell, Shell, mounted


def main() -> int:
    """Exit status: 0 when every command ended as the story has it, else 1."""
    argparse.ArgumentParser(prog="demo", description="Shows what a fake cgroup tree does, in four parts.").parse_args()
    examples = Path(__file__).resolve().parents[2] / "examples"
    with tempfile.TemporaryDirectory(prefix="fakecgroup-demo-") as directory:
        os.chdir(directory)
        Path("examples").symlink_to(examples)
        try:
            with mounted(story.TREES):
                return _tell(MountShell())
        except MountError as reason:
            print(story.without_mount(str(reason)))
            return _tell(ProcessShell(story.TREES))
        finally:
            os.chdir("/")


def _tell(shell: Shell) -> int:
    try:
        story.tell(shell, coloured=sys.stdout.isatty() and "NO_COLOR" not in os.environ)
    except story.UnexpectedError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader has gone; nothing more to say
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
