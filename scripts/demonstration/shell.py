"""Where the story's commands are typed: a shell on mounted trees, or a stand-in that has the model behind it."""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from pathlib import Path
from typing import Protocol

from cgroup_engine.cli import main as engine_main
from fakecgroup import Kernel, KernelFs

_BIN = Path(sys.executable).parent


class MountError(Exception):
    """Nothing can be mounted here; the text is the reason."""


class Shell(Protocol):
    """Takes one command line and gives what it prints, errors too."""

    def type(self, line: str) -> str: ...


@contextmanager
def mounted(trees: Mapping[str, Sequence[str]]) -> Iterator[None]:
    """Mounts a tree at each name, with these options of `fakecgroup mount`, until the context ends."""
    with ExitStack() as stack:
        for name, options in trees.items():
            os.mkdir(name)
            command = [str(_BIN / "fakecgroup"), "mount", name, *options]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
                raise MountError(last.removeprefix("fakecgroup mount: ").removeprefix(f"{os.path.abspath(name)}: "))
            stack.callback(_unmount, name)
        yield


def _unmount(name: str) -> None:
    subprocess.run([_BIN / "fakecgroup", "umount", name], check=True)


class MountShell:
    """bash in the working directory, which holds the mounted trees."""

    def type(self, line: str) -> str:
        return _bash(line).replace("bash: line 1: ", "")


class ProcessShell:
    """Reads the few commands that the story has and carries them out on models in this process.

    What a command line has after its first `|` is left to bash.
    """

    def __init__(self, trees: Mapping[str, Sequence[str]]) -> None:
        self._kernels = {name: _kernel(options) for name, options in trees.items()}

    def type(self, line: str) -> str:
        command, _, rest = line.partition(" | ")
        name, *words = shlex.split(command, comments=True)
        try:
            printed = self._commands()[name](words)
        except OSError as error:
            where = f"failed to remove '{words[-1]}'" if name == "rmdir" else "write error"
            return f"{name}: {where}: {os.strerror(error.errno or 0)}\n"
        return _bash(rest, printed) if rest else printed

    def _commands(self) -> dict[str, Callable[[list[str]], str]]:
        return {
            "mkdir": lambda words: self._each(Kernel.mkdir, words),
            "rmdir": lambda words: self._each(Kernel.rmdir, words),
            "cat": lambda words: self._each(Kernel.read, words),
            "echo": self._echo,
            "cgroup-engine": self._engine,
        }

    def _each(self, do: Callable[[Kernel, str], str | None], paths: list[str]) -> str:
        return "".join(do(*self._found(path)) or "" for path in paths)

    def _echo(self, words: list[str]) -> str:
        *text, _, path = words
        kernel, inside = self._found(path)
        kernel.write(inside, " ".join(text) + "\n")
        return ""

    def _engine(self, words: list[str]) -> str:
        printed = io.StringIO()
        with redirect_stdout(printed):
            engine_main(words, open_root=lambda root: KernelFs(self._kernels[root]))
        return printed.getvalue()

    def _found(self, path: str) -> tuple[Kernel, str]:
        tree, _, inside = path.partition("/")
        return self._kernels[tree], f"/{inside}"


def _kernel(options: Sequence[str]) -> Kernel:
    named = dict(zip(options[::2], options[1::2], strict=True))
    memory = re.fullmatch(r"(\d+)Gi", named["--memory"])
    assert memory is not None
    return Kernel(named["--layout"], cpus=int(named["--cpus"]), memory=int(memory[1]) << 30)


def _bash(line: str, text: str = "") -> str:
    environment = {**os.environ, "PATH": f"{_BIN}{os.pathsep}{os.environ.get('PATH', os.defpath)}", "LC_ALL": "C.UTF-8"}
    command = ["bash", "-c", line]
    done = subprocess.run(
        command, input=text, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return done.stdout
