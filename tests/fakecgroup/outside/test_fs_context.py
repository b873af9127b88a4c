"""fsconfig(2) and fsmount(2) step by step. The answers are those of Linux 6.18 to the root of a user namespace."""

from __future__ import annotations

from errno import EINVAL, EOPNOTSUPP, errorcode

import pytest

from fakecgroup import Kernel
from fakecgroup.outside.fs_context import Command, FsContext, check_arguments, check_exists, check_open
from fakecgroup.outside.mount_parameters import MountOptions

from .fs_context_steps import STEPS

COMMANDS = {"create": 6, "exclusive": 8, "reconfigure": 7, "unknown": 99}


class Context:
    """A context that is configured and mounted by the words of tests/mount/calls/fsmount_probe.py."""

    def __init__(self, layout: str) -> None:
        kernel = Kernel(layout=layout, kernel="6.1")
        self.options = MountOptions(kernel.hierarchies, kernel.personality)
        self.state = FsContext(layout == "v2")

    def do(self, step: str) -> None:
        name, equals, value = step.partition("=")
        if step in COMMANDS:
            command = check_arguments(COMMANDS[step], 0, 0, 0)
            self.state = self.state.begin(command, may_mount=True)
            check_exists(command)
            self.state = self.state.created("/")
        elif step.startswith("mount:"):
            self.state.check_mount(1, int(step.removeprefix("mount:"), 0), may_mount=True)
            self.state = self.state.mounted()
        else:
            check_arguments(Command.SET_STRING if equals else Command.SET_FLAG, 1, 1 if equals else 0, 0)
            self.state.check_configurable()
            self.state = self.state.configured(self.options, name, value if equals else None)


def refusals(layout: str, steps: str) -> list[str]:
    """Each step that fails, with its errno."""
    context, found = Context(layout), []
    for step in steps.split():
        try:
            context.do(step)
        except OSError as error:
            found.append(f"{step} {errorcode[error.errno or 0]}")
    return found


@pytest.mark.parametrize(
    ("layout", "steps", "refused"),
    [
        ("v2", "source=x nsdelegate ro create mount:0x13", []),
        *STEPS,
    ],
)
def test_each_step_is_taken_or_refused(layout: str, steps: str, refused: list[str]) -> None:
    assert refusals(layout, steps) == refused


@pytest.mark.parametrize(
    ("command", "key", "value", "auxiliary", "errno"),
    [
        (0, 1, 1, 0, EINVAL),
        (0, 0, 0, 0, EINVAL),
        (0, 1, 0, 1, EINVAL),
        (1, 1, 0, 0, EINVAL),
        (1, 0, 1, 0, EINVAL),
        (1, 1, 1, 1, EINVAL),
        (2, 1, 1, 1, EINVAL),
        (3, 1, 1, 0xFFFFFF9C, EINVAL),
        (4, 1, 1, 0xFFFFFF9C, EINVAL),
        (5, 1, 0, 5, EINVAL),
        (6, 1, 0, 0, EINVAL),
        (6, 0, 1, 0, EINVAL),
        (6, 0, 0, 1, EINVAL),
        (7, 1, 0, 0, EINVAL),
        (8, 1, 0, 0, EINVAL),
        (9, 0, 0, 0, EOPNOTSUPP),
        (99, 1, 1, 7, EOPNOTSUPP),
    ],
)
def test_arguments_that_a_command_does_not_take(command: int, key: int, value: int, auxiliary: int, errno: int) -> None:
    with pytest.raises(OSError) as caught:
        check_arguments(command, key, value, auxiliary)
    assert caught.value.errno == errno


@pytest.mark.parametrize("flags", [2, 3])
def test_fsopen_has_one_flag(flags: int) -> None:
    check_open(0)
    check_open(1)
    with pytest.raises(OSError, match="Invalid argument"):
        check_open(flags)


def test_a_context_shows_its_source() -> None:
    context = Context("v2")
    assert context.state.source == "none"
    context.do("source=x")
    assert context.state.source == "x"
