"""--workload and --speed of the command line: a scenario that lives in a mounted tree."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from fakecgroup.machine.options import READERS
from fakecgroup.named_tuple import NamedTuple
from fakecgroup_mount.errors import MountError
from fakecgroup_mount.hints import shown
from fakecgroup_mount.tree_options import make_kernel

if TYPE_CHECKING:
    from fakecgroup.scenario import Scenario

BIGGEST = 4 << 20
"""Bytes of the longest scenario."""
_MACHINE = {"cpus": "4", "memory": "8Gi"}  # of a scenario that does not say, as for `fakecgroup simulate`
_FASTEST = 1_000_000.0


class WorkloadOptions(NamedTuple):
    """What the tree lives with: a scenario to begin with, and virtual seconds per real second, 0 for none."""

    scenario: Scenario | None = None
    speed: float = 1.0


NO_WORKLOAD = WorkloadOptions()


def add_workload_options(parser: argparse.ArgumentParser) -> None:
    """Adds --workload and --speed."""
    group = parser.add_argument_group("simulated processes")
    group.add_argument(
        "--workload",
        metavar="SCENARIO",
        help="a scenario (YAML; - is standard input) whose cgroups are made and whose processes live in the tree; its "
        "machine, else 4 CPUs and 8Gi, is that of tree options that are not given",
    )
    group.add_argument(
        "--speed",
        type=_speed,
        default=1.0,
        metavar="N",
        help="seconds that pass for simulated processes in each real one (default: 1)",
    )


def read_workload(options: argparse.Namespace) -> WorkloadOptions:
    """Reads the scenario, and puts its machine and seed into the options.

    Sets it up in a kernel without a mount first, so that what that refuses is known before anything is mounted. Raises
    ValueError for a wrong scenario, MountError for a file that cannot be read.
    """
    name = options.workload
    if name is None:
        return WorkloadOptions(None, options.speed)
    from dataclasses import replace  # these take a while to load

    from fakecgroup import JoinedProcesses, ProcessTable
    from fakecgroup.scenario import read_scenario
    from fakecgroup.scenario.live import LiveScenarios

    scenario = read_scenario(read_text(name), "standard input" if name == "-" else shown(name))
    for option, text in {**_MACHINE, **scenario.machine}.items():
        if option not in getattr(options, "given", ()):
            setattr(options, option, READERS[option](text))
    options.given = {*getattr(options, "given", ()), *scenario.machine}
    options.seed = scenario.seed or 0
    processes = JoinedProcesses(ProcessTable())
    LiveScenarios(make_kernel(options, processes), processes, lambda: 0).add(scenario)
    if scenario.expect:
        print(
            f"fakecgroup {options.command}: {scenario.expect[0].place}: expect is not looked at here; "
            "fakecgroup simulate does that",
            file=sys.stderr,
        )
    return WorkloadOptions(replace(scenario, expect=()), options.speed)


def read_text(name: str) -> str:
    """The text of a scenario's file; - is standard input. Raises MountError."""
    try:
        if name == "-":
            data = sys.stdin.buffer.read(BIGGEST + 1)
        else:
            with open(name, "rb") as file:
                data = file.read(BIGGEST + 1)
        return data.decode()
    except OSError as error:
        raise MountError(f"{shown(name)}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise MountError(f"{shown(name)}: this is no text in UTF-8") from None


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if not 0.001 <= speed <= _FASTEST:
        raise argparse.ArgumentTypeError(f"{text!r} is no speed: a number from 0.001 to {_FASTEST:,.0f}")
    return speed
