"""Mounts a file system by fsopen(2), fsconfig(2), fsmount(2) and move_mount(2): `fsmount_probe.py TYPE STEP...`.

Prints the errno of each step that fails. A step is a flag, NAME=TEXT for a string, create, exclusive or reconfigure for
a command, mount:FLAGS for fsmount(2) with these attributes, or to:PATH for move_mount(2).
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys

FSOPEN, FSCONFIG, FSMOUNT, MOVE_MOUNT = 430, 431, 432, 429
SET_FLAG, SET_STRING, CREATE, RECONFIGURE, CREATE_EXCLUSIVE = 0, 1, 6, 7, 8
AT_FDCWD, FROM_EMPTY = -100, 4
COMMANDS = {"create": CREATE, "exclusive": CREATE_EXCLUSIVE, "reconfigure": RECONFIGURE, "unknown": 99}
libc = ctypes.CDLL(None, use_errno=True)


def call(what: str, number: int, *arguments: object) -> int:
    """The result; a line for what went wrong."""
    result = int(libc.syscall(number, *arguments))
    if result < 0:
        print(what, errno.errorcode[ctypes.get_errno()])
    return result


def main(kind: str, *steps: str) -> None:
    context = call("fsopen", FSOPEN, kind.encode(), 1)
    mount = -1
    for step in steps:
        name, equals, value = step.partition("=")
        verb, _, argument = step.partition(":")
        if step in COMMANDS:
            call(step, FSCONFIG, context, COMMANDS[step], None, None, 0)
        elif verb == "mount":
            mount = call(step, FSMOUNT, context, 1, int(argument, 0))
        elif verb == "to":
            call(step, MOVE_MOUNT, mount, b"", AT_FDCWD, argument.encode(), FROM_EMPTY)
        elif verb == "list":
            print(*sorted(os.listdir(mount))[:2])
        elif equals:
            call(step, FSCONFIG, context, SET_STRING, name.encode(), value.encode(), 0)
        else:
            call(step, FSCONFIG, context, SET_FLAG, name.encode(), None, 0)


main(*sys.argv[1:])
