"""`fakecgroup doctor`: what works here for this user, and what to do about the rest."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Sequence

from fakecgroup_mount.cli import table
from fakecgroup_mount.cli.check import NO, PARTLY, YES, Check
from fakecgroup_mount.cli.command_trials import MOUNT, RUN, Main, command_trials
from fakecgroup_mount.cli.machine_checks import machine_checks
from fakecgroup_mount.cli.table import GREEN, RED, YELLOW

_COLOURS = {YES: GREEN, PARTLY: YELLOW, NO: RED}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `doctor`."""
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table", help="default: table")


def run(options: argparse.Namespace, main: Main) -> int:
    """Prints what was found; returns 0 if `mount` and `run` work, else 1."""
    machine = list(machine_checks())
    commands = list(command_trials(main, machine))
    ready = all(check.state == YES for check in commands if check.name in (MOUNT, RUN))
    if options.output == "json":
        found: dict[str, object] = {"uid": os.geteuid(), "linux": platform.release(), "ready": ready}
        for name, checks in (("commands", commands), ("machine", machine)):
            found[name] = [check._asdict() for check in checks]
        print(json.dumps(found, indent=2))
    else:
        print(f"what works for uid {os.geteuid()}")
        _print(commands)
        print("\nwhat this machine allows")
        _print(machine)
    return 0 if ready else 1


def _print(checks: Sequence[Check]) -> None:
    rows = [(f"  {check.name}", check.state, check.found) for check in checks]
    for check, line in zip(checks, table.lines(rows, _COLOURS, sys.stdout), strict=True):
        print(line)
        if check.remedy is not None:
            print(f"    -> {check.remedy}")
